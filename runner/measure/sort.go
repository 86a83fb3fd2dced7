package measure

import (
	"math"
	"slices"
	"time"
)

const (
	digitBits = 11
	buckets   = 1 << digitBits
	fewKeys   = 512 // below it a comparison sort is faster than clearing the buckets
)

// sortKeys sorts keys that are not negative, least significant digit first. A point has millions of gaps between chunks, for which this takes a
// quarter of the time of a comparison sort: digits that all keys share, the upper half of most durations, cost nothing. It needs a spare slice of their length,
// whatever is in it.
func sortKeys[T ~int64 | ~uint64 | ~uint32](keys, spare []T) {
	if slices.IsSorted(keys) {
		return
	}
	if len(keys) < fewKeys {
		slices.Sort(keys)
		return
	}
	var differ T
	for _, key := range keys {
		differ |= key ^ keys[0]
	}
	from, to := keys, spare[:len(keys)]
	for shift := 0; uint64(differ)>>shift != 0; shift += digitBits {
		if uint64(differ)>>shift%buckets != 0 {
			scatter(from, to, shift)
			from, to = to, from
		}
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// scatter moves the keys to the places of their digit at shift, those with equal digits in the order in which they come.
func scatter[T ~int64 | ~uint64 | ~uint32](from, to []T, shift int) {
	var next [buckets]int
	for _, key := range from {
		next[uint64(key)>>shift%buckets]++
	}
	sum := 0
	for b, n := range next {
		next[b] = sum
		sum += n
	}
	for _, key := range from {
		b := uint64(key) >> shift % buckets
		to[next[b]] = key
		next[b]++
	}
}

// floatSorter sorts lists of values one after the other, with the same memory beside them.
type floatSorter struct {
	keys, spare    []uint64
	narrow, spare4 []uint32
}

// sort sorts values in ascending order, -Inf first and +Inf last. There must be no NaN among them.
func (s *floatSorter) sort(values []float64) {
	if len(values) < fewKeys {
		slices.Sort(values)
		return
	}
	if s.sortTimes(values) {
		return
	}
	s.keys, s.spare = sized(s.keys, len(values)), sized(s.spare, len(values))
	for i, v := range values {
		s.keys[i] = sortKey(v)
	}
	sortKeys(s.keys, s.spare)
	for i, key := range s.keys {
		values[i] = fromSortKey(key)
	}
}

// sortTimes sorts times in seconds that are whole nanoseconds below 4.29 s, as most are: their keys take half the memory, and half the digits. It reports false, and
// has changed nothing, where one of the values is not such a time.
func (s *floatSorter) sortTimes(values []float64) bool {
	s.narrow, s.spare4 = sized(s.narrow, len(values)), sized(s.spare4, len(values))
	for i, v := range values {
		nanoseconds := math.Round(v * float64(time.Second))
		if !(nanoseconds >= 0 && nanoseconds <= math.MaxUint32) || time.Duration(nanoseconds).Seconds() != v {
			return false
		}
		s.narrow[i] = uint32(nanoseconds)
	}
	sortKeys(s.narrow, s.spare4)
	for i, key := range s.narrow {
		values[i] = time.Duration(key).Seconds()
	}
	return true
}

// sized gives a slice of that length, whatever is in it: the old one where that has the room.
func sized[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	return old[:n]
}

// percentile is that of values in any order, which it leaves as they are.
func (s *floatSorter) percentile(values []float64, percent int) *float64 {
	own := slices.Clone(values)
	s.sort(own)
	return Quantile(own, percent)
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
