package selector

import (
	"cmp"
	"math"
	"slices"

	"sweetspot/schema"
)

// plateauGain is the share of throughput that a doubling of the load must add for throughput to be still growing.
const plateauGain = 0.1

// plateauReach is how many times the level of a plateau's start others must reach for it to be one: noise is enough for two that are next to each other.
const plateauReach = 1.25

// scale fills in how each point compares with the base, the completed point of the lowest level, and where throughput levels off. Points are in
// order of load.
func (v *Verdict) scale() {
	level := levels(v.Points)
	var grown []*Judged
	for i := range v.Points {
		p := &v.Points[i]
		if p.Status == statusCompleted && usable(p.Medians.OutputTokPerS) != nil {
			grown = append(grown, p)
		}
	}
	if len(grown) == 0 {
		return
	}
	slices.SortStableFunc(grown, func(a, b *Judged) int { return cmp.Compare(level(a.Load), level(b.Load)) })
	base := grown[0]
	v.ScalingBase = &base.PointID
	for _, p := range grown {
		p.ThroughputScaling = ratio(p.Medians.OutputTokPerS, base.Medians.OutputTokPerS)
		p.TTFTGrowth = ratio(usable(p.Medians.TTFT.P50), usable(base.Medians.TTFT.P50))
		p.LinearQueueing = over(level(p.Load), level(base.Load))
	}
	v.PlateauFrom = plateau(grown, level)
}

// levels gives the level of a load: what a closed loop keeps in flight or, where all points have the same of that, the rate, the speed or the prefill cap.
func levels(points []Judged) func(schema.PointLoad) float64 {
	slots := func(l schema.PointLoad) float64 { return float64(l.Slots()) }
	rate := func(l schema.PointLoad) float64 { return orZero(l.RequestRate) }
	speed := func(l schema.PointLoad) float64 { return orZero(l.ReplaySpeed) }
	prefill := func(l schema.PointLoad) float64 {
		if l.PrefillConcurrency == nil {
			return 0
		}
		return float64(*l.PrefillConcurrency)
	}
	for _, level := range []func(schema.PointLoad) float64{slots, rate, speed, prefill} {
		if varies(points, level) {
			return level
		}
	}
	if len(points) > 0 && slots(points[0].Load) == 0 {
		if points[0].Load.ReplaySpeed != nil {
			return speed
		}
		return rate
	}
	return slots
}

func varies(points []Judged, level func(schema.PointLoad) float64) bool {
	return slices.ContainsFunc(points, func(p Judged) bool { return level(p.Load) != level(points[0].Load) })
}

// plateau is the lowest level from which on no doubling of the load adds [plateauGain], and no other level has as much more than it; nil where throughput
// still grows at the last step, and where the levels end soon behind it. Levels that are less than a doubling apart are held against the lowest alone:
// between two of them noise looks like growth. Only points that can be trusted count, and of those at one level the one with the highest throughput.
func plateau(grown []*Judged, level func(schema.PointLoad) float64) *string {
	var best []*Judged
	for _, p := range grown {
		n := len(best)
		switch {
		case !p.Eligible:
		case n > 0 && level(best[n-1].Load) == level(p.Load):
			if *p.Medians.OutputTokPerS > *best[n-1].Medians.OutputTokPerS {
				best[n-1] = p
			}
		default:
			best = append(best, p)
		}
	}
	for start := range max(0, len(best)-1) {
		if level(best[len(best)-1].Load) >= plateauReach*level(best[start].Load) && !growing(best[start:], level) {
			return &best[start].PointID
		}
	}
	return nil
}

// growing reports whether throughput grows from the first of the points, or by a doubling of the load among those above it.
func growing(points []*Judged, level func(schema.PointLoad) float64) bool {
	for i, a := range points {
		for _, b := range points[i+1:] {
			if (i == 0 || level(b.Load) >= 2*level(a.Load)) && grows(a, b, level) {
				return true
			}
		}
	}
	return false
}

// grows reports whether throughput grows from a to b by at least [plateauGain] for each doubling of the load that lies between them.
func grows(a, b *Judged, level func(schema.PointLoad) float64) bool {
	doublings := math.Log2(level(b.Load) / level(a.Load))
	gain := *b.Medians.OutputTokPerS / *a.Medians.OutputTokPerS
	return math.Pow(gain, 1/doublings) >= 1+plateauGain
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// ratio is nil where a figure is missing.
func ratio(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return over(*a, *b)
}

// over is nil where the quotient is no number.
func over(a, b float64) *float64 {
	quotient := a / b
	if math.IsNaN(quotient) || math.IsInf(quotient, 0) {
		return nil
	}
	return &quotient
}
