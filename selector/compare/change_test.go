package compare

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sweetspot/selector"
	"sweetspot/selector/figure"
)

func ref[T any](v T) *T { return &v }

var nearly = cmpopts.EquateApprox(1e-9, 1e-12)

func find(name string) figure.Figure {
	f, err := figure.Find(name)
	if err != nil {
		panic(err)
	}
	return f
}

func value(repeats ...float64) Value {
	refs := make([]*float64, len(repeats))
	for i := range repeats {
		refs[i] = &repeats[i]
	}
	return Value{Median: selector.Median(refs), Repeats: repeats, N: len(repeats)}
}

func TestChange(t *testing.T) {
	tokens, ttft, wall, errors := find("output_tok_per_s"), find("ttft_p50_s"), find("wall_s"), find("error_rate")
	four := value(100, 101, 99, 100)
	for _, test := range []struct {
		name     string
		figure   figure.Figure
		from, to Value
		assume   Assumption
		want     Verdict
		relative *float64
	}{
		{"more tokens", tokens, four, value(110, 112, 111, 113), Nothing, ForBetter, ref(0.115)},
		{"fewer tokens", tokens, four, value(90, 91, 92, 89), Nothing, ForWorse, ref(-0.095)},
		{"a longer time", ttft, four, value(110, 112, 111, 113), Nothing, ForWorse, ref(0.115)},
		{"a shorter time", ttft, four, value(90, 91, 92, 89), Nothing, ForBetter, ref(-0.095)},
		{"neither is better", wall, four, value(90, 91, 92, 89), Nothing, Changed, ref(-0.095)},
		{"they overlap", tokens, four, value(110, 112, 111, 99.5), Nothing, Noise, ref(0.105)},
		{"one repeat", tokens, value(100), value(200), Nothing, Unknown, ref(1.0)},
		{"three and three", tokens, value(1, 2, 3), value(11, 12, 13), Nothing, Unknown, ref(5.0)},
		{"three and five", tokens, value(1, 2, 3), value(11, 12, 13, 14, 15), Nothing, ForBetter, ref(5.5)},
		{"one repeat taken as exact", tokens, value(100), value(105), Exact, ForBetter, ref(0.05)},
		{"equal and exact", tokens, value(100), value(100), Exact, Same, ref(0.0)},
		{"all the same", tokens, value(5, 5, 5, 5), value(5, 5, 5, 5), Nothing, Same, ref(0.0)},
		{"one repeat, the same", tokens, value(5), value(5), Nothing, Same, ref(0.0)},
		{"none before", tokens, Value{}, four, Nothing, Missing, nil},
		{"none after", tokens, four, Value{}, Exact, Missing, nil},
		{"from nothing", errors, value(0, 0, 0, 0), value(0.1, 0.2, 0.1, 0.2), Nothing, ForWorse, nil},
		{"to failure", ttft, four, value(math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)), Nothing, ForWorse, ref(math.Inf(1))},
		{"both failures", ttft, value(math.Inf(1)), value(math.Inf(1)), Exact, Same, nil},
	} {
		got := change(test.figure, test.from, test.to, test.assume)
		if got.Verdict != test.want {
			t.Errorf("%s: %s, want %s", test.name, got.Verdict, test.want)
		}
		if diff := cmp.Diff(test.relative, got.Relative, nearly); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if _, err := got.MarshalJSON(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// With 4 and 4 repeats the test rejects only ranks that lie wholly apart, so the interval is that of all pairs.
func TestIntervalOfFourAndFour(t *testing.T) {
	c := change(find("output_tok_per_s"), value(100, 102, 104, 106), value(110, 112, 114, 116), Nothing)
	for name, pair := range map[string][2]*float64{
		"absolute": {c.AbsoluteLow, ref(4.0)}, "absolute to": {c.AbsoluteHigh, ref(16.0)},
		"relative": {c.RelativeLow, ref(110.0/106 - 1)}, "relative to": {c.RelativeHigh, ref(116.0/100 - 1)},
	} {
		if diff := cmp.Diff(pair[1], pair[0], nearly); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// By hand: of the 25 sorted differences the third from each end, since P(U <= 2) = 4/252 and P(U <= 3) = 7/252 lie on either side of 0.025.
func TestIntervalByHand(t *testing.T) {
	low, high := difference.interval([]float64{1.1, 2.3, 3.2, 4.7, 5.9}, []float64{4.1, 5.2, 6.6, 7.3, 9.5})
	if diff := cmp.Diff([]*float64{ref(4.1 - 4.7), ref(9.5 - 3.2)}, []*float64{low, high}, nearly); diff != "" {
		t.Error(diff)
	}
}

// The second method: a shift lies in the interval exactly where the test does not tell the shifted sample from the other.
func TestIntervalInvertsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(1, 100), 4, 7).Draw(t, name)
		}
		from, to := draw("from"), draw("to")
		for name, s := range map[string]shift{"difference": difference, "quotient": quotient} {
			low, high := s.interval(from, to)
			if low == nil || high == nil || *low > *high {
				t.Fatalf("%s: %v to %v", name, low, high)
			}
			by := rapid.Float64Range(0.01, 100).Draw(t, "by")
			moved := make([]float64, len(from))
			for i, v := range from {
				moved[i] = s.apply(v, by)
			}
			told := *selector.NoiseOf(moved, to).Distinct
			if inside := *low < by && by < *high; inside == told && by != *low && by != *high {
				t.Errorf("%s: %g lies in %g to %g: %v, and is told apart: %v", name, by, *low, *high, inside, told)
			}
		}
	})
}

// Both directions say the same of each other.
func TestChangesMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Value {
			return value(rapid.SliceOfN(rapid.SampledFrom([]float64{1, 2, 3, 4, 5, 10, 20}), 1, 6).Draw(t, name)...)
		}
		a, b := draw("a"), draw("b")
		f := find("output_tok_per_s")
		mirrored := map[Verdict]Verdict{ForBetter: ForWorse, ForWorse: ForBetter}
		there, back := change(f, a, b, Nothing), change(f, b, a, Nothing)
		want := there.Verdict
		if m, ok := mirrored[want]; ok {
			want = m
		}
		if back.Verdict != want {
			t.Errorf("%v to %v: %s; back: %s", a.Repeats, b.Repeats, there.Verdict, back.Verdict)
		}
		if there.AbsoluteLow != nil && math.Abs(*there.AbsoluteLow+*back.AbsoluteHigh) > 1e-9 {
			t.Errorf("%v to %v: from %g, back to %g", a.Repeats, b.Repeats, *there.AbsoluteLow, *back.AbsoluteHigh)
		}
	})
}
