package measure

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"
)

// gaps are times between chunks, in nanoseconds. A point has tens of millions of them: those below 4.29 s, nearly all, take four bytes each.
type gaps struct {
	narrow []uint32
	wide   []int64
}

// add takes in a gap. It is below 0 where another tool's stamps are not in order.
func (g *gaps) add(gap int64) {
	if gap >= 0 && gap <= math.MaxUint32 {
		g.narrow = append(g.narrow, uint32(gap))
		return
	}
	g.wide = append(g.wide, gap)
}

// describe gives the statistics in seconds. It may put the gaps in order.
func (g *gaps) describe() Dist {
	if len(g.wide) == 0 {
		mean, squares := momentsOf(g.narrow)
		return distOf(len(g.narrow), byRank(g.narrow), mean, squares, float64(time.Second))
	}
	sortKeys(g.narrow, make([]uint32, len(g.narrow)))
	slices.Sort(g.wide)
	below := sort.Search(len(g.wide), func(i int) bool { return g.wide[i] >= 0 })
	at := func(rank int) float64 {
		switch {
		case rank < below:
			return float64(g.wide[rank])
		case rank < below+len(g.narrow):
			return float64(g.narrow[rank-below])
		}
		return float64(g.wide[rank-len(g.narrow)])
	}
	n := len(g.narrow) + len(g.wide)
	mean := (sumOf(g.narrow) + sumOf(g.wide)) / float64(n)
	return distOf(n, at, mean, squaresOf(g.narrow, mean)+squaresOf(g.wide, mean), float64(time.Second))
}

// fewGaps are put in order in less time and memory than their halves are counted in.
const fewGaps = 1 << halfBits

// byRank gives the value at each rank, from 0. It may put the values in order.
func byRank(values []uint32) func(rank int) float64 {
	if len(values) < fewGaps {
		sortKeys(values, make([]uint32, len(values)))
		return func(rank int) float64 { return float64(values[rank]) }
	}
	counted := rank(values)
	return func(rank int) float64 { return float64(counted.at(rank)) }
}

// momentsOf are the mean and the sum of the squared distances from it, n*sum(v^2)-sum(v)^2 over n. In integers of 128 bits that is exact, whatever the order.
func momentsOf(values []uint32) (mean, squares float64) {
	var sum, high, low uint64
	for _, v := range values {
		sum += uint64(v)
		var carry uint64
		low, carry = bits.Add64(low, uint64(v)*uint64(v), 0)
		high += carry
	}
	n := uint64(len(values))
	timesHigh, timesLow := bits.Mul64(low, n)
	timesHigh += high * n
	squareHigh, squareLow := bits.Mul64(sum, sum)
	timesLow, borrow := bits.Sub64(timesLow, squareLow, 0)
	timesHigh, _ = bits.Sub64(timesHigh, squareHigh, borrow)
	return float64(sum) / float64(n), math.Ldexp(float64(timesHigh), 64)/float64(n) + float64(timesLow)/float64(n)
}

const halfBits = 16

// ranks finds the values at a few ranks without putting all in order: by the upper halves of the values, which are counted once, and for each upper half in which a rank
// falls by the lower halves of the values that have it.
type ranks struct {
	values []uint32
	upper  []int            // how many values have each upper half
	lower  map[uint32][]int // by upper half: how many of its values have each lower half
}

func rank(values []uint32) *ranks {
	r := &ranks{values, make([]int, 1<<halfBits), map[uint32][]int{}}
	for _, v := range values {
		r.upper[v>>halfBits]++
	}
	return r
}

// at is the value at a rank, from 0.
func (r *ranks) at(rank int) uint32 {
	upper, rest := nth(r.upper, rank)
	if r.lower[upper] == nil {
		counts := make([]int, 1<<halfBits)
		for _, v := range r.values {
			if v>>halfBits == upper {
				counts[v%(1<<halfBits)]++
			}
		}
		r.lower[upper] = counts
	}
	lower, _ := nth(r.lower[upper], rest)
	return upper<<halfBits | lower
}

// nth is the key that the value at a rank has, by how many values have each key, and its rank among those.
func nth(counts []int, rank int) (key uint32, rest int) {
	for rank >= counts[key] {
		rank -= counts[key]
		key++
	}
	return key, rank
}
