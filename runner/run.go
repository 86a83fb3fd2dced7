package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"sweetspot/runner/clock"
	"sweetspot/runner/heap"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
)

// errOver is why nothing more is dispatched once the last phase is over.
var errOver = errors.New("nothing more is to be dispatched")

// engine drives one point. Its methods are spread over the files of the package by what they are for.
type engine struct {
	point Point
	deps  Deps
	clock clock.Clock
	live  *Live
	gates slots.Admission

	warmup, measured *feed
	pending          *item       // of a trace: the session that starts next; the goroutine of arrivals has it alone
	shaped           atomic.Bool // a session was more than one request at once
	probe            *workload.Request
	sink             *sink
	lanes            sync.WaitGroup // of lanes, arrivals and their trees

	dispatching    context.Context // ends when nothing more is to be dispatched
	endDispatching context.CancelCauseFunc
	loading        context.Context // of requests dispatched in warmup and the measured phase
	cutLoading     context.CancelCauseFunc
	holding        context.Context // of requests dispatched after them
	cutHolding     context.CancelCauseFunc
	mayStart       func() error    // the stop condition, bound once: a method value made per request would be an allocation
	warming        context.Context // of sessions that end with warmup
	endWarming     context.CancelCauseFunc
	mayWarm        func() error // their stop condition

	warmedUp      chan struct{} // closed at the end of warmup
	handedOver    chan struct{} // closed at the start of the measured phase
	timing        chan struct{} // closed where its duration begins to count
	measuredOver  chan struct{} // closed at its end
	measuredEnded chan struct{} // closed when every measured request has ended, too
	halted        chan struct{} // closed when the point is stopped before its time

	mu sync.Mutex
	course
}

// Run drives a point and returns what it saw, when the last request has ended. It never fails: what went wrong stands in the outcome, with every
// request that was dispatched. All goroutines that it starts have ended when it returns, provided that the Sender returns when its context is done.
func Run(ctx context.Context, point Point, deps Deps) measure.Outcome {
	if err := point.check(); err != nil {
		return measure.Outcome{Started: deps.Clock.Now(), Finished: deps.Clock.Now(), Aborted: err.Error()}
	}
	defer heap.Load()()
	e := newEngine(ctx, point, deps)
	e.prepareProbe()
	stopSupply := e.startSupply(ctx)
	e.begin()
	if ctx.Err() != nil || isClosed(deps.Stop) {
		e.interrupt(true)
	}
	e.startLoad()
	health := e.conduct(ctx)
	stopSupply()
	e.sink.close()
	return e.outcome(health)
}

func newEngine(ctx context.Context, point Point, deps Deps) *engine {
	e := &engine{
		point: point, deps: deps, clock: deps.Clock, live: deps.Live, sink: newSink(deps.Sink, deps.Clock),
		warmedUp: make(chan struct{}), handedOver: make(chan struct{}), timing: make(chan struct{}), measuredOver: make(chan struct{}), measuredEnded: make(chan struct{}), halted: make(chan struct{}),
	}
	if e.live == nil {
		e.live = new(Live)
	}
	if e.deps.Ticker == nil {
		e.deps.Ticker = clock.NewTimerTicker
	}
	kept := context.WithoutCancel(ctx) // the end of ctx is told to requests by the cause that says what becomes of them
	e.dispatching, e.endDispatching = context.WithCancelCause(context.Background())
	e.loading, e.cutLoading = context.WithCancelCause(kept)
	e.holding, e.cutHolding = context.WithCancelCause(kept)
	e.warming, e.endWarming = context.WithCancelCause(e.dispatching)
	e.mayStart, e.mayWarm = stopWith(e.dispatching), stopWith(e.warming)
	e.sink.fault = e.abort
	e.course = newCourse(point)
	return e
}

// stopWith is the stop condition of what ends with ctx.
func stopWith(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() != nil {
			return errOver
		}
		return nil
	}
}

// startSupply starts making sessions and waits until enough are there to begin with. The function it returns ends that and waits for its end.
func (e *engine) startSupply(ctx context.Context) (stop func()) {
	supplying, cancel := context.WithCancel(context.Background())
	ahead := e.point.Load.Lanes()
	switch {
	case e.point.Load.RequestRate != nil:
		ahead = int64(*e.point.Load.RequestRate) // a second of it
	case e.point.Load.ReplaySpeed != nil:
		ahead = replayAhead
	}
	var limit int64
	if e.point.ProbeTokens == 0 {
		limit = e.point.Requests // each session sends one request at least
	}
	if limit > 0 && e.point.Agentic.On() {
		limit = max(limit, ahead) // each lane begins with one
	}
	feeds := []*feed{newFeed(measure.Measured, limit, ahead)}
	e.measured = feeds[0]
	if e.phase == measure.Warmup {
		limit := e.point.WarmupRequests
		if e.point.RampUp > 0 {
			limit = 0
		}
		e.warmup = newFeed(measure.Warmup, limit, ahead)
		feeds = append(feeds, e.warmup)
	}
	var suppliers sync.WaitGroup
	for _, f := range feeds {
		suppliers.Go(func() { e.guard("making sessions", func() { e.supply(supplying, f) }) })
	}
	for _, f := range feeds {
		select {
		case <-f.filled:
		case <-e.deps.Stop:
		case <-ctx.Done():
		}
	}
	return func() {
		cancel()
		suppliers.Wait()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// startLoad starts what sends: lanes, or arrivals.
func (e *engine) startLoad() {
	if e.point.open() {
		e.lanes.Go(func() { e.guard("arrivals", e.arrivals) })
		return
	}
	for n := range e.point.Load.Lanes() {
		e.lanes.Go(func() { e.guard("a lane", func() { e.lane(n) }) })
	}
}

// guard keeps a panic from losing what was measured: it aborts the point instead.
func (e *engine) guard(what string, work func()) {
	defer func() {
		if p := recover(); p != nil {
			e.abort(fmt.Sprintf("%s panicked: %v (%s)", what, p, panicPlace()))
		}
	}()
	work()
}

// panicPlace names the function and line that panicked. It must be called from the deferred function that recovers.
func panicPlace() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	panicked := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicked = true
		case panicked && !isRuntime(frame.Function):
			return fmt.Sprintf("%s, line %d", frame.Function, frame.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}

func isRuntime(function string) bool { return len(function) > 8 && function[:8] == "runtime." }
