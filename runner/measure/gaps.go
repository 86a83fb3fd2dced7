package measure

import (
	"math"
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

// describe gives the statistics in seconds, and puts the gaps in order.
func (g *gaps) describe() Dist {
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
