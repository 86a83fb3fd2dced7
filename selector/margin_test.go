package selector

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMargins(t *testing.T) {
	v := Judge(ladder([]float64{100, 200, 250, 400}, []float64{0.1, 0.2, 0.25, 0.9}), rule(300*time.Millisecond))
	if diff := gocmp.Diff(&Margin{TrialID: "t1", PointID: "c2", Figure: "output_tok_per_s", Value: 200, Ahead: ref(0.25), Noise: Noise{NeedRepeats: 4}}, v.RunnerUp, nearly); diff != "" {
		t.Errorf("runner-up: %s", diff)
	}
	if diff := gocmp.Diff(&Cost{PointID: "c8", Value: 400, Share: 0.375}, v.Unconstrained, nearly); diff != "" {
		t.Errorf("unconstrained best: %s", diff)
	}
	// A fallback is ahead in the time it is chosen by.
	v = Judge(ladder([]float64{100, 200}, []float64{0.5, 0.4}), rule(300*time.Millisecond))
	if diff := gocmp.Diff(&Margin{TrialID: "t1", PointID: "c1", Figure: "ttft_all_p50_s", Value: 0.5, Ahead: ref(0.25), Noise: Noise{NeedRepeats: 4}}, v.RunnerUp, nearly); diff != "" {
		t.Errorf("runner-up of a fallback: %s", diff)
	}
	if diff := gocmp.Diff(&Cost{PointID: "c2", Value: 200}, v.Unconstrained, nearly); diff != "" {
		t.Errorf("unconstrained best: %s", diff)
	}
	v = Judge(ladder([]float64{100}, []float64{0.1}), rule(0))
	if v.RunnerUp != nil {
		t.Errorf("a single point has the runner-up %v", v.RunnerUp)
	}
}

// The p values are those of the exact two-sided test: 2/70 with four and four wholly apart.
func TestNoise(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b []float64
		want Noise
	}{
		{"one each", []float64{1}, []float64{2}, Noise{NeedRepeats: 4}},
		{"three each", []float64{1, 2, 3}, []float64{4, 5, 6}, Noise{NeedRepeats: 4}},
		{"three and four", []float64{1, 2, 3}, []float64{4, 5, 6, 7}, Noise{NeedRepeats: 4}},
		{"four each, apart", []float64{4, 1, 2, 3}, []float64{5, 8, 6, 7}, Noise{P: ref(2.0 / 70), Distinct: ref(true)}},
		{"four each, mixed", []float64{1, 3, 5, 7}, []float64{2, 4, 6, 8}, Noise{P: ref(48.0 / 70), Distinct: ref(false)}},
		{"all equal", []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, Noise{P: ref(1.0), Distinct: ref(false)}},
		{"two and eight", []float64{1, 2}, []float64{3, 4, 5, 6, 7, 8, 9, 10}, Noise{P: ref(2.0 / 45), Distinct: ref(true)}},
		{"none", nil, []float64{1}, Noise{NeedRepeats: 4}},
	} {
		if diff := gocmp.Diff(test.want, NoiseOf(test.a, test.b), nearly); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if diff := gocmp.Diff(test.want, NoiseOf(test.b, test.a), nearly); diff != "" {
			t.Errorf("%s, the other way round: %s", test.name, diff)
		}
	}
}

// Regression: https://github.com/vllm-project/vllm/pull/7062, where identical runs differed by a third: a margin inside the spread is said to be
// noise.
func TestMarginAgainstNoiseInWords(t *testing.T) {
	series := func(second ...float64) Series {
		s := Series{TrialName: "baseline", Repeats: 4}
		first := point(row(1, 100, 0.1), row(1, 130, 0.1), row(1, 90, 0.1), row(1, 120, 0.1))
		var repeats = first.Repeats[:0:0]
		for _, throughput := range second {
			repeats = append(repeats, row(2, throughput, 0.1))
		}
		s.Points = []Candidate{first, point(repeats...)}
		return s
	}
	mustContain(t, Judge(series(105, 125, 95, 118), rule(0)).Text(), "the repeats do not tell that from noise (p=1.000)")
	mustContain(t, Judge(series(205, 225, 195, 218), rule(0)).Text(), "92 % ahead of the runner-up", "the repeats tell that from noise (p=0.029)")
}

// By hand: 11 of the 56 ways to choose the first sample's three lie as far apart, 0.196. The library says 0.036 in one order and 0.357 in the other.
func TestNoiseHasNoOrder(t *testing.T) {
	a, b := []float64{1, 1, 1}, []float64{1, 1, 3, 3, 3}
	one, other := NoiseOf(a, b), NoiseOf(b, a)
	if diff := gocmp.Diff(one, other); diff != "" {
		t.Error(diff)
	}
	if *one.P < 11.0/56 || *one.Distinct {
		t.Errorf("p is %v", *one.P)
	}
}

// The second method: all ways of choosing the first sample out of both. The p reported is never below the exact one, and equals it without ties.
func TestNoiseAgainstAllArrangements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 8), func(n int) float64 { return float64(n) }), 3, 5).Draw(t, name)
		}
		a, b := draw("a"), draw("b")
		noise := NoiseOf(a, b)
		if noise.P == nil {
			return
		}
		if exact := arrangements(a, b); *noise.P < exact-1e-9 {
			t.Errorf("%v and %v: p %v, of all arrangements %v", a, b, *noise.P, exact)
		}
	})
}

// arrangements is the share of all choices of len(a) of the values whose U is as far from its mean as that of a.
func arrangements(a, b []float64) float64 {
	all := append(slices.Clone(a), b...)
	far := func(chosen uint) float64 {
		u := 0.0
		for i, x := range all {
			for j, y := range all {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 {
					u += float64(cmp.Compare(x, y)+1) / 2
				}
			}
		}
		return math.Abs(u - float64(len(a)*len(b))/2)
	}
	own := far(1<<len(a) - 1)
	extreme, total := 0, 0
	for chosen := range uint(1) << len(all) {
		if bits.OnesCount(chosen) == len(a) {
			total++
			if far(chosen) >= own-1e-9 {
				extreme++
			}
		}
	}
	return float64(extreme) / float64(total)
}
