package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"sweetspot/runner/client"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// flight is one request from its asking for slots to its end.
type flight struct {
	engine    *engine
	tree      *tree
	request   workload.Request
	scheduled clock.Instant
	probe     bool // the context probe

	slots   slots.Held
	waited  bool            // its slots were not free at once
	record  *measure.Record // from its dispatch on
	sampled bool            // keeps its sample of the output
	token   atomic.Bool     // the first token came
}

// ask takes the slots of a request, sends it, and frees them. It is false where the request was not dispatched or was not ok.
func (e *engine) ask(f *flight) (workload.Answer, bool) {
	if err := e.admit(f); err != nil {
		f.tree.settle(true, f.waited)
		return workload.Answer{}, false
	}
	f.tree.settle(false, f.waited)
	answer := f.send()
	if f.record.Status.Failed() {
		f.tree.failed.Store(true)
	}
	return answer, f.record.Status == measure.OK
}

// admit returns when f holds its slots and is dispatched.
func (e *engine) admit(f *flight) error {
	const want = slots.Request | slots.Prefill
	for {
		err := e.gates.TryTake(&f.slots, want, e.stopOf(f.tree))
		if errors.Is(err, slots.ErrFull) {
			f.waited = true
			err = e.gates.Take(e.until(f.tree), &f.slots, want, e.stopOf(f.tree))
		}
		if err != nil {
			return err
		}
		if err = e.commit(f); err == nil {
			return nil
		}
		f.slots.Release()
		if !errors.Is(err, errLowered) {
			return err
		}
		f.waited = true
	}
}

// send hands the request to the transport and sees it through. Whatever the sender does, a panic included, the request ends and its slots are
// freed.
func (f *flight) send() (answer workload.Answer) {
	ctx, release := f.context()
	defer release()
	defer f.end()
	defer func() {
		if p := recover(); p != nil {
			reason := fmt.Sprintf("sending a request panicked: %v (%s)", p, panicPlace())
			f.record.Status, f.record.Error = measure.StreamError, &reason
			f.engine.abort(reason)
		}
	}()
	return f.engine.deps.Sender.Send(ctx, f.request, f.record, f.firstToken)
}

// context is what the request is sent with. Only one that shall be cancelled has its own.
func (f *flight) context() (context.Context, context.CancelFunc) {
	parent := f.engine.loading
	if f.record.Phase == measure.Hold || f.record.Phase == measure.Probe {
		parent = f.engine.holding
	}
	if f.probe || f.record.Phase == measure.AgenticWarmup || !f.engine.point.cancels(f.record.Index) {
		return parent, func() {}
	}
	return context.WithTimeoutCause(parent, durationOf(f.engine.point.Cancel.After), client.ErrCancelled)
}

func durationOf(d schema.Duration) time.Duration { return time.Duration(d) }

// cancels says whether the request with an index is one of those to be cancelled: a draw of its own for each, so that it does not depend on what
// became of others.
func (p Point) cancels(index int64) bool {
	return p.Cancel.Share > 0 && fraction(uint64(p.Seed), index) < p.Cancel.Share
}

// fraction is a number from 0 to below 1 for each index: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), and its upper 53 bits.
func fraction(seed uint64, index int64) float64 {
	z := seed + (uint64(index)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// firstToken frees the prefill slot.
func (f *flight) firstToken() {
	if !f.token.CompareAndSwap(false, true) {
		return
	}
	at := f.record.FirstToken
	if !at.Happened() {
		at = f.engine.clock.Now()
	}
	f.engine.live.firstToken(at)
	f.slots.Prefill.Release()
}

// end completes the record, counts it and frees the slots. What is shown is counted down first, so that it is never above a cap.
func (f *flight) end() {
	e, r := f.engine, f.record
	if !r.Ended.Happened() {
		r.Ended = e.clock.Now()
	}
	if !f.sampled {
		r.Sample = nil
	}
	e.live.ended(r, f.token.CompareAndSwap(false, true))
	e.mu.Lock()
	e.finished++
	e.inFlight[r.Phase]--
	if r.Phase == measure.Measured {
		e.lastEnd = max(e.lastEnd, r.Ended)
		e.mayHaveEnded()
	}
	e.mu.Unlock()
	f.slots.Release()
	e.sink.add(r)
}
