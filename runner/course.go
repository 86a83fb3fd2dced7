package runner

import (
	"errors"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
)

// errLowered is why a request that has its slots is not dispatched yet: the cap was lowered since they were granted.
var errLowered = errors.New("the cap was lowered")

// samples is how many requests of a phase keep a sample of their output.
const samples = 3

// course is where a point stands. The engine's mu guards it: one lock decides what phase a request belongs to, and whether it is sent at all.
type course struct {
	phase    measure.Phase
	started  clock.Instant
	burstAt  clock.Instant           // the cache warmup of agentic replay
	begun    clock.Instant           // the measured phase
	timed    clock.Instant           // from here on its duration counts, see [engine.time]
	overAt   clock.Instant           // the end of the measured phase
	issued   map[measure.Phase]int64 // dispatched
	inFlight map[measure.Phase]int64
	finished int64         // requests
	lastEnd  clock.Instant // of a measured request
	ramped   bool          // the ramp is over
	ready    int64         // lanes that have warmed the cache and wait for the measured phase
	stopped  bool          // nothing more is dispatched
	records  ledger
	spans    []measure.Span

	late, dropped int64
	asked         bool // the person wants an end
	interrupted   bool // and something is missing because of it
	aborted       string
	contextLength *int64
	contextReason string
}

func newCourse(point Point) course {
	phase := measure.Measured
	switch {
	case point.WarmupRequests > 0 || point.RampUp > 0:
		phase = measure.Warmup
	case point.Agentic.On():
		phase = measure.AgenticWarmup
	}
	return course{
		phase: phase, issued: map[measure.Phase]int64{}, inFlight: map[measure.Phase]int64{}, ramped: point.RampUp == 0,
		records: newLedger(point.WarmupRequests + point.Requests),
	}
}

// begin starts the clock of the point, with the caps of its first phase.
func (e *engine) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = e.clock.Now()
	e.live.begin(e.clock, e.point.Requests, e.started)
	e.gates.Sessions.SetLimit(limit(e.point.Load.Concurrency))
	e.gates.Prefills.SetLimit(limit(e.point.Load.PrefillConcurrency))
	switch e.phase {
	case measure.Measured:
		e.handOver(e.started)
	case measure.AgenticWarmup:
		e.burst(e.started)
	default:
		e.live.enter(e.phase)
		e.gates.Requests.SetLimit(limit(e.point.Load.WarmupCap()))
	}
}

func limit(cap *int64) int64 {
	if cap == nil {
		return slots.Unbounded
	}
	return *cap
}

// handOver begins the measured phase. What is in flight keeps its slots. The lock is held.
func (e *engine) handOver(now clock.Instant) {
	e.phase, e.begun = measure.Measured, now
	e.gates.Requests.SetLimit(limit(e.point.Load.RequestConcurrency))
	e.live.enter(e.phase)
	if e.point.open() {
		e.time(now)
	}
	close(e.handedOver)
	if !e.point.Agentic.On() {
		close(e.warmedUp)
	}
}

// time starts the clock of a duration, once: an open loop's with the measured phase, a closed loop's with its first request. There the requests of
// warmup hold every lane at first, for as long as one takes, and of that nothing is measured. The lock is held.
func (e *engine) time(now clock.Instant) {
	if !e.timed.Happened() {
		e.timed = now
		close(e.timing)
	}
}

// mayHandOver begins the next phase when warmup has dispatched its requests and the ramp is over. The lock is held.
func (e *engine) mayHandOver(now clock.Instant) {
	switch {
	case e.phase != measure.Warmup || e.stopped || !e.ramped || e.issued[measure.Warmup] < e.point.WarmupRequests:
	case e.point.Agentic.On():
		e.burst(now)
	default:
		e.handOver(now)
	}
}

// rampOver ends the ramp.
func (e *engine) rampOver() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ramped = true
	e.mayHandOver(e.clock.Now())
}

// commit decides, at the instant at which a request holds its slots, whether it is dispatched and in which phase, and makes its record. A refusal
// leaves nothing behind.
func (e *engine) commit(f *flight) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	if e.phase == measure.Measured && e.point.Duration > 0 && e.timed.Happened() && now >= e.deadline() {
		e.endMeasured(e.deadline())
	}
	if e.stopped || f.tree.brief && e.phase != measure.Warmup {
		return errOver
	}
	if e.gates.Requests.Over() {
		return errLowered
	}
	phase := e.phase
	if f.probe {
		phase = measure.Probe
	}
	e.record(f, phase, now)
	e.mayHandOver(now)
	if e.phase == measure.Measured && e.point.Requests > 0 && e.issued[measure.Measured] == e.point.Requests {
		e.endMeasured(now)
	}
	return nil
}

