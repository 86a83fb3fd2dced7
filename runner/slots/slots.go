// Package slots admits sessions, requests and prefills under three caps: who may start is decided here, and nowhere else.
//
// Each cap is a [Gate]: first come first served, no polling, limits that may change while slots are held. [Admission] takes slots of the three in
// their one order (session, request, prefill) and gives back what it took, last first, when a later one is refused. The package knows neither
// phases nor clocks; package runner says when to stop.
package slots

import (
	"context"
	"errors"
)

// ErrFull is what a non-blocking acquisition gives where a slot is not free at once, or others wait for it already.
var ErrFull = errors.New("no slot is free")

// ErrHeld is what an acquisition into a slot gives that is held already: taking it again would lose the first one.
var ErrHeld = errors.New("the slot is held already")

// Want is a set of the three dimensions.
type Want uint8

// The dimensions, in the order in which their slots are taken.
const (
	Session Want = 1 << iota // a live session tree
	Request                  // a request between its dispatch and the end of its response
	Prefill                  // a request between its dispatch and its first token
)

// Held are the slots of one session or request. The zero value holds none. It must not be copied, and each of its slots can be freed once only,
// whoever tries.
type Held struct {
	Session, Request, Prefill Slot
}

// Release frees what is held, in the opposite order of taking. Calling it again does nothing.
func (h *Held) Release() {
	h.Prefill.Release()
	h.Request.Release()
	h.Session.Release()
}

// Admission is the three gates. A new one has every gate closed: give each its limit with [Gate.SetLimit] first.
type Admission struct {
	Sessions, Requests, Prefills Gate
}

// Take waits until it holds a slot of each dimension in want, taken in their order. It calls stop before it waits and again after every grant:
// what was true when the wait began need not be true when it ends. When ctx ends or stop gives an error, it frees what it took, last first,
// and returns the context's cause or that error; it then holds nothing of want.
func (a *Admission) Take(ctx context.Context, h *Held, want Want, stop func() error) error {
	return a.take(ctx, h, want, stop, true)
}

// TryTake is [Admission.Take] without waiting: it returns [ErrFull] when a slot of any dimension in want is not free at once. A slot that
// somebody waits for is not free.
func (a *Admission) TryTake(h *Held, want Want, stop func() error) error {
	return a.take(context.Background(), h, want, stop, false)
}

func (a *Admission) take(ctx context.Context, h *Held, want Want, stop func() error, wait bool) error {
	if err := stop(); err != nil {
		return err
	}
	claims := [...]struct {
		want Want
		gate *Gate
		slot *Slot
	}{{Session, &a.Sessions, &h.Session}, {Request, &a.Requests, &h.Request}, {Prefill, &a.Prefills, &h.Prefill}}
	for i := range claims {
		if want&claims[i].want == 0 {
			continue
		}
		err := claims[i].gate.acquire(ctx, claims[i].slot, wait)
		last := i - 1
		if err == nil {
			err, last = stop(), i
		}
		if err == nil {
			continue
		}
		for ; last >= 0; last-- {
			if want&claims[last].want != 0 {
				claims[last].slot.Release()
			}
		}
		return err
	}
	return nil
}
