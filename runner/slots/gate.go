package slots

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// Unbounded is the limit of a cap that is not set.
const Unbounded = math.MaxInt64

// Gate is one cap: at most limit slots are held at once, and who comes first gets the next. Its zero value is closed (a limit of 0).
//
// A slot that is freed goes to the head of the queue under the same lock, so it can neither be lost nor overtaken, and a waiter sleeps until
// it holds its slot.
type Gate struct {
	mu           sync.Mutex
	limit        int64
	held         int64
	taken, freed int64
	waiting      int64
	first, last  *waiter
}

// waiter is one place in a gate's queue. The channel is closed when the slot is the waiter's.
type waiter struct {
	granted    chan struct{}
	prev, next *waiter
}

// State is a reading of a gate. Taken less Freed is Held.
type State struct {
	Limit, Held, Waiting int64
	Taken, Freed         int64 // since the gate was made
}

// SetLimit changes how many slots may be held; a negative limit is 0. Raising it wakes as many waiters as now fit, in order. Lowering it takes
// no slot away: those held run out, and none is granted before fewer than limit are left.
func (g *Gate) SetLimit(limit int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(0, limit)
	g.grant()
}

// Over reports whether more slots are held than the limit allows, as they are for a while after it was lowered. Someone who was granted a slot
// before and has not used it yet should give it back and queue again.
func (g *Gate) Over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held > g.limit
}

// State reads the gate.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return State{Limit: g.limit, Held: g.held, Waiting: g.waiting, Taken: g.taken, Freed: g.freed}
}

// acquire puts a slot of g into s. Where none is free it waits for one, or returns ErrFull if wait is false.
func (g *Gate) acquire(ctx context.Context, s *Slot, wait bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.gate.Load() != nil {
		return ErrHeld
	}
	w, ok := g.enter(wait)
	if !ok {
		return ErrFull
	}
	if w != nil {
		select {
		case <-w.granted:
		case <-ctx.Done():
			g.leave(w)
			return context.Cause(ctx)
		}
	}
	s.gate.Store(g)
	return nil
}

// enter takes a slot if one is free; otherwise, if wait, it joins the queue and returns its place there.
func (g *Gate) enter(wait bool) (w *waiter, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held < g.limit { // then nobody waits: a free slot went to the queue's head when it was freed
		g.held++
		g.taken++
		return nil, true
	}
	if !wait {
		return nil, false
	}
	w = &waiter{granted: make(chan struct{}), prev: g.last}
	if g.last == nil {
		g.first = w
	} else {
		g.last.next = w
	}
	g.last = w
	g.waiting++
	return w, true
}

// leave gives up a place in the queue. Where the slot was granted in the meantime, it goes on to the next.
func (g *Gate) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.granted:
		g.free()
	default:
		g.unlink(w)
	}
}

// grant gives free slots to the head of the queue. The lock is held.
func (g *Gate) grant() {
	for g.first != nil && g.held < g.limit {
		w := g.first
		g.unlink(w)
		g.held++
		g.taken++
		close(w.granted)
	}
}

// free takes back a slot. The lock is held.
func (g *Gate) free() {
	g.held--
	g.freed++
	g.grant()
}

// unlink takes w out of the queue. The lock is held.
func (g *Gate) unlink(w *waiter) {
	if w.prev == nil {
		g.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		g.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	g.waiting--
}

// Slot is room for one slot of a gate. Its zero value is empty. It must not be copied (go vet says so): it is what makes it impossible to free a
// slot twice, however many try at once.
type Slot struct {
	gate atomic.Pointer[Gate] // nil: empty
}

// Release frees the slot and reports whether it was held: of any number of calls, from any goroutines, exactly one does.
func (s *Slot) Release() bool {
	g := s.gate.Swap(nil)
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free()
	return true
}
