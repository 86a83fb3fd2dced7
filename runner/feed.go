package runner

import (
	"context"
	"fmt"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// ahead is how many sessions of a phase are made ahead of the load: as many as can start at once, within reason.
const (
	leastAhead  = 16
	mostAhead   = 1024
	replayAhead = 256 // of a trace, which comes in bursts
)

// item is a session made ahead, with its first request.
type item struct {
	phase   measure.Phase // for which it was made
	session *workload.Session
	first   *workload.Request // of the root's first turn; nil where that sends nothing
	start   *start            // where the session begins inside; nil where it does not
	brief   bool              // it ends with warmup
}

// feed makes the sessions of one phase ahead of the load, so that no lane waits for a prompt to be written.
type feed struct {
	phase  measure.Phase
	limit  int64 // sessions to make; 0: as many as are taken
	items  chan item
	filled chan struct{} // closed when as many as shall be made ahead have been, or no more will be
}

func newFeed(phase measure.Phase, limit, ahead int64) *feed {
	ahead = min(max(ahead, leastAhead), mostAhead)
	if limit > 0 {
		ahead = min(ahead, limit)
	}
	return &feed{phase: phase, limit: limit, items: make(chan item, ahead), filled: make(chan struct{})}
}

// supply makes sessions until ctx ends or the limit is reached; then it closes items.
func (e *engine) supply(ctx context.Context, f *feed) {
	defer close(f.items)
	full := false
	fill := func() {
		if !full {
			full = true
			close(f.filled)
		}
	}
	defer fill()
	for index := int64(0); f.limit == 0 || index < f.limit; index++ {
		made, err := e.prepare(f.phase, index)
		if err != nil {
			e.abort(fmt.Sprintf("making session %d of the %s phase: %v", index, f.phase, err))
			return
		}
		select {
		case f.items <- made:
			continue
		default:
			fill()
		}
		select {
		case f.items <- made:
		case <-ctx.Done():
			return
		}
	}
}

// prepare makes a session and its first request.
func (e *engine) prepare(phase measure.Phase, index int64) (item, error) {
	session, err := e.deps.Sessions(phase, index)
	if err != nil {
		return item{}, err
	}
	if !sends(session) {
		return item{}, fmt.Errorf("it has no request")
	}
	if !plain(session) {
		e.shaped.Store(true)
	}
	made := item{phase: phase, session: session, brief: e.point.Agentic.On() && phase == measure.Warmup}
	if e.point.Agentic.On() && phase == measure.Measured && index < e.point.Load.Lanes() {
		if made.start, err = e.point.startInside(session, index); err != nil || made.start.turn > 0 {
			return made, err
		}
	}
	if build := session.Turns[0].Build; build != nil {
		request, err := build(nil)
		if err != nil {
			return item{}, err
		}
		made.first = &request
	}
	return made, nil
}

// sends reports whether a tree has a turn that sends something. One that does not would let a lane spin.
func sends(s *workload.Session) bool {
	for i := range s.Turns {
		if s.Turns[i].Build != nil {
			return true
		}
		for _, fork := range s.Turns[i].Forks {
			if sends(fork.Session) {
				return true
			}
		}
	}
	return false
}

// plain reports whether a session is one request at once, so that a lane always has one in flight.
func plain(s *workload.Session) bool {
	return len(s.Turns) == 1 && s.Turns[0].Delay == 0 && len(s.Turns[0].Forks) == 0
}

// take gives the next session of the phase in which the point is: once all of warmup's are taken it waits for the end of that phase. It is false
// when nothing more shall start, or there is none left.
func (e *engine) take() (item, bool) {
	select {
	case <-e.warmedUp:
	default:
		select {
		case made, ok := <-e.warmup.items:
			if ok {
				return made, true
			}
			select {
			case <-e.warmedUp:
			case <-e.dispatching.Done():
				return item{}, false
			}
		case <-e.warmedUp:
		case <-e.dispatching.Done():
			return item{}, false
		}
	}
	select {
	case made, ok := <-e.measured.items:
		return made, ok
	case <-e.dispatching.Done():
		return item{}, false
	}
}
