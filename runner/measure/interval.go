package measure

import (
	"math"
	"slices"
)

// Confidence is the least probability with which an interval that [Ranks] gives holds the percentile it is of.
const Confidence = 0.95

// Ranks gives the two order statistics, counted from 1, between which a percentile (1 to 99) of what n values were drawn from lies with a
// probability of at least [Confidence], whatever the distribution: each end is wrong with at most half of the rest. The number of values below the
// percentile is binomial, so the ranks follow from its sums alone. A rank is 0 where n is too small to bound that side.
//
// The values must be independent draws from one distribution. Source: H. A. David, Order Statistics, section 7.1.
func Ranks(n int64, percent int) (lower, upper int64) {
	lower = lowerRank(n, float64(percent)/100)
	if mirrored := lowerRank(n, float64(100-percent)/100); mirrored > 0 {
		upper = n + 1 - mirrored
	}
	return lower, upper
}

// lowerRank is the greatest rank k for which fewer than k of n values lie below the quantile p with at most half of what [Confidence] leaves.
func lowerRank(n int64, p float64) int64 {
	if n < 1 {
		return 0
	}
	size := float64(n)
	const far = 12 // deviations below the mean: what lies beyond is nothing in a float64
	at := max(0, math.Floor(size*p-far*math.Sqrt(size*p*(1-p))-far))
	mass := math.Exp(logChoose(size, at) + at*math.Log(p) + (size-at)*math.Log1p(-p))
	for sum := mass; at < size && sum <= (1-Confidence)/2; sum += mass {
		mass *= (size - at) / (at + 1) * p / (1 - p)
		at++
	}
	return int64(at)
}

// logChoose is the logarithm of the binomial coefficient.
func logChoose(n, k float64) float64 {
	log := func(x float64) float64 {
		v, _ := math.Lgamma(x + 1)
		return v
	}
	return log(n) - log(k) - log(n-k)
}

// bound fills in the intervals of the percentiles that are known, from their values in ascending order.
func (d *AllDist) bound(sorted []float64) {
	for _, p := range []struct {
		percent      int
		value        *float64
		lower, upper **float64
	}{{50, d.P50, &d.P50Lower, &d.P50Upper}, {90, d.P90, &d.P90Lower, &d.P90Upper}, {95, d.P95, &d.P95Lower, &d.P95Upper}, {99, d.P99, &d.P99Lower, &d.P99Upper}} {
		if p.value == nil {
			continue
		}
		lower, upper := Ranks(int64(len(sorted)), p.percent)
		*p.lower, *p.upper = ranked(sorted, lower), ranked(sorted, upper)
	}
}

// ranked is the value of a rank counted from 1; nil for 0.
func ranked(sorted []float64, rank int64) *float64 {
	if rank == 0 {
		return nil
	}
	value := sorted[rank-1]
	return &value
}

// Interval is that of the statistic of that name: between its ends lies, with at least [Confidence], what infinitely many requests would give. An
// end is nil where there are too few requests to bound that side. "mean" and "max" have none, whatever the number of requests: ok is then false.
func (d AllDist) Interval(name string) (lower, upper *float64, ok bool) {
	switch name {
	case "p50":
		return d.P50Lower, d.P50Upper, true
	case "p90":
		return d.P90Lower, d.P90Upper, true
	case "p95":
		return d.P95Lower, d.P95Upper, true
	case "p99":
		return d.P99Lower, d.P99Upper, true
	}
	return nil, nil, false
}

// WithIntervalsOf is d with the intervals of other in the place of its own.
func (d AllDist) WithIntervalsOf(other AllDist) AllDist {
	d.P50Lower, d.P50Upper, d.P90Lower, d.P90Upper = other.P50Lower, other.P50Upper, other.P90Lower, other.P90Upper
	d.P95Lower, d.P95Upper, d.P99Lower, d.P99Upper = other.P95Lower, other.P95Upper, other.P99Lower, other.P99Upper
	return d
}

// Pool gathers what limits are held against over several measurements of a point, so that their requests are judged as one sample.
type Pool struct {
	ttft, tpot, totalTime []float64
	failed                int64
}

// Add takes a request in, if it was measured.
func (p *Pool) Add(r *Record) {
	switch {
	case r.Phase != Measured:
	case r.Status == OK:
		push(&p.ttft, ttft(r))
		push(&p.tpot, tpot(r))
		push(&p.totalTime, totalTime(r))
	case r.Status.Failed():
		p.failed++
	}
}

// AddAll adds requests, with room made for all at once.
func (p *Pool) AddAll(records []Record) {
	for _, values := range []*[]float64{&p.ttft, &p.tpot, &p.totalTime} {
		*values = slices.Grow(*values, len(records))
	}
	for i := range records {
		p.Add(&records[i])
	}
}

// Merge takes in what other gathered.
func (p *Pool) Merge(other *Pool) {
	p.ttft, p.tpot, p.totalTime = append(p.ttft, other.ttft...), append(p.tpot, other.tpot...), append(p.totalTime, other.totalTime...)
	p.failed += other.failed
}

// Pooled are the statistics of pooled requests.
type Pooled struct {
	Issued                int64 // ok and failed requests in them
	TTFT, TPOT, TotalTime AllDist
}

// Pooled describes what was added so far.
func (p *Pool) Pooled() Pooled {
	var sorter floatSorter
	all := func(values []float64) AllDist {
		own := slices.Grow(slices.Clone(values), int(p.failed))
		sorter.sort(own)
		return describeAll(own, p.failed)
	}
	return Pooled{int64(len(p.totalTime)) + p.failed, all(p.ttft), all(p.tpot), all(p.totalTime)}
}
