package measure

import (
	"math"
	"slices"
	"time"

	"sweetspot/schema"
)

// Quantile is the given percentile, 1 to 99, of values in ascending order: linear interpolation between the order statistics around
// (n-1)*percent/100, which is the default of numpy.percentile. It is nil where n is too small to know it, n*(100-percent) < 100.
//
// The rank is computed in integers, so that a percentile that falls upon a value is that value, also where its neighbour is infinite. Between a
// finite and an infinite value lies an infinite one.
func Quantile(sorted []float64, percent int) *float64 {
	return quantile(len(sorted), func(rank int) float64 { return sorted[rank] }, percent, 1)
}

// quantile divides by perUnit the percentile of n values, each at its rank from 0, that are in a finer unit than their base unit, such as nanoseconds.
func quantile(n int, at func(rank int) float64, percent int, perUnit float64) *float64 {
	if n*(100-percent) < 100 {
		return nil
	}
	rank := (n - 1) * percent
	rank, rest := rank/100, rank%100
	value := at(rank)
	if rest > 0 {
		above := at(rank + 1)
		if math.IsInf(above, 1) {
			return &above
		}
		value += (above - value) * float64(rest) / 100
	}
	return scaled(value, perUnit)
}

// Describe gives the statistics of values, in any order, which it leaves as they are. Values must be finite or +Inf; with +Inf among them the
// deviation is nil.
func Describe(values []float64) Dist {
	own := slices.Clone(values)
	new(floatSorter).sort(own)
	return describe(own)
}

// describe sums in ascending order, so that the order in which values came changes no figure.
func describe(sorted []float64) Dist {
	mean := sumOf(sorted) / float64(len(sorted))
	return distOf(len(sorted), func(rank int) float64 { return sorted[rank] }, mean, squaresOf(sorted, mean), 1)
}

// distOf puts together the statistics of n values, each at its rank from 0, of which the mean and the sum of the squared distances from it are known.
func distOf(n int, at func(rank int) float64, mean, squares, perUnit float64) Dist {
	if n == 0 {
		return Dist{}
	}
	d := Dist{N: int64(n), Mean: scaled(mean, perUnit), Min: scaled(at(0), perUnit), Max: scaled(at(n-1), perUnit)}
	if n > 1 && !math.IsInf(mean, 0) {
		d.Std = scaled(math.Sqrt(squares/float64(n-1)), perUnit)
	}
	d.P50, d.P90 = quantile(n, at, 50, perUnit), quantile(n, at, 90, perUnit)
	d.P95, d.P99 = quantile(n, at, 95, perUnit), quantile(n, at, 99, perUnit)
	return d
}

// number is a value in base units, or a whole number of some other unit.
type number interface{ ~int64 | ~uint32 | ~float64 }

func sumOf[T number](values []T) (sum float64) {
	for _, v := range values {
		sum += float64(v)
	}
	return sum
}

// squaresOf is the second of two passes to the sample standard deviation: the one-pass formula loses its digits where the deviation is small beside the mean.
func squaresOf[T number](values []T, mean float64) (squares float64) {
	for _, v := range values {
		off := float64(v) - mean
		squares += off * off
	}
	return squares
}

func scaled(value, perUnit float64) *float64 {
	value /= perUnit
	return &value
}

// describeAll gives the statistics of values in ascending order and of failures more, each of which counts as +Inf.
func describeAll(sorted []float64, failures int64) AllDist {
	all := slices.Grow(sorted, int(failures))
	for range failures {
		all = append(all, math.Inf(1))
	}
	d := describe(all).all()
	d.bound(all)
	return d
}

// Stat is [AllDist.Stat] of the ok requests alone.
func (d Dist) Stat(name string) *float64 { return d.all().Stat(name) }

func (d Dist) all() AllDist {
	return AllDist{Mean: d.Mean, Max: d.Max, P50: d.P50, P90: d.P90, P95: d.P95, P99: d.P99}
}

// Stat is the statistic of that name, one of "mean", "max", "p50", "p90", "p95" and "p99"; nil where it is not known, and for any other name.
func (d AllDist) Stat(name string) *float64 {
	switch name {
	case "mean":
		return d.Mean
	case "max":
		return d.Max
	case "p50":
		return d.P50
	case "p90":
		return d.P90
	case "p95":
		return d.P95
	case "p99":
		return d.P99
	}
	return nil
}

// Meets reports whether a figure in seconds is within a limit; one that equals it is. Both are compared in whole nanoseconds, the grain of the
// clock, so that the rounding of a mean or of an interpolation decides nothing. A figure that is missing, not a number, infinite, zero or
// negative meets no limit: it is no measurement of a time.
func Meets(seconds *float64, limit schema.Duration) bool {
	if seconds == nil || math.IsNaN(*seconds) || *seconds <= 0 || math.IsInf(*seconds, 0) {
		return false
	}
	return math.Round(*seconds*float64(time.Second)) <= float64(limit)
}
