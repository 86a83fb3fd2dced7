package measure

import (
	"math"
	"slices"
)

const (
	digitBits = 11
	digits    = (64 + digitBits - 1) / digitBits
	buckets   = 1 << digitBits
	fewKeys   = 512 // below it a comparison sort is faster than clearing the buckets
)

// sortKeys sorts keys that are not negative, least significant digit first. A point has millions of gaps between chunks, for which this takes a
// quarter of the time of a comparison sort: digits that all keys share, the upper half of most durations, cost nothing.
func sortKeys[T ~int64 | ~uint64](keys []T) {
	if len(keys) < fewKeys {
		slices.Sort(keys)
		return
	}
	counts := new([digits][buckets]int)
	for _, key := range keys {
		for d := range digits {
			counts[d][digit(key, d)]++
		}
	}
	from, to := keys, make([]T, len(keys))
	for d := range digits {
		if counts[d][digit(keys[0], d)] == len(keys) {
			continue
		}
		scatter(from, to, d, &counts[d])
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

func digit[T ~int64 | ~uint64](key T, d int) uint64 {
	return uint64(key) >> (d * digitBits) % buckets
}

// scatter moves the keys to the places of their digit d, those with equal digits in the order in which they come.
func scatter[T ~int64 | ~uint64](from, to []T, d int, counts *[buckets]int) {
	var next [buckets]int
	sum := 0
	for b, n := range counts {
		next[b] = sum
		sum += n
	}
	for _, key := range from {
		b := digit(key, d)
		to[next[b]] = key
		next[b]++
	}
}

// sortFloats sorts values in ascending order, -Inf first and +Inf last. There must be no NaN among them.
func sortFloats(values []float64) {
	if len(values) < fewKeys {
		slices.Sort(values)
		return
	}
	keys := make([]uint64, len(values))
	for i, v := range values {
		keys[i] = sortKey(v)
	}
	sortKeys(keys)
	for i, key := range keys {
		values[i] = fromSortKey(key)
	}
}

// The bits of two floats compare as the floats do once the sign bit is flipped, and of a negative one all others too.
const signBit = 1 << 63

func sortKey(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

func fromSortKey(key uint64) float64 {
	if key&signBit == 0 {
		return math.Float64frombits(^key)
	}
	return math.Float64frombits(key &^ signBit)
}
