package workload

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Distribution says how whole numbers vary: token counts, turns, milliseconds. Exactly one field is set.
type Distribution struct {
	Constant  *int64     `json:"constant,omitempty"`
	Uniform   *Range     `json:"uniform,omitempty"`   // each number from Min to Max as likely as the others
	Normal    *Spread    `json:"normal,omitempty"`    // the bell curve
	Lognormal *Spread    `json:"lognormal,omitempty"` // its logarithm is a bell curve: many small, few large
	Weighted  []Weighted `json:"weighted,omitempty"`  // each value as often as its weight says
}

// Range is from Min to Max, both included.
type Range struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Spread is a mean and a standard deviation. A number drawn below Min is Min, one above Max is Max; a Max of 0 is none.
type Spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	Min  int64   `json:"min"`
	Max  int64   `json:"max,omitempty"`
}

// Weighted is a value and how often it comes, against the weights of the others.
type Weighted struct {
	Value  int64 `json:"value"`
	Weight int64 `json:"weight"`
}

// check says what is wrong with d.
func (d Distribution) check() error {
	set := 0
	for _, is := range []bool{d.Constant != nil, d.Uniform != nil, d.Normal != nil, d.Lognormal != nil, d.Weighted != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return errors.New("exactly one of constant, uniform, normal, lognormal and weighted must be set")
	case d.Constant != nil && *d.Constant < 0:
		return errors.New("constant must be at least 0")
	case d.Uniform != nil && (d.Uniform.Min < 0 || d.Uniform.Max < d.Uniform.Min):
		return errors.New("uniform: min must be at least 0 and max at least min")
	case d.Normal != nil:
		return d.Normal.check("normal")
	case d.Lognormal != nil:
		return d.Lognormal.check("lognormal")
	}
	for _, w := range d.Weighted {
		if w.Value < 0 || w.Weight < 1 {
			return errors.New("weighted: values must be at least 0 and weights at least 1")
		}
	}
	return nil
}

func (s Spread) check(name string) error {
	if !(s.Mean > 0) || !(s.Std >= 0) || math.IsInf(s.Mean+s.Std, 1) {
		return fmt.Errorf("%s: mean must be above 0 and std at least 0", name)
	}
	if s.Min < 0 || s.Max != 0 && s.Max < s.Min {
		return fmt.Errorf("%s: min must be at least 0 and max at least min", name)
	}
	return nil
}

// draw draws a number.
func (d Distribution) draw(random *stream) int64 { return d.quantile(random.pcg.Uint64()) }

// quantile is the number below which a share of u in 2^64 of all numbers lie. It is the same on every machine.
func (d Distribution) quantile(u uint64) int64 {
	switch {
	case d.Constant != nil:
		return *d.Constant
	case d.Uniform != nil:
		return d.Uniform.Min + share(u, d.Uniform.Max-d.Uniform.Min+1)
	case d.Normal != nil:
		return d.Normal.clamp(d.Normal.Mean + float64(d.Normal.Std*normalQuantile(u)))
	case d.Lognormal != nil:
		return d.Lognormal.clamp(d.Lognormal.lognormal(u))
	}
	return d.weighted(u)
}

// share is u in 2^64 of n.
func share(u uint64, n int64) int64 {
	high, _ := bits.Mul64(u, uint64(n))
	return int64(high)
}

func (d Distribution) weighted(u uint64) int64 {
	var total int64
	for _, w := range d.Weighted {
		total += w.Weight
	}
	at := share(u, total)
	for _, w := range d.Weighted {
		if at -= w.Weight; at < 0 {
			return w.Value
		}
	}
	return 0
}

// lognormal gives the parameters of the logarithm by the moments: variance ln(1 + std²/mean²), mean ln(mean) - variance/2.
func (s Spread) lognormal(u uint64) float64 {
	ratio := s.Std / s.Mean
	variance := logarithm(1 + float64(ratio*ratio))
	return exponential(logarithm(s.Mean) - variance/2 + float64(math.Sqrt(variance)*normalQuantile(u)))
}

func (s Spread) clamp(x float64) int64 {
	const most = 1 << 53
	n := int64(min(max(math.Floor(x+0.5), 0), most))
	if s.Max != 0 {
		n = min(n, s.Max)
	}
	return max(n, s.Min)
}
