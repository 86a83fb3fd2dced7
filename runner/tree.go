package runner

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
)

// tree is a session tree while it lives.
type tree struct {
	lane, number int64
	began        clock.Instant
	due          clock.Instant // the instant from which the session's turns count
	slots        slots.Held    // of the session
	failed       atomic.Bool
	sent         int64 // requests; guarded by the engine's mu
	brief        bool  // of warmup before agentic replay, with which it ends

	settleOnce sync.Once
	settled    chan struct{} // closed when the tree's first request was dispatched or refused, or is to come later; nil where nobody waits for it
	refused    bool          // it was refused; as waited, written before settled is closed
	waited     bool          // it had to wait for a slot
	behind     bool          // the tree had to wait for its session slot, or behind an arrival that had to wait; not written once the tree runs
}

// settle tells an arrival's pacer what became of it: whether its first request was refused, and whether that had to wait.
func (t *tree) settle(refused, waited bool) {
	if t.settled == nil {
		return
	}
	t.settleOnce.Do(func() {
		t.refused, t.waited = refused, waited
		close(t.settled)
	})
}

// open takes a session slot for t, waiting for it; false where nothing more shall start.
func (e *engine) open(t *tree) bool {
	err := e.gates.TryTake(&t.slots, slots.Session, e.stopOf(t))
	if errors.Is(err, slots.ErrFull) {
		t.behind = true
		err = e.gates.Take(e.until(t), &t.slots, slots.Session, e.stopOf(t))
	}
	if err != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.began = e.clock.Now()
	t.number = int64(len(e.spans))
	e.spans = append(e.spans, measure.Span{Start: t.began})
	e.live.session(1, t.began)
	return true
}

// close frees the session slot when the whole tree has ended.
func (e *engine) close(t *tree) clock.Instant {
	now := e.clock.Now()
	e.mu.Lock()
	e.spans[t.number].End = now
	e.live.session(-1, now)
	e.mu.Unlock()
	t.slots.Release()
	return now
}

// joins are the forks of a session that run, by the turn that waits for them.
type joins map[int]*sync.WaitGroup

// start counts a fork that begins. done must be called when it has ended.
func (j *joins) start(at int) (done func()) {
	if *j == nil {
		*j = joins{}
	}
	running := (*j)[at]
	if running == nil {
		running = new(sync.WaitGroup)
		(*j)[at] = running
	}
	running.Add(1)
	return running.Done
}

// wait waits for the forks that join a turn. It is false where there are none.
func (j joins) wait(turn int) bool {
	running := j[turn]
	if running == nil {
		return false
	}
	running.Wait()
	return true
}

// from is where a walk through a session begins.
type from struct {
	turn    int
	answers []workload.Answer // that came before
	first   *workload.Request // of the turn; nil where it is not made yet
	ready   clock.Instant
	pause   *time.Duration // before the turn; nil: its own
}

// walk goes through the turns of a session of t. It returns when the session and all its forks have ended.
func (e *engine) walk(t *tree, s *workload.Session, begin from) {
	answers, first, ready := begin.answers, begin.first, begin.ready
	var forks sync.WaitGroup
	defer forks.Wait()
	var joined joins
	for i := begin.turn; i < len(s.Turns); i++ {
		turn := &s.Turns[i]
		if joined.wait(i) {
			ready = e.clock.Now()
		}
		pause := e.point.capGap(turn.Delay)
		if i == begin.turn && begin.pause != nil {
			pause = *begin.pause
		}
		answer, ok := e.turn(t, turn, pause, answers, first, ready)
		if !ok {
			return
		}
		first = nil
		answers = append(answers, answer)
		ended := e.clock.Now()
		ready = ended
		for _, fork := range turn.Forks {
			var inherited []workload.Answer
			if fork.Inherits {
				inherited = answers[:len(answers):len(answers)] // what either appends is its own
			}
			done := joined.start(fork.JoinAt)
			forks.Go(func() {
				defer done()
				e.guard("a fork", func() { e.walk(t, fork.Session, from{answers: inherited, ready: ended}) })
			})
		}
	}
}

// turn makes the request of a turn, waits for its time and sends it. It is false where the session ends here. A turn that sends nothing takes no
// slot and gives an empty answer.
func (e *engine) turn(
	t *tree, turn *workload.Turn, pause time.Duration, answers []workload.Answer, request *workload.Request, ready clock.Instant,
) (workload.Answer, bool) {
	scheduled, due := ready.Add(pause), max(ready, t.began).Add(pause) // a session that waited for its slot thinks all the same
	if turn.NotBefore > 0 {
		scheduled, due = max(scheduled, t.due.Add(turn.NotBefore)), max(due, max(t.due, t.began).Add(turn.NotBefore))
	}
	if request == nil && turn.Build != nil {
		made, err := turn.Build(answers)
		if err != nil {
			e.abort(fmt.Sprintf("making request %d of session %d: %v", len(answers), t.number, err))
			return workload.Answer{}, false
		}
		request = &made
		scheduled = max(scheduled, e.clock.Now())
	}
	if pause > 0 || turn.NotBefore > 0 {
		t.settle(false, false)
	}
	if !e.sleepUntil(due, e.until(t).Done()) {
		return workload.Answer{}, false
	}
	if request == nil {
		return workload.Answer{}, true
	}
	return e.ask(&flight{engine: e, tree: t, request: *request, scheduled: scheduled})
}

// sleepUntil waits for an instant. It is false where nothing more shall be dispatched, or over is closed before; over may be nil.
func (e *engine) sleepUntil(at clock.Instant, over <-chan struct{}) bool {
	wait := at.Sub(e.clock.Now())
	if wait <= 0 {
		return e.dispatching.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.dispatching.Done():
		return false
	case <-over:
		return false
	}
}
