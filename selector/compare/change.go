package compare

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"sweetspot/runner/measure"
	"sweetspot/selector"
	"sweetspot/selector/figure"
)

// Assumption is what is taken for granted of repeats.
type Assumption string

// The assumptions.
const (
	// Nothing is assumed of how repeats are distributed but that they are independent: changes are tested by ranks (two-sided Mann-Whitney U test,
	// alpha 0.05), which takes at least 4 repeats on each side, or 3 and 5.
	Nothing Assumption = "nothing"
	// Exact takes figures as they are, without noise: every difference is a change. It is for simulations and for counts.
	Exact Assumption = "exact"
)

// Confidence is how often, at least, the interval of a change holds the true one under [Nothing].
const Confidence = 0.95

// Verdict is what is said of a change.
type Verdict string

// The verdicts.
const (
	ForBetter  Verdict = "better"
	ForWorse   Verdict = "worse"
	Changed    Verdict = "changed"    // of a figure that is good neither way
	Same       Verdict = "same"       // every repeat of both sides has the same figure
	Noise      Verdict = "noise"      // the repeats do not tell the two sides apart
	Unknown    Verdict = "unknown"    // there are too few repeats to tell
	Missing    Verdict = "missing"    // one side has no figure
	Ineligible Verdict = "ineligible" // one side's figure can't be trusted
	Ambiguous  Verdict = "ambiguous"  // one side has several points here
)

// Change is how a figure of one side stands to that of the first. Relative figures are shares of the first side's and nil where that is 0.
type Change struct {
	Relative     *float64 `json:"relative"` // to / from - 1, of the medians over the repeats
	RelativeLow  *float64 `json:"relative_low"`
	RelativeHigh *float64 `json:"relative_high"` // the interval that it lies in; nil where the repeats are too few
	Absolute     *float64 `json:"absolute"`      // to - from, in the figure's unit
	AbsoluteLow  *float64 `json:"absolute_low"`
	AbsoluteHigh *float64 `json:"absolute_high"`

	P           *float64 `json:"p"` // of ranks at least as far apart by chance; nil where the repeats are too few, and where figures are taken as exact
	NeedRepeats int64    `json:"need_repeats"`
	Verdict     Verdict  `json:"verdict"`
}

// MarshalJSON writes an infinite value as results do.
func (c Change) MarshalJSON() ([]byte, error) { return measure.MarshalRow(c) }

// Value is a figure of one side's point.
type Value struct {
	Median  *float64  `json:"median"`  // over the repeats; nil where one of them has none
	Repeats []float64 `json:"-"`       // those that are known
	N       int       `json:"repeats"` // how many are
}

// MarshalJSON writes an infinite value as results do.
func (v Value) MarshalJSON() ([]byte, error) {
	return measure.MarshalRow(struct {
		Median *float64 `json:"median"`
		N      int      `json:"repeats"`
	}{v.Median, v.N})
}

// valueOf collects a figure over the repeats of a point.
func valueOf(f figure.Figure, point *selector.Judged) Value {
	var v Value
	if point == nil || len(point.Repeats) == 0 {
		return v
	}
	figures := make([]*float64, len(point.Repeats))
	for i := range point.Repeats {
		figures[i] = f.Of(&point.Repeats[i])
		if figures[i] != nil && !math.IsNaN(*figures[i]) {
			v.Repeats = append(v.Repeats, *figures[i])
		}
	}
	v.Median, v.N = selector.Median(figures), len(v.Repeats)
	return v
}

// change holds two values of a figure against each other.
func change(f figure.Figure, from, to Value, assume Assumption) Change {
	if from.Median == nil || to.Median == nil {
		return Change{Verdict: Missing}
	}
	c := Change{Absolute: finite(*to.Median - *from.Median), Relative: share(*from.Median, *to.Median)}
	if assume == Exact {
		c.RelativeLow, c.RelativeHigh, c.AbsoluteLow, c.AbsoluteHigh = c.Relative, c.Relative, c.Absolute, c.Absolute
		c.Verdict = direction(f, *from.Median, *to.Median)
		return c
	}
	noise := selector.NoiseOf(from.Repeats, to.Repeats)
	c.P, c.NeedRepeats = noise.P, noise.NeedRepeats
	if noise.Distinct != nil {
		c.AbsoluteLow, c.AbsoluteHigh = difference.interval(from.Repeats, to.Repeats)
		if slices.Min(from.Repeats) > 0 {
			low, high := quotient.interval(from.Repeats, to.Repeats)
			c.RelativeLow, c.RelativeHigh = lessOne(low), lessOne(high)
		}
	}
	switch {
	case slices.Min(from.Repeats) == slices.Max(to.Repeats) && slices.Max(from.Repeats) == slices.Min(to.Repeats):
		c.Verdict = Same
	case noise.Distinct == nil:
		c.Verdict = Unknown
	case !*noise.Distinct:
		c.Verdict = Noise
	default:
		c.Verdict = direction(f, *from.Median, *to.Median)
	}
	return c
}

