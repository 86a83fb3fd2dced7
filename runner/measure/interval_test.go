package measure

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// Ranks that tables of order statistics list for the median and a 95 % interval, and hand-computed ones: 2·(1/2)^n <= 0.05 from 6 values on,
// 0.99^n <= 0.025 from 368 on.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		n            int64
		percent      int
		lower, upper int64
	}{
		{0, 50, 0, 0}, {5, 50, 0, 0}, {6, 50, 1, 6}, {8, 50, 1, 8}, {9, 50, 2, 8}, {20, 50, 6, 15}, {25, 50, 8, 18}, {100, 50, 40, 61},
		{367, 99, 359, 0}, {368, 99, 360, 368}, {1, 99, 1, 0},
	} {
		if lower, upper := Ranks(c.n, c.percent); lower != c.lower || upper != c.upper {
			t.Errorf("n %d, p%d: ranks %d and %d, want %d and %d", c.n, c.percent, lower, upper, c.lower, c.upper)
		}
	}
}

// binomial is the exact probability of at most k of n with probability percent/100 each, by sums of whole numbers.
func binomial(n, k int64, percent int64) float64 {
	sum := new(big.Int)
	for i := int64(0); i <= k; i++ {
		term := new(big.Int).Binomial(n, i)
		term.Mul(term, new(big.Int).Exp(big.NewInt(percent), big.NewInt(i), nil))
		term.Mul(term, new(big.Int).Exp(big.NewInt(100-percent), big.NewInt(n-i), nil))
		sum.Add(sum, term)
	}
	probability, _ := new(big.Rat).SetFrac(sum, new(big.Int).Exp(big.NewInt(100), big.NewInt(n), nil)).Float64()
	return probability
}

// The ranks are the narrowest that keep each tail within its half, by exact sums in whole numbers.
func TestRanksByExactSums(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	const tail = (1 - Confidence) / 2
	for _, n := range []int64{1, 2, 5, 6, 10, 20, 37, 64, 100, 160, 367, 368, 400, 1000} {
		for _, percent := range []int{50, 90, 95, 99} {
			lower, upper := Ranks(n, percent)
			below := func(rank int64) float64 { return binomial(n, rank-1, int64(percent)) }     // of its value's lying above the percentile
			above := func(rank int64) float64 { return 1 - binomial(n, rank-1, int64(percent)) } // of its value's lying below it
			if lower > 0 && below(lower) > tail || below(lower+1) <= tail {
				t.Errorf("n %d, p%d: the lower rank %d has %g, the next %g", n, percent, lower, below(lower), below(lower+1))
			}
			if upper > 0 && (above(upper) > tail+1e-12 || upper > 1 && above(upper-1) <= tail) {
				t.Errorf("n %d, p%d: the upper rank %d has %g, the one before %g", n, percent, upper, above(upper), above(upper-1))
			}
			if upper == 0 && above(n) <= tail {
				t.Errorf("n %d, p%d: no upper rank, though the greatest value has %g", n, percent, above(n))
			}
		}
	}
}

// Between the ranks lies the percentile at least as often as is said, for values of any distribution, ties and infinite ones among them.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	const trials = 2000
	random := rand.New(rand.NewPCG(1, 2))
	distributions := map[string]struct {
		draw     func() float64
		quantile func(p float64) float64
	}{
		"exponential": {random.ExpFloat64, func(p float64) float64 { return -math.Log(1 - p) }},
		"steps":       {func() float64 { return 1 + math.Floor(4*random.Float64()) }, func(p float64) float64 { return math.Ceil(4 * p) }},
		"failures": {func() float64 {
			if u := random.Float64(); u < 0.97 {
				return u + 1
			}
			return math.Inf(1)
		}, func(p float64) float64 {
			if p < 0.97 {
				return p + 1
			}
			return math.Inf(1)
		}},
	}
	for name, d := range distributions {
		for _, percent := range []int{50, 95, 99} {
			for _, n := range []int{20, 160, 400} {
				truth, held, bounded := d.quantile(float64(percent)/100), 0, 0
				for range trials {
					values := make([]float64, n)
					for i := range values {
						values[i] = d.draw()
					}
					slices.Sort(values)
					all := describeAll(values, 0)
					lower, upper, _ := all.Interval(fmt.Sprintf("p%d", percent))
					if lower != nil || upper != nil {
						bounded++
					}
					if (lower == nil || *lower <= truth) && (upper == nil || truth <= *upper) {
						held++
					}
				}
				if share := float64(held) / trials; share < Confidence-0.01 { // two deviations of 2,000 draws
					t.Errorf("%s, p%d of %d: %.4f hold it, want %.2f", name, percent, n, share, Confidence)
				}
				if bounded == 0 && int64(n) >= schema.MinSamples("p99") {
					t.Errorf("%s, p%d of %d: no interval", name, percent, n)
				}
			}
		}
	}
}

// A sharp interval: for a continuous distribution one rank less would fall short.
func TestIntervalsAreNotWiderThanNeeded(t *testing.T) {
	lower, upper := Ranks(1_000_000, 50)
	if half := float64(upper-lower) / 2; math.Abs(half-1.96*500) > 2 {
		t.Errorf("of a million values the median lies within %g ranks, want about 980", half)
	}
}

func TestPoolIsOneSample(t *testing.T) {
	var pool Pool
	var values []float64
	var records []Record
	for i := range 40 {
		values = append(values, float64(i+1)/1000)
		records = append(records, Record{Phase: Measured, Status: OK, Dispatched: 1e9, FirstToken: 1e9 + clock.Instant(i+1)*1e6, LastToken: 2e9, Ended: 3e9, OutputTokens: ref(int64(11))})
	}
	pool.AddAll(records)
	pool.Add(&Record{Phase: Warmup, Status: OK, Dispatched: 1e9, FirstToken: 9e9, Ended: 9e9})
	pool.AddAll([]Record{{Phase: Measured, Status: Timeout, Dispatched: 1e9, Ended: 9e9}, {Phase: Measured, Status: Cancelled, Dispatched: 1e9, Ended: 9e9}})
	got := pool.Pooled()
	if want := describeAll(values, 1); *got.TTFT.P50 != *want.P50 || *got.TTFT.P50Lower != *want.P50Lower || *got.TTFT.P50Upper != *want.P50Upper || got.Issued != 41 {
		t.Errorf("pooled %+v of %d", got.TTFT, got.Issued)
	}
	if !math.IsInf(*got.TTFT.Max, 1) {
		t.Error("the failure is not counted")
	}
}
