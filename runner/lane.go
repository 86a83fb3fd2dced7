package runner

import (
	"time"

	"sweetspot/runner/clock"
)

// failurePause is how long after the start of a session that failed its lane starts the next one, where only time bounds the phase.
const failurePause = 100 * time.Millisecond

// lane runs one session tree after another: closed loop. It is ready again the moment a tree has ended.
func (e *engine) lane(n int64) {
	ready := e.started.Add(durationOf(e.point.RampUp) * time.Duration(n) / time.Duration(e.point.Load.Lanes()))
	if !e.sleepUntil(ready, nil) {
		return
	}
	for {
		next, ok := e.take()
		if !ok {
			return
		}
		t := &tree{lane: n, brief: next.brief}
		if !e.open(t) {
			if e.dispatching.Err() == nil {
				continue // warmup alone is over
			}
			return
		}
		ready = e.run(t, next, ready)
		if t.failed.Load() && !e.counted() {
			ready = max(ready, t.began.Add(failurePause))
			if !e.sleepUntil(ready, nil) {
				return
			}
		}
	}
}

// run walks a whole tree and gives the instant of its end.
func (e *engine) run(t *tree, next item, ready clock.Instant) (ended clock.Instant) {
	defer func() { ended = e.close(t) }()
	defer t.settle(true, false) // of one that ended before it came to its first request
	t.due = ready
	if next.start != nil {
		e.resume(t, next.session, next.start, next.first, ready)
		return
	}
	e.walk(t, next.session, from{first: next.first, ready: ready})
	return
}
