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
	if e.warmup != nil {
		e.arrive(e.offsets(e.warmup, durationOf(e.point.RampUp), warmupStream), e.started, e.warmup)
	}
	select {
	case <-e.handedOver:
	case <-e.dispatching.Done():
		return
	}
	e.arrive(e.offsets(e.measured, 0, measuredStream), e.measuredStart(), e.measured)
}

// offsets is when the sessions of a phase are due since its start: drawn, or those of a trace.
func (e *engine) offsets(f *feed, ramp time.Duration, stream uint64) iter.Seq[time.Duration] {
	if rate := e.point.Load.RequestRate; rate != nil {
		return e.point.Arrivals.Offsets(*rate, ramp, uint64(e.point.Seed)^stream)
	}
	return func(yield func(time.Duration) bool) { e.replay(f, yield) }
}

// replay gives when each session of a trace is due, which is made by then: a trace is not read while a request waits to be sent. When nothing more
// is dispatched, it goes on with what else was due.
func (e *engine) replay(f *feed, yield func(time.Duration) bool) {
	n := int64(0)
	if e.pending != nil && e.pending.phase == measure.Warmup && f.phase != measure.Warmup {
		e.pending = nil // it was to start when warmup ended
	}
	for ; f.limit == 0 || n < f.limit; n++ {
		if e.pending == nil {
			made, ok := e.take()
			if !ok {
				break
			}
			e.pending = &made
		}
		if e.pending.phase != f.phase { // warmup is over
			return
		}
		if !yield(e.pending.session.Due) {
			return
		}
		if e.pending != nil { // it was not started: nothing more is
			n++
			break
		}
	}
	if n == f.limit && f.limit > 0 {
		return
	}
	for due := range e.deps.Due(f.phase, n) {
		if !yield(due) {
			return
		}
	}
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
	next, ok := e.starting()
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

// starting is the session that starts now.
func (e *engine) starting() (item, bool) {
	if e.pending == nil {
		return e.take()
	}
	next := *e.pending
	e.pending = nil
	return next, true
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
