package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sweetspot/schema"
)

func ref[T any](v T) *T { return &v }

// nearly is for figures that two ways of computing round differently.
var nearly = cmpopts.EquateApprox(1e-12, 1e-15)

func naturals(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return values
}

// The wanted values are numpy.percentile's.
func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		sorted  []float64
		percent int
		want    *float64
	}{
		{[]float64{1, 2, 3, 4, 7, 10}, 50, ref(3.5)},
		{[]float64{15, 20, 35, 40, 50}, 40, ref(29.0)},
		{naturals(10), 90, ref(8.1)},
		{naturals(20), 95, ref(18.05)},
		{naturals(100), 99, ref(98.01)},
		{naturals(101), 99, ref(99.0)},
		{naturals(3), 50, ref(1.0)},
		{[]float64{1, 2, inf}, 50, ref(2.0)}, // falls upon a value: its infinite neighbour doesn't matter
		{[]float64{1, 2, inf, inf}, 50, &inf},
		{[]float64{1, inf, inf, inf}, 50, &inf},
	} {
		got := Quantile(test.sorted, test.percent)
		if diff := cmp.Diff(test.want, got, nearly); diff != "" {
			t.Errorf("Quantile(%v, %d): %s", test.sorted, test.percent, diff)
		}
	}
}

// Regression: https://github.com/mikemccand/luceneutil/issues/45, a percentile printed without the data for it.
func TestQuantileNeedsEnough(t *testing.T) {
	for percent, least := range map[int]int{50: 2, 90: 10, 95: 20, 99: 100} {
		if got := Quantile(naturals(least-1), percent); got != nil {
			t.Errorf("p%d of %d values is %v, want none", percent, least-1, *got)
		}
		if got := Quantile(naturals(least), percent); got == nil {
			t.Errorf("p%d of %d values is none", percent, least)
		}
		if got := schema.MinSamples(fmt.Sprint("p", percent)); got != int64(least) {
			t.Errorf("MinSamples(p%d) = %d, want %d", percent, got, least)
		}
	}
	if got := schema.MinSamples("p42"); got != 0 {
		t.Errorf("MinSamples of a name that is none = %d", got)
	}
}

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		want   Dist
	}{
		{"none", nil, Dist{}},
		{"one", []float64{3}, Dist{N: 1, Mean: ref(3.0), Min: ref(3.0), Max: ref(3.0)}},
		// Squared deviations from the mean of 5: 9+1+1+1+0+0+4+16 = 32.
		{"eight", []float64{9, 2, 4, 5, 4, 7, 4, 5}, Dist{N: 8, Mean: ref(5.0), Std: ref(math.Sqrt(32.0 / 7)), Min: ref(2.0), Max: ref(9.0), P50: ref(4.5)}},
		{"infinite", []float64{1, math.Inf(1), 2}, Dist{N: 3, Mean: ref(math.Inf(1)), Min: ref(1.0), Max: ref(math.Inf(1)), P50: ref(2.0)}},
	} {
		given := slices.Clone(test.values)
		if diff := cmp.Diff(test.want, Describe(given), nearly); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if !slices.Equal(given, test.values) {
			t.Errorf("%s: the values were changed", test.name)
		}
	}
}

// Values far from zero and close together: a one-pass variance would lose every digit.
func TestDescribeKeepsSmallDeviation(t *testing.T) {
	got := Describe([]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})
	if diff := cmp.Diff(ref(math.Sqrt(30)), got.Std, nearly); diff != "" {
		t.Error(diff)
	}
}

// naiveQuantile is the definition in floating point, rank and all.
func naiveQuantile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := float64(len(sorted)-1) * float64(percent) / 100
	below, share := math.Modf(rank)
	if share == 0 {
		return sorted[int(below)]
	}
	return sorted[int(below)]*(1-share) + sorted[int(below)+1]*share
}

func TestDescribeAgreesWithDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e4), 1, 1500).Draw(t, "values")
		got := Describe(values)
		for _, p := range []struct {
			percent, least int
			got            *float64
		}{{50, 2, got.P50}, {90, 10, got.P90}, {95, 20, got.P95}, {99, 100, got.P99}} {
			if (p.got != nil) != (len(values) >= p.least) {
				t.Fatalf("p%d of %d values is %v", p.percent, len(values), p.got)
			}
			if p.got == nil {
				continue
			}
			if want := naiveQuantile(values, p.percent); math.Abs(*p.got-want) > 1e-9*(1+want) {
				t.Errorf("p%d = %v, want %v", p.percent, *p.got, want)
			}
		}
		shuffled := slices.Clone(values)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(got, Describe(shuffled)); diff != "" {
			t.Errorf("another order: %s", diff)
		}
	})
}

func TestSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// On either side of the size from which digits are sorted, narrow ranges and wide ones.
		n := rapid.SampledFrom([]int{0, 1, 2, fewKeys - 1, fewKeys, 3 * fewKeys}).Draw(t, "n")
		greatest := rapid.SampledFrom([]int64{0, 1, 1000, 1 << 40, math.MaxInt64}).Draw(t, "greatest")
		keys := rapid.SliceOfN(rapid.Int64Range(0, greatest), n, n).Draw(t, "keys")
		want := slices.Sorted(slices.Values(keys))
		if sortKeys(keys, make([]int64, n)); !slices.Equal(keys, want) {
			t.Errorf("keys: %v, want %v", keys, want)
		}
		var sorter floatSorter
		times := rapid.Map(rapid.Int64Range(0, math.MaxUint32), func(ns int64) float64 { return time.Duration(ns).Seconds() })
		floats := rapid.SliceOfN(rapid.SampledFrom([]*rapid.Generator[float64]{
			times, rapid.OneOf(times, rapid.Just(5.0)), rapid.OneOf(times, rapid.Just(math.Nextafter(0.1, 1))),
			rapid.OneOf(rapid.Float64(), rapid.Just(math.Inf(1)), rapid.Just(math.Inf(-1)), rapid.Just(0.0)),
		}).Draw(t, "kind"), n, n).Draw(t, "floats")
		sorted := slices.Sorted(slices.Values(floats))
		if sorter.sort(floats); !slices.Equal(floats, sorted) {
			t.Errorf("floats: %v, want %v", floats, sorted)
		}
	})
}

// Gaps of any length, those that come before their time included, have the statistics that the same seconds have.
func TestGapsAreDescribedAsSecondsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, 100, 2 * fewKeys}).Draw(t, "n")
		drawn := rapid.SliceOfN(rapid.SampledFrom([]*rapid.Generator[int64]{
			rapid.Int64Range(0, 1e5), rapid.Int64Range(0, math.MaxUint32),
			rapid.OneOf(rapid.Int64Range(0, 5e9), rapid.Int64Range(math.MaxUint32-1, math.MaxUint32+1), rapid.Int64Range(-10, 1e12)),
		}).Draw(t, "kind"), n, n).Draw(t, "gaps")
		var g gaps
		var seconds []float64
		for _, gap := range drawn {
			g.add(gap)
			seconds = append(seconds, time.Duration(gap).Seconds())
		}
		if diff := cmp.Diff(Describe(seconds), g.describe(), nearly); diff != "" {
			t.Error(diff)
		}
		counted, sorted := rank(g.narrow), slices.Sorted(slices.Values(g.narrow)) // describe counts where there are very many
		for i, want := range sorted {
			if got := counted.at(i); got != want {
				t.Fatalf("by counting rank %d is %d, want %d", i, got, want)
			}
		}
	})
}

// A point of few requests does not take megabytes to describe.
func TestFewGapsTakeLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	(&gaps{narrow: []uint32{50e6, 51e6, 100e6, 49e6}}).describe()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<16 {
		t.Errorf("four gaps took %d bytes", took)
	}
}

// Regression: https://github.com/vllm-project/vllm-omni/issues/6693, where a missing time was 0 and so within every limit.
func TestMeets(t *testing.T) {
	limit := schema.Duration(100 * time.Millisecond)
	for _, test := range []struct {
		seconds *float64
		want    bool
	}{
		{ref(0.05), true},
		{ref(0.1), true},     // equal passes
		{ref(0.7 / 7), true}, // 0.09999999999999999
		{ref(0.1 + 1e-15), true},
		{ref(0.100000001), false},
		{nil, false},
		{ref(0.0), false},
		{ref(-0.1), false},
		{ref(math.NaN()), false},
		{ref(math.Inf(1)), false},
		{ref(math.Inf(-1)), false},
	} {
		if got := Meets(test.seconds, limit); got != test.want {
			t.Errorf("Meets(%v) = %v", test.seconds, got)
		}
	}
}

func TestAllDistStat(t *testing.T) {
	d := AllDist{Mean: ref(1.0), Max: ref(2.0), P50: ref(3.0), P90: ref(4.0), P95: ref(5.0), P99: ref(6.0)}
	for stat, want := range map[string]*float64{"mean": d.Mean, "max": d.Max, "p50": d.P50, "p90": d.P90, "p95": d.P95, "p99": d.P99, "p100": nil, "": nil} {
		if got := d.Stat(stat); got != want {
			t.Errorf("Stat(%q) = %v", stat, got)
		}
	}
}
