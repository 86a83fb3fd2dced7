package runner

import (
	"context"
	"fmt"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// start is where a lane begins inside its session.
type start struct {
	turn    int               // of the root; the turns before are not sent
	answers []workload.Answer // to them
	prefill *workload.Request // the one before, for one token; nil where there is none
	left    float64           // of the pause before the turn, 0 to 1: the rest is over
}

// startInside gives the start of the session with an index. One that sends a single request begins with that.
func (p Point) startInside(s *workload.Session, index int64) (*start, error) {
	var sending []int
	for i := range s.Turns {
		if s.Turns[i].Build != nil {
			sending = append(sending, i)
		}
	}
	if len(sending) < 2 {
		return &start{left: 1}, nil
	}
	from, to := p.Agentic.Start.From, p.Agentic.Start.To
	share := from + (to-from)*fraction(uint64(p.Seed)^startStream, index)
	last := sending[min(max(int(share*float64(len(sending))), 1), len(sending)-1)-1]
	begun := &start{turn: last + 1, answers: make([]workload.Answer, last+1), left: fraction(uint64(p.Seed)^pauseStream, index)}
	for i := range begun.answers {
		turn := &s.Turns[i]
		switch {
		case turn.Build == nil:
			continue
		case turn.Replay == nil:
			return nil, fmt.Errorf("it can't be started behind turn %d: the workload does not say what that was answered", i)
		case turn.Replay.Answer != nil:
			begun.answers[i] = turn.Replay.Answer()
		}
	}
	prefill, err := s.Turns[last].Replay.Prefill(begun.answers[:last])
	begun.prefill = &prefill
	return begun, err
}

// capGap cuts a pause of a session to the longest that the point allows.
func (p Point) capGap(gap time.Duration) time.Duration {
	if p.Agentic.On() {
		return min(gap, durationOf(p.Agentic.MaxIdleGap))
	}
	return gap
}

// burst begins the cache-warmup burst. Sessions of warmup end with the requests that they have in flight, which keep their slots. The lock is held.
func (e *engine) burst(now clock.Instant) {
	e.phase, e.burstAt = measure.AgenticWarmup, now
	e.gates.Requests.SetLimit(limit(e.point.Load.AgenticWarmupCap()))
	e.live.enter(e.phase)
	e.endWarming(errOver)
	close(e.warmedUp)
}

// resume goes on with a session from inside: it sends the turn before, waits until every lane has done so, and walks through the rest.
func (e *engine) resume(t *tree, s *workload.Session, at *start, first *workload.Request, ready clock.Instant) {
	if at.prefill != nil && !e.prefill(t, at.prefill, ready) {
		return
	}
	next := &s.Turns[at.turn]
	if first == nil && next.Build != nil { // made now, so that the measured phase does not wait for it
		request, err := next.Build(at.answers)
		if err != nil {
			e.abort(fmt.Sprintf("making request %d of session %d: %v", at.turn, t.number, err))
			return
		}
		first = &request
	}
	e.arrived()
	select {
	case <-e.handedOver:
	case <-e.dispatching.Done():
		return
	}
	pause := time.Duration(at.left * float64(e.point.capGap(next.Delay)))
	e.walk(t, s, from{turn: at.turn, answers: at.answers, first: first, ready: e.measuredStart(), pause: &pause})
}

// prefill sends a request of the burst. One that fails fails the point: what follows would not be measured on a warm cache. A single token may well
// have no text, so an empty answer is as good as any.
func (e *engine) prefill(t *tree, request *workload.Request, ready clock.Instant) bool {
	f := &flight{engine: e, tree: t, request: *request, scheduled: max(ready, e.burstStart())}
	_, ok := e.ask(f)
	if r := f.record; r != nil && r.Status == measure.Empty {
		t.failed.Store(false)
		return true
	}
	if !ok && f.record != nil && e.dispatching.Err() == nil {
		e.abort(fmt.Sprintf("the cache warmup of session %d ended with %s", t.number, describe(f.record)))
	}
	return ok
}

// describe says how a request ended.
func describe(r *measure.Record) string {
	if r.Error == nil {
		return string(r.Status)
	}
	return fmt.Sprintf("%s: %s", r.Status, *r.Error)
}

func (e *engine) burstStart() clock.Instant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.burstAt
}

// arrived counts a lane that is ready to go on with its session. The last begins the measured phase.
func (e *engine) arrived() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready++; e.ready == e.point.Load.Lanes() && !e.stopped {
		e.handOver(e.clock.Now())
	}
}

// until ends when nothing more of t is to be dispatched: with the point, or for a session of warmup before agentic replay with that phase.
func (e *engine) until(t *tree) context.Context {
	if t.brief {
		return e.warming
	}
	return e.dispatching
}

// stopOf is the stop condition of t.
func (e *engine) stopOf(t *tree) func() error {
	if t.brief {
		return e.mayWarm
	}
	return e.mayStart
}

// checkAgentic says why agentic replay can't be had; nil where it can, or is not asked for.
func (p Point) checkAgentic() error {
	switch a := p.Agentic; {
	case a == schema.Agentic{}:
		return nil
	case p.open():
		return fmt.Errorf("agentic replay needs a closed loop: its lanes start inside their sessions")
	case !(a.Start.From >= 0 && a.Start.From <= a.Start.To && a.Start.To > 0 && a.Start.To <= 1), a.MaxIdleGap < 0:
		return fmt.Errorf("agentic replay starts between two shares from 0 to 1, not from %v to %v", a.Start.From, a.Start.To)
	}
	return nil
}
