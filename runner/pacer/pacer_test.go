package pacer

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func take(n int, a Arrivals, rate float64, rampUp time.Duration, seed uint64) []time.Duration {
	var offsets []time.Duration
	for at := range a.Offsets(rate, rampUp, seed) {
		if offsets = append(offsets, at); len(offsets) == n {
			break
		}
	}
	return offsets
}

// Rates at low QPS were inaccurate elsewhere: https://github.com/kubernetes-sigs/inference-perf/issues/141.
func TestConstantArrivalsDoNotDrift(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 3, 7, 1000} {
		got := take(100_000, Arrivals{Process: "constant"}, rate, 0, 1)
		for _, n := range []int{0, 1, 2, 9, 99_999} {
			want := time.Duration(float64(n+1) / rate * 1e9)
			if d := got[n] - want; d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("at %v/s arrival %d is at %v, want %v", rate, n, got[n], want)
			}
		}
	}
}

func TestGapsHaveTheProcesssMeanAndSpread(t *testing.T) {
	const n, rate = 200_000, 50
	for _, c := range []struct {
		arrivals  Arrivals
		variation float64 // standard deviation of the gaps over their mean
	}{
		{Arrivals{Process: "constant"}, 0},
		{Arrivals{Process: "poisson"}, 1},
		{Arrivals{Process: "gamma", Burstiness: 1}, 1},
		{Arrivals{Process: "gamma", Burstiness: 4}, 0.5},
		{Arrivals{Process: "gamma", Burstiness: 0.25}, 2},
	} {
		offsets := take(n, c.arrivals, rate, 0, 7)
		var sum, squares float64
		var before time.Duration
		for _, at := range offsets {
			gap := (at - before).Seconds()
			sum, squares, before = sum+gap, squares+gap*gap, at
		}
		mean := sum / n
		variation := math.Sqrt(max(0, squares/n-mean*mean)) / mean
		if math.Abs(mean*rate-1) > 0.02 || math.Abs(variation-c.variation) > 0.03*max(1, c.variation) {
			t.Errorf("%+v: mean gap %.5f s and variation %.3f, want %.5f and %.3f", c.arrivals, mean, variation, 1.0/rate, c.variation)
		}
	}
}

// Poisson gaps, seen another way: the share of gaps above x is exp(-x).
func TestPoissonGapsAreExponential(t *testing.T) {
	const n = 200_000
	offsets := take(n, Arrivals{Process: "poisson"}, 1, 0, 3)
	for _, x := range []float64{0.1, 0.5, 1, 2, 4} {
		var above float64
		var before time.Duration
		for _, at := range offsets {
			if (at - before).Seconds() > x {
				above++
			}
			before = at
		}
		if got, want := above/n, math.Exp(-x); math.Abs(got-want) > 0.005 {
			t.Errorf("share of gaps above %v: %.4f, want %.4f", x, got, want)
		}
	}
}

func TestARampRisesInAStraightLine(t *testing.T) {
	const rate = 100
	ramp := 10 * time.Second
	offsets := take(1500, Arrivals{Process: "constant"}, rate, ramp, 1)
	until := func(at time.Duration) int {
		n, _ := slices.BinarySearch(offsets, at+1)
		return n
	}
	// The expected number is rate*t²/(2*ramp): 125, 500, then 100 a second.
	got := []int{until(5 * time.Second), until(10 * time.Second), until(11 * time.Second), until(12 * time.Second)}
	if diff := cmp.Diff([]int{125, 500, 600, 700}, got); diff != "" {
		t.Errorf("arrivals until 5, 10, 11 and 12 s (-want +got):\n%s", diff)
	}
}

// The same seed in every worker gave the same "Poisson" arrivals in each elsewhere (RIVALS.md, fault 6). Here one seed is one process.
func TestASeedIsOneProcess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Arrivals{Process: rapid.SampledFrom([]string{"constant", "poisson", "gamma"}).Draw(t, "process"), Burstiness: rapid.Float64Range(0.05, 20).Draw(t, "burstiness")}
		rate := rapid.Float64Range(0.01, 1e4).Draw(t, "rate")
		ramp := time.Duration(rapid.IntRange(0, 10_000).Draw(t, "ramp")) * time.Millisecond
		seed := rapid.Uint64().Draw(t, "seed")
		one := take(200, a, rate, ramp, seed)
		if diff := cmp.Diff(one, take(200, a, rate, ramp, seed)); diff != "" {
			t.Fatalf("the same seed gave another schedule:\n%s", diff)
		}
		if a.Process != "constant" && slices.Equal(one, take(200, a, rate, ramp, seed+1)) {
			t.Fatal("another seed gave the same schedule")
		}
		if !slices.IsSorted(one) || one[0] < 0 {
			t.Fatalf("not ascending from 0: %v", one)
		}
	})
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for _, a := range []Arrivals{{}, {Process: "uniform"}, {Process: "gamma"}, {Process: "gamma", Burstiness: -1}, {Process: "gamma", Burstiness: math.NaN()}} {
		if a.Check() == nil {
			t.Errorf("%+v passed", a)
		}
	}
	for _, a := range []Arrivals{{Process: "constant"}, {Process: "poisson"}, {Process: "gamma", Burstiness: 0.5}} {
		if err := a.Check(); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

func TestAScheduleEndsBeforeTheClockDoes(t *testing.T) {
	var n int
	for at := range (Arrivals{Process: "constant"}).Offsets(1e-9, 0, 1) {
		if n++; at < 0 || n > 100 {
			t.Fatalf("arrival %d at %v", n, at)
		}
	}
}