// direction says in which way a figure has gone that has gone some way.
func direction(f figure.Figure, from, to float64) Verdict {
	switch {
	case from == to:
		return Same
	case f.Better == figure.None:
		return Changed
	case (to > from) == (f.Better == figure.Higher):
		return ForBetter
	}
	return ForWorse
}

func share(from, to float64) *float64 {
	if from <= 0 {
		return nil
	}
	return finite(to/from - 1)
}

// finite is nil of what is not a number, as the difference of two infinite figures is. One that is infinite is kept.
func finite(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func lessOne(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return finite(*v - 1)
}

// shift is a way in which one sample may be another one moved.
type shift struct {
	by    func(from, to float64) float64 // how far to is from from
	apply func(v, by float64) float64
	less  func(by float64) float64 // something below by
	more  func(by float64) float64
}

var (
	difference = shift{
		by:    func(from, to float64) float64 { return to - from },
		apply: func(v, by float64) float64 { return v + by },
		less:  func(by float64) float64 { return by - max(1, math.Abs(by)) },
		more:  func(by float64) float64 { return by + max(1, math.Abs(by)) },
	}
	quotient = shift{
		by:    func(from, to float64) float64 { return to / from },
		apply: func(v, by float64) float64 { return v * by },
		less: func(by float64) float64 {
			if by == 0 {
				return -1 // to is 0 throughout, and from is not: any negative share lies below
			}
			return by / 2
		},
		more: func(by float64) float64 { return by*2 + math.SmallestNonzeroFloat64 },
	}
)

// interval is every shift of from that the test of [selector.NoiseOf] does not tell from to: the Hodges-Lehmann interval, made by inverting the test.
// A condition on the shift that is false all over it is one that the test rejects. It is nil where a figure is infinite, as those of failed
// requests may be.
//
// Between two successive differences of a pair of figures the ranks, and so the outcome, are the same: each such span is tested once, the two ends
// being found by halving.
func (s shift) interval(from, to []float64) (low, high *float64) {
	steps := make([]float64, 0, len(from)*len(to))
	for _, a := range from {
		for _, b := range to {
			if math.IsInf(a, 0) || math.IsInf(b, 0) {
				return nil, nil
			}
			steps = append(steps, s.by(a, b))
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	n := len(steps)
	// side is 1 where to lies above from so moved, -1 where it lies below, 0 where they are not told apart. It falls from 1 to -1.
	side := func(i int) int {
		moved := make([]float64, len(from))
		for j, v := range from {
			moved[j] = s.apply(v, s.span(steps, i))
		}
		if noise := selector.NoiseOf(moved, to); noise.Distinct == nil || !*noise.Distinct {
			return 0
		}
		return above(moved, to)
	}
	first := sort.Search(n, func(i int) bool { return side(i) < 1 })
	last := sort.Search(n, func(i int) bool { return side(i+1) < 0 })
	if first == 0 || last == n {
		return nil, nil
	}
	return &steps[first-1], &steps[last]
}

// span is a shift between steps i-1 and i.
func (s shift) span(steps []float64, i int) float64 {
	switch i {
	case 0:
		return s.less(steps[0])
	case len(steps):
		return s.more(steps[i-1])
	}
	return steps[i-1] + (steps[i]-steps[i-1])/2
}

// above is the sign of how many pairs rise less how many fall.
func above(from, to []float64) int {
	rising := 0
	for _, a := range from {
		for _, b := range to {
			rising += cmp.Compare(b, a)
		}
	}
	return cmp.Compare(rising, 0)
}
