package runner

import (
	"context"
	"fmt"
	"iter"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/pacer"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// Point is one measurement to make. It is all that the runner must know, and can be written and read as JSON.
type Point struct {
	Load           schema.PointLoad `json:"load"`
	Requests       int64            `json:"requests,omitempty"` // measured requests to dispatch; 0 where Duration alone bounds the measured phase
	Duration       schema.Duration  `json:"duration,omitempty"` // of the measured phase, the most beside Requests; 0 where they alone bound it
	WarmupRequests int64            `json:"warmup_requests"`    // dispatched before the measured phase
	RampUp         schema.Duration  `json:"ramp_up,omitempty"`  // the load rises for so long from nothing in a straight line, before the measured phase
	DrainTimeout   schema.Duration  `json:"drain_timeout"`      // requests still in flight so long after the last dispatch are cut
	ProbeTokens    int64            `json:"probe_tokens,omitempty"`
	Agentic        schema.Agentic   `json:"agentic,omitzero"`  // where lanes start inside their sessions, in a closed loop; zero: at their first turns
	Arrivals       pacer.Arrivals   `json:"arrivals,omitzero"` // of sessions, in an open loop
	Cancel         Cancel           `json:"cancel,omitzero"`
	Seed           int64            `json:"seed"` // of arrivals and cancellations
}

// Cancel asks that some requests be cancelled, to see how a service bears it.
type Cancel struct {
	Share float64         `json:"share"` // of requests, 0 to 1, drawn by the seed from all phases; the context probe is never among them
	After schema.Duration `json:"after"` // since the dispatch; requests that ended before are what they are
}

// open reports whether sessions start at given instants.
func (p Point) open() bool { return p.Load.Open() }

// check says why the point can't be run; nil where it can.
func (p Point) check() error {
	switch {
	case p.Load.RequestRate != nil && p.Load.ReplaySpeed != nil:
		return fmt.Errorf("a point has a request_rate or a replay_speed, not both")
	case p.Load.RequestRate != nil && !(*p.Load.RequestRate > 0):
		return fmt.Errorf("request_rate must be above 0, not %v", *p.Load.RequestRate)
	case p.Load.ReplaySpeed != nil && !(*p.Load.ReplaySpeed > 0):
		return fmt.Errorf("replay_speed must be above 0, not %v", *p.Load.ReplaySpeed)
	case p.Load.RequestRate != nil && p.Arrivals.Check() != nil:
		return p.Arrivals.Check()
	case !p.open() && p.Load.Lanes() < 1:
		return fmt.Errorf("a closed loop needs concurrency or request_concurrency")
	case p.Requests < 0, p.Duration < 0, p.Requests == 0 && p.Duration == 0:
		return fmt.Errorf("a point needs requests or duration, above 0")
	case p.WarmupRequests < 0, p.RampUp < 0, p.DrainTimeout < 0, p.ProbeTokens < 0, p.Cancel.After < 0:
		return fmt.Errorf("counts and times must not be below 0")
	case !(p.Cancel.Share >= 0 && p.Cancel.Share <= 1):
		return fmt.Errorf("the share of cancelled requests must be from 0 to 1, not %v", p.Cancel.Share)
	}
	return p.checkAgentic()
}

// Sender sends one request and returns when its response has ended, however it did. It fills in r from Connected on, calls firstToken when the
// first token came, and must return soon after ctx is done: with the cause client.ErrCancelled the request is cancelled, with client.ErrDrained
// truncated.
type Sender interface {
	Send(ctx context.Context, request workload.Request, r *measure.Record, firstToken func()) workload.Answer
}

// Deps are what a point is driven with.
type Deps struct {
	Sender Sender
	// Sessions makes a session of a phase, warmup or measured. It is called from one goroutine per phase, ahead of the load, for index 0, 1, …; the
	// hold phase goes on with those of the measured one, with the first of which agentic replay warms the cache. An error aborts the point.
	Sessions func(phase measure.Phase, index int64) (*workload.Session, error)
	// Due gives when the sessions of a phase from an index on are due, since the phase's start, at the point's replay_speed. It is asked for once nothing more is
	// dispatched, to count what was due and never sent; nil but where there is a replay_speed.
	Due func(phase measure.Phase, from int64) iter.Seq[time.Duration]
	// Probe makes the request that fills the context of Point.ProbeTokens. It is called once, before the load, and not at all without ProbeTokens.
	Probe func() (workload.Request, error)
	Clock clock.Clock
	// Ticker makes what wakes the goroutine that finds out whether the client keeps up; nil: Go's timers, which go by a bubble's time in one.
	Ticker func(period time.Duration) clock.Ticker
	Live   *Live // shows how the point stands; nil: nobody looks
	// Sink is given each request when it has ended, from one goroutine, in the order of their ends; nil: nobody takes them. However long it takes, the load goes on.
	// The record is not changed any more and stays the outcome's.
	Sink func(*measure.Record)
	Stop <-chan struct{} // closed: start nothing new, and drain. The context's end, by contrast, ends everything at once
}
