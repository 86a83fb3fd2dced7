package selector

import (
	"slices"

	"golang.org/x/perf/benchmath"

	"sweetspot/runner/measure"
)

// repeatsToTell is how many repeats two points need for the test of [Noise] to tell them apart at all: with 4 and 4 the least p is 2/70.
const repeatsToTell = 4

// Noise holds a margin against the spread over the repeats.
type Noise struct {
	// P is the probability of ranks at least as far apart as those of the two points' repeats if both came from one distribution (two-sided
	// Mann-Whitney U test); nil where there are too few repeats for any outcome to be telling.
	P *float64 `json:"p"`
	// Distinct is whether P is below 0.05: the repeats tell the margin from noise. It is nil where P is.
	Distinct *bool `json:"distinct"`
	// NeedRepeats is how many repeats would be enough to tell; 0 where there are enough.
	NeedRepeats int64 `json:"need_repeats"`
}

// NoiseOf compares the repeats of two points, of which it takes copies.
func NoiseOf(a, b []float64) Noise {
	thresholds := benchmath.DefaultThresholds
	if leastP(len(a), len(b)) >= thresholds.CompareAlpha {
		return Noise{NeedRepeats: repeatsToTell}
	}
	// The library doubles the tail of the smaller U under the distribution of the first sample's. With ties and samples of different sizes that
	// distribution is not symmetric, and the outcome hangs on the order: the greater of both is at least the exact two-sided p.
	p := min(1, max(mannWhitney(a, b), mannWhitney(b, a)))
	distinct := p < thresholds.CompareAlpha
	return Noise{P: &p, Distinct: &distinct}
}

// mannWhitney is the library's p.
func mannWhitney(a, b []float64) float64 {
	thresholds := benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), &thresholds), benchmath.NewSample(slices.Clone(b), &thresholds)).P
}

// leastP is the least p that the test can give: with the ranks of n and of m values wholly apart, two of the (n+m choose n) arrangements.
func leastP(n, m int) float64 {
	arrangements := 1.0
	for i := 1; i <= n; i++ {
		arrangements *= float64(m+i) / float64(i)
	}
	return 2 / arrangements
}

// ahead is how far the first of two ranked points is ahead of the second in throughput.
func (r *Rule) ahead(first, second *Judged) *Margin {
	a, b := orZero(r.throughput(&first.Medians)), orZero(r.throughput(&second.Medians))
	m := Margin{PointID: second.PointID, Figure: r.maximized(), Value: b, Ahead: over(a-b, b)}
	m.Noise = NoiseOf(valuesOf(first.Repeats, r.throughput), valuesOf(second.Repeats, r.throughput))
	return &m
}

// sooner is how far the first of two ranked points is ahead of the second in time to first token.
func (r *Rule) sooner(first, second *Judged) *Margin {
	a, b := orZero(r.ttft(&first.Medians)), orZero(r.ttft(&second.Medians))
	m := Margin{PointID: second.PointID, Figure: r.ttftColumn(), Value: b, Ahead: over(b-a, a)}
	m.Noise = NoiseOf(valuesOf(first.Repeats, r.ttft), valuesOf(second.Repeats, r.ttft))
	return &m
}

// valuesOf are the values of the rows that have one.
func valuesOf(rows []measure.Point, value func(*measure.Point) *float64) []float64 {
	var values []float64
	for i := range rows {
		if v := value(&rows[i]); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// spread is the range of values over their median; nil for fewer than two.
func spread(values []float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	refs := make([]*float64, len(values))
	for i := range values {
		refs[i] = &values[i]
	}
	return over(slices.Max(values)-slices.Min(values), *Median(refs))
}
