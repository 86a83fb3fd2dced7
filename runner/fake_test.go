package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sweetspot/runner/client"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// script is what the fake service does with one request. The zero script answers at once.
type script struct {
	prefill, decode time.Duration
	status          measure.Status // ok where empty
	panics          bool
}

// service is a fake sender in virtual time. It keeps count of what is in flight by itself, and looks at it whenever something changes.
type service struct {
	clock  clock.Clock
	plan   func(r *measure.Record, q workload.Request) script
	onSend func(s *service, r *measure.Record) // called with the lock held, when the request is counted

	mu                 sync.Mutex
	requests, prefills int64
	peakRequests       int64
	peakPrefills       int64
	sent               []string // bodies, in order
	seen               []int64  // requests in flight, at every dispatch, itself included
}

func newService(c clock.Clock, plan func(*measure.Record, workload.Request) script) *service {
	return &service{clock: c, plan: plan}
}

// steady answers every request in the same way.
func steady(prefill, decode time.Duration) func(*measure.Record, workload.Request) script {
	return func(*measure.Record, workload.Request) script { return script{prefill: prefill, decode: decode} }
}

func (s *service) Send(ctx context.Context, q workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	s.arrive(q, r)
	defer s.leave()
	does := s.plan(r, q)
	r.FinishReason = new(string(q.Body)) // so that tests can tell which request a record is of
	r.Connected = s.clock.Now()
	if does.panics {
		s.answer()
		panic("the fake service's")
	}
	failed := does.status != "" && does.status != measure.OK
	err := wait(ctx, does.prefill)
	s.answer()
	if err == nil && !(failed && does.decode == 0) {
		r.FirstToken = s.clock.Now()
		r.LastToken = r.FirstToken
		r.Chunks = append(r.Chunks, int64(r.FirstToken-r.Dispatched))
		firstToken()
		firstToken() // once more than it should: a slot is freed once all the same
		err = wait(ctx, does.decode)
	}
	sample := "sample"
	r.Ended, r.Sample = s.clock.Now(), &sample
	r.Status = does.status
	switch {
	case errors.Is(err, client.ErrCancelled):
		r.Status = measure.Cancelled
	case err != nil:
		r.Status = measure.Truncated
	case !failed:
		r.Status = measure.OK
		r.PromptTokens, r.OutputTokens = new(q.PromptTokens), new(max(q.OutputTokens, 1))
	}
	if r.Status != measure.OK {
		why := fmt.Sprintf("scripted: %v", err)
		r.Error = &why
	}
	return workload.Answer{Text: fmt.Sprintf("answer to %s", q.Body)}
}

func (s *service) arrive(q workload.Request, r *measure.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.prefills++
	s.peakRequests, s.peakPrefills = max(s.peakRequests, s.requests), max(s.peakPrefills, s.prefills)
	s.sent = append(s.sent, string(q.Body))
	s.seen = append(s.seen, s.requests)
	if s.onSend != nil {
		s.onSend(s, r)
	}
}

func (s *service) answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefills--
}

func (s *service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}

// wait sleeps, or gives the context's cause.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// single is a workload of one request a session, whose body names phase and index.
func single(phase measure.Phase, index int64) (*workload.Session, error) {
	return &workload.Session{Turns: []workload.Turn{request(fmt.Sprintf("%s %d", phase, index))}}, nil
}

func request(body string) workload.Turn {
	return workload.Turn{Build: func([]workload.Answer) (workload.Request, error) {
		return workload.Request{Body: []byte(body), PromptTokens: 10, OutputTokens: 5}, nil
	}}
}

// closed is a closed loop's load.
func closed(concurrency int64) schema.PointLoad { return schema.PointLoad{Concurrency: &concurrency} }

const second = schema.Duration(time.Second)

// drive runs a point in a bubble of virtual time and hands its outcome to check.
func drive(t *testing.T, point Point, plan func(*measure.Record, workload.Request) script, set func(*service, *Deps), check func(*testing.T, measure.Outcome, *service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		s := newService(c, plan)
		deps := Deps{Sender: s, Sessions: single, Clock: c}
		if set != nil {
			set(s, &deps)
		}
		o := Run(context.Background(), point, deps)
		if s.requests != 0 || s.prefills != 0 {
			t.Errorf("%d requests and %d prefills are in flight after the end", s.requests, s.prefills)
		}
		check(t, o, s)
	})
}

// complete fails unless the outcome is of a point that went through.
func complete(t *testing.T, o measure.Outcome) {
	t.Helper()
	if o.Aborted != "" || o.Interrupted {
		t.Errorf("aborted %q, interrupted %v", o.Aborted, o.Interrupted)
	}
}

// of gives the records of a phase.
func of(o measure.Outcome, phase measure.Phase) []measure.Record {
	var records []measure.Record
	for _, r := range o.Records {
		if r.Phase == phase {
			records = append(records, r)
		}
	}
	return records
}

// inFlight is how many requests were in flight just after an instant.
func inFlight(o measure.Outcome, at clock.Instant) int64 {
	var n int64
	for _, r := range o.Records {
		if r.Dispatched <= at && r.Ended > at {
			n++
		}
	}
	return n
}

// requestCap is the cap on requests in flight in a phase; nil where there is none.
func requestCap(load schema.PointLoad, phase measure.Phase) *int64 {
	warmup, agentic := load.WarmupRequestConcurrency, load.AgenticWarmupRequestConcurrency
	switch {
	case phase == measure.AgenticWarmup && agentic != nil:
		return agentic
	case phase != measure.Warmup && phase != measure.AgenticWarmup || warmup == nil:
		return load.RequestConcurrency
	}
	return warmup
}

// capsHeld holds that, when a request was dispatched, no more were in flight than the cap of its phase allows, itself included.
func capsHeld(o measure.Outcome, load schema.PointLoad) error {
	for i, r := range o.Records {
		var requests, prefills int64
		for _, before := range o.Records[:i+1] {
			if before.Ended > r.Dispatched || before.Index == r.Index {
				requests++
				if !before.FirstToken.Happened() || before.FirstToken > r.Dispatched || before.Index == r.Index {
					prefills++
				}
			}
		}
		if cap := requestCap(load, r.Phase); cap != nil && requests > *cap {
			return fmt.Errorf("%s request %d was dispatched as number %d at a cap of %d", r.Phase, r.Index, requests, *cap)
		}
		if cap := load.PrefillConcurrency; cap != nil && prefills > *cap {
			return fmt.Errorf("%s request %d was dispatched as prefill number %d at a cap of %d", r.Phase, r.Index, prefills, *cap)
		}
	}
	return nil
}
