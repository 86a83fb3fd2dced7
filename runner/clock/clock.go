// Package clock reads the monotonic clock that every instant is stamped with, and wakes goroutines by it.
//
// An [Instant] is a reading of CLOCK_MONOTONIC, which counts from the machine's start and is never stepped, so the stamps of two processes on
// one machine can be compared. The package knows nothing of what is stamped.
package clock

import "time"

// Instant is a reading of the machine's monotonic clock in nanoseconds. The clock never reads 0, so the zero Instant is one that did not
// happen; it is null wherever results are written.
type Instant int64

// Happened reports whether the instant was stamped.
func (i Instant) Happened() bool { return i != 0 }

// Sub is the time from earlier to i. Both must have happened.
func (i Instant) Sub(earlier Instant) time.Duration { return time.Duration(i - earlier) }

// Add is the instant d later. The instant must have happened.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// SecondsSince is the time from earlier to i in seconds, nil unless both happened.
func (i Instant) SecondsSince(earlier Instant) *float64 {
	if !i.Happened() || !earlier.Happened() {
		return nil
	}
	s := i.Sub(earlier).Seconds()
	return &s
}

// Clock reads instants. Its zero value is not usable; a copy reads the same time.
type Clock struct {
	origin time.Time
	base   Instant
	id     string
}

// New returns a clock that reads the machine's monotonic clock.
//
// The offset between Go's own monotonic reading and the machine's is taken once, between the two closest of a few bracketed reads; from then
// on a reading costs one [time.Since]. Inside a testing/synctest bubble the clock follows the bubble's time.
func New() Clock {
	best := Clock{id: machineID()}
	narrowest := time.Duration(1<<63 - 1)
	for range 16 {
		before := time.Now()
		reading := monotonic()
		width := time.Since(before)
		if width < narrowest {
			narrowest, best.origin, best.base = width, before, reading-Instant(width/2)
		}
	}
	return best
}

// Now reads the clock.
func (c Clock) Now() Instant { return c.base + Instant(time.Since(c.origin)) }

// At is the instant of a time that [time.Now] gave.
func (c Clock) At(t time.Time) Instant { return c.base + Instant(t.Sub(c.origin)) }

// ZeroUTC is the wall-clock time at which the monotonic clock read zero, as the wall clock saw it when c was made. It dates results; no
// latency is computed from it.
func (c Clock) ZeroUTC() time.Time { return c.origin.Add(-time.Duration(c.base)).UTC().Round(0) }

// ID names the clock: instants with the same ID, and no others, can be compared. It changes when the machine is started anew.
func (c Clock) ID() string { return c.id }