// deadline is where the duration ends, once [engine.time] has started it.
func (e *engine) deadline() clock.Instant { return e.timed.Add(durationOf(e.point.Duration)) }

// record makes the record of a request that is dispatched now. The lock is held.
func (e *engine) record(f *flight, phase measure.Phase, now clock.Instant) {
	r := e.records.next()
	r.Session, r.Turn, r.Lane, r.Phase = f.tree.number, f.tree.sent, f.tree.lane, phase
	r.Scheduled, r.Dispatched = f.scheduled, now
	r.RequestedPromptTokens, r.RequestedOutputTokens = asked(f.request.PromptTokens), asked(f.request.OutputTokens)
	f.record, f.sampled = r, e.issued[phase] < samples
	if phase == measure.Measured {
		e.time(now)
	}
	if e.point.open() {
		e.countLate(f, phase)
	}
	f.tree.sent++
	e.issued[phase]++
	e.inFlight[phase]++
	e.live.dispatched(phase, now)
}

// countLate counts a request of an open loop that had to wait for a slot, and an arrival that was due in the measured phase and comes after it.
// The lock is held.
func (e *engine) countLate(f *flight, phase measure.Phase) {
	arrival := f.tree.sent == 0
	switch {
	case phase == measure.Measured && (f.waited || arrival && f.tree.behind):
		e.late++
	case phase == measure.Hold && arrival && f.scheduled < e.overAt:
		e.dropped++
	}
}

func asked(tokens int64) *int64 {
	if tokens == 0 {
		return nil
	}
	return &tokens
}

// endMeasured ends the measured phase: at its last dispatch, or at its deadline. The load is kept up if the context is to be probed. The lock is
// held.
func (e *engine) endMeasured(at clock.Instant) {
	if e.overAt.Happened() {
		return
	}
	e.overAt = at
	close(e.measuredOver)
	if e.probe != nil && !e.stopped {
		e.phase = measure.Hold
		e.live.enter(e.phase)
	} else {
		e.stop()
	}
	e.mayHaveEnded()
}

// mayHaveEnded tells when the last measured request has ended. The lock is held.
func (e *engine) mayHaveEnded() {
	if !e.overAt.Happened() || e.inFlight[measure.Measured] > 0 {
		return
	}
	select {
	case <-e.measuredEnded:
	default:
		e.live.closeWindow(max(e.lastEnd, e.overAt))
		close(e.measuredEnded)
	}
}

// stop lets nothing more be dispatched. The lock is held.
func (e *engine) stop() {
	if e.stopped {
		return
	}
	e.stopped = true
	e.live.enter("")
	e.endDispatching(errOver)
}

// finish lets nothing more be dispatched, at the end of the measured phase or of the context probe.
func (e *engine) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop()
	e.endMeasured(e.clock.Now())
}

// timeUp ends the measured phase at its deadline.
func (e *engine) timeUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endMeasured(e.deadline())
}

// interrupt stops the point because the person wants that: with cut, what is in flight as well. A point of which nothing is missing any more is
// not interrupted.
func (e *engine) interrupt(cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = true
	e.interrupted = e.interrupted || !e.overAt.Happened() || cut && e.inFlight[measure.Measured] > 0
	e.halt()
}

// abort stops the point because it can't go on; the first reason counts.
func (e *engine) abort(reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.aborted == "" {
		e.aborted = reason
	}
	e.halt()
}

// halt stops the point before its time. The lock is held.
func (e *engine) halt() {
	select {
	case <-e.halted:
	default:
		close(e.halted)
	}
	e.stop()
	e.endMeasured(e.clock.Now())
}

// counted reports whether a count bounds the phase, so that failures can't go on without end.
func (e *engine) counted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch e.phase {
	case measure.Warmup:
		return e.point.RampUp == 0
	case measure.AgenticWarmup:
		return true
	case measure.Measured:
		return e.point.Requests > 0
	default:
		return false
	}
}
