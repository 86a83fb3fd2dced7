package runner

import (
	"iter"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// Streams of random numbers that are drawn from a point's seed.
const (
	warmupStream   = 0x77617266
	measuredStream = 0x6d656173
	startStream    = 0x73746172 // of where lanes start inside their sessions
	pauseStream    = 0x70617573 // of what is left of the pause there
)

// arrivals starts a session at each instant of the schedule: open loop. The schedule of a phase is computed from the phase's start and knows
// nothing of the load, so whoever has to wait for a slot shows it in the time from scheduled to dispatched.
//
// One goroutine starts them all, in order, and waits with each until its first request is dispatched: arrivals that wait behind it are instants
// not yet looked at, and take no memory.
func (e *engine) arrivals() {
	rate, arrivals, seed := *e.point.Load.RequestRate, e.point.Arrivals, uint64(e.point.Seed)
	if e.warmup != nil {
		e.arrive(arrivals.Offsets(rate, durationOf(e.point.RampUp), seed^warmupStream), e.started, e.warmup)
	}
	select {
	case <-e.handedOver:
	case <-e.dispatching.Done():
		return
	}
	e.arrive(arrivals.Offsets(rate, 0, seed^measuredStream), e.measuredStart(), e.measured)
}

func (e *engine) measuredStart() clock.Instant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// arrive starts the sessions of one phase. Arrivals that were due in the measured phase and were not dispatched in it are dropped.
func (e *engine) arrive(offsets iter.Seq[time.Duration], start clock.Instant, f *feed) {
	var n int64
	var blocked clock.Instant // until then an earlier arrival had to wait for a slot
	going := true
	for offset := range offsets {
		if f.limit > 0 && n == f.limit {
			return
		}
		n++
		at := start.Add(offset)
		if going {
			if blocked, going = e.arrival(at, blocked, f); going {
				continue
			}
		}
		if f.phase == measure.Warmup || !e.drop(at) {
			return
		}
	}
}

// arrival waits for an instant, starts a session and waits until its first request is dispatched; false where it was not, or warmup is over.
func (e *engine) arrival(at, blocked clock.Instant, f *feed) (clock.Instant, bool) {
	var over chan struct{}
	if f.phase == measure.Warmup {
		over = e.handedOver
	}
	if !e.sleepUntil(at, over) {
		return blocked, false
	}
	next, ok := e.take()
	if !ok {
		return blocked, false
	}
	t := &tree{settled: make(chan struct{}), behind: at < blocked}
	if !e.open(t) {
		return blocked, false
	}
	t.lane = t.number
	e.lanes.Go(func() { e.guard("a session", func() { e.run(t, next, at) }) })
	<-t.settled
	if t.behind || t.waited {
		blocked = e.clock.Now()
	}
	return blocked, !t.refused
}

// drop counts an arrival that was not dispatched; false where it was not due in the measured phase.
func (e *engine) drop(at clock.Instant) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at >= e.overAt {
		return false
	}
	e.dropped++
	return true
}
