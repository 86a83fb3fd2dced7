// Package pacer computes when the requests of an open loop shall start.
//
// A schedule is a pure function of its parameters and seed: the offsets of all arrivals from the start of their phase. It reads no clock, starts
// nothing and knows of no caps; whoever falls behind it can see by how much. However many goroutines send, the arrivals are one process.
package pacer

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals are how the requests of an open loop are spread in time.
type Arrivals struct {
	Process    string  `json:"process"`              // "constant", "poisson" or "gamma"
	Burstiness float64 `json:"burstiness,omitempty"` // shape of gamma's gaps: 1 is poisson, below 1 comes in bursts, above 1 is more even
}

// Check says what is wrong with a; nil where nothing is.
func (a Arrivals) Check() error {
	switch {
	case a.Process == "gamma" && !(a.Burstiness > 0 && a.Burstiness <= math.MaxFloat32):
		return fmt.Errorf("burstiness must be above 0, not %v", a.Burstiness)
	case a.Process != "constant" && a.Process != "poisson" && a.Process != "gamma":
		return fmt.Errorf("the arrival process must be constant, poisson or gamma, not %q", a.Process)
	}
	return nil
}

// Offsets gives the offsets of arrivals from their phase's start, ascending and without end (the clock's, 292 years, apart). The first comes one gap after the
// start. Their mean rate, above 0, is in arrivals per second; while rampUp lasts it rises to that from 0 in a straight line. Equal arguments give
// equal offsets; a must have passed [Arrivals.Check].
//
// Gaps of a unit rate are summed and then laid upon the time axis by the inverse of the expected number of arrivals, so that constant arrivals do
// not drift and a ramp keeps the process's kind.
func (a Arrivals) Offsets(rate float64, rampUp time.Duration, seed uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		random := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
		var expected float64 // arrivals until this one, at a rate of 1
		for {
			expected += a.gap(random)
			at := instant(expected, rate, rampUp.Seconds()) * float64(time.Second)
			if at >= math.MaxInt64 || !yield(time.Duration(at)) {
				return
			}
		}
	}
}

// gap draws a gap with a mean of 1.
func (a Arrivals) gap(random *rand.Rand) float64 {
	switch a.Process {
	case "poisson":
		return random.ExpFloat64()
	case "gamma":
		return gamma(random, a.Burstiness) / a.Burstiness
	default:
		return 1
	}
}

// instant is when, in seconds, so many arrivals are expected: rate*t²/(2*ramp) of them until ramp, rate*(t-ramp/2) after it.
func instant(expected, rate, ramp float64) float64 {
	if expected < rate*ramp/2 {
		return math.Sqrt(2 * expected * ramp / rate)
	}
	return expected/rate + ramp/2
}

// gamma draws from the gamma distribution with the given shape and a scale of 1, by Marsaglia and Tsang's method (ACM TOMS 26(3), 2000); below a
// shape of 1 by their boost.
func gamma(random *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(random, shape+1) * math.Pow(1-random.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := random.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-random.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
