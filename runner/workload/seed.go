package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"sweetspot/runner/measure"
)

// Seed is what a point's prompts are drawn from.
//
// Lengths come from Load, Point and Repeat, and so are equal across trials; the text adds Trial; the nonce of an isolated prompt adds Run and
// Attempt. With equal seeds and specifications the text is the same on every machine.
type Seed struct {
	Load    int64  // load.seed of the preset
	Point   string // names the point's load; equal across trials
	Repeat  int64
	Trial   string // the trial's name
	Run     string // the run's id
	Attempt int64  // which try at this repeat: a resumed run must not meet the prompts that its killed attempt left in a cache
}

// lengths is the key of lengths, delays and the shapes of sessions.
func (s Seed) lengths() key { return newKey("lengths", decimal(s.Load), s.Point, decimal(s.Repeat)) }

// Arrivals is the seed of when requests start and which are cancelled: as lengths, equal across trials.
func (s Seed) Arrivals() int64 {
	return int64(newKey("arrivals", decimal(s.Load), s.Point, decimal(s.Repeat)).high)
}

// text is the key of the words.
func (s Seed) text() key { return newKey("text", decimal(s.Load), s.Point, decimal(s.Repeat), s.Trial) }

// fixed is the key of the one prompt that all points and trials share.
func (s Seed) fixed() key { return newKey("fixed", decimal(s.Load)) }

// prefix is the key of the prefix that the prompts of a trial share.
func (s Seed) prefix() key { return newKey("prefix", decimal(s.Load), s.Trial) }

// nonces is the key of the order of a nonce's words.
func (s Seed) nonces() key {
	return newKey("nonces", decimal(s.Load), s.Point, decimal(s.Repeat), s.Trial, s.Run, decimal(s.Attempt))
}

// nonceWords is the key of the choice of a run's nonce words.
func (s Seed) nonceWords() key { return newKey("nonce words", s.Run) }

// place is the position of a session within its source: its index above phaseBits, its phase below.
type place uint64

const (
	phaseBits  = 3
	indexLimit = 1 << 44
)

// The phases of places. Their numbers are part of every prompt.
const (
	inWarmup place = iota
	inMeasured
	inHold
	inProbe
	inContextProbe
	inCalibration
)

func placeOf(phase measure.Phase, index int64) (place, error) {
	if index < 0 || index >= indexLimit {
		return 0, fmt.Errorf("making session %d: the index must be from 0 to %d", index, int64(indexLimit)-1)
	}
	in, ok := phases[phase]
	if !ok {
		return 0, fmt.Errorf("making session %d: no phase is called %q", index, phase)
	}
	return place(index)<<phaseBits + in, nil
}

var phases = map[measure.Phase]place{measure.Warmup: inWarmup, measure.Measured: inMeasured, measure.Hold: inHold, measure.Probe: inProbe}

// key seeds streams of random numbers.
type key struct{ high, low uint64 }

// newKey hashes a label and parts, each quoted, so that different parts never run together into one text.
func newKey(label string, parts ...string) key {
	text := strconv.AppendQuote(nil, label)
	for _, part := range parts {
		text = strconv.AppendQuote(text, part)
	}
	sum := sha256.Sum256(text)
	return key{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// stream is the sequence of random numbers of the key at a place.
func (k key) stream(at place) *stream {
	x := mix(uint64(at))
	return &stream{*rand.NewPCG(k.high^x, k.low+x)}
}

// hash is a random number for each x.
func (k key) hash(x uint64) uint64 { return mix(k.high ^ mix(k.low^x)) }

// stream is a sequence of random numbers that is the same on every machine: only integers, and none of math/rand's methods, whose way from the
// generator's bits to a number may change.
type stream struct{ pcg rand.PCG }

// below draws a number from 0 to n-1. Its bias is n in 2^64.
func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(high)
}

// pick draws one of list.
func (s *stream) pick(list []string) string { return list[s.below(len(list))] }

// mix spreads the bits of x (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
