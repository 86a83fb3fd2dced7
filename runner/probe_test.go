package runner

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// contextProbe is a probe of 100 tokens.
func contextProbe() (workload.Request, error) {
	return workload.Request{Body: []byte("probe"), PromptTokens: 90, OutputTokens: 10}, nil
}

func TestTheContextProbeIsSentUnderLoadOnceNothingMeasuredIsInFlight(t *testing.T) {
	plan := func(r *measure.Record, q workload.Request) script {
		if r.Phase == measure.Probe {
			return script{prefill: 5 * time.Second, decode: time.Second}
		}
		return uneven(r, q)
	}
	load := schema.PointLoad{Concurrency: positive(4), RequestConcurrency: positive(4), PrefillConcurrency: positive(4)}
	point := Point{Load: load, Requests: 40, WarmupRequests: 4, ProbeTokens: 100, DrainTimeout: 10 * second}
	set := func(_ *service, d *Deps) { d.Probe = contextProbe }
	drive(t, point, plan, set, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		probes, measured, hold := of(o, measure.Probe), of(o, measure.Measured), of(o, measure.Hold)
		if len(probes) != 1 || len(measured) != 40 || len(hold) == 0 {
			t.Fatalf("%d probes, %d measured, %d hold requests", len(probes), len(measured), len(hold))
		}
		if o.ContextLength == nil || *o.ContextLength != 100 || o.ContextLengthReason != "" {
			t.Errorf("context length %v, reason %q, want 100", o.ContextLength, o.ContextLengthReason)
		}
		p := probes[0]
		for _, r := range measured {
			if r.Ended > p.Dispatched {
				t.Errorf("request %d was still measured when the probe was dispatched", r.Index)
			}
		}
		for at := p.Dispatched; at < p.Ended; at = at.Add(100 * time.Millisecond) {
			if n := inFlight(o, at); n != 4 {
				t.Fatalf("%d in flight %v after the probe's dispatch, want 4", n, at.Sub(p.Dispatched))
			}
		}
		if s.peakRequests != 4 {
			t.Errorf("%d in flight at a cap of 4", s.peakRequests)
		}
		row := measure.Summarize(o, load, schema.Limits{})
		if row.Issued != 40 || *row.ContextLength != 100 {
			t.Errorf("%d issued, context length %d", row.Issued, *row.ContextLength)
		}
	})
}

func TestWhatAContextProbeShows(t *testing.T) {
	for _, c := range []struct {
		name   string
		wanted int64
		probe  func() (workload.Request, error)
		does   script
		length *int64
		reason string
	}{
		{"filled", 100, contextProbe, script{}, positive(100), ""},
		{"shorter", 120, contextProbe, script{}, positive(100), "the context probe filled 100 of 120 tokens"},
		{"refused", 100, contextProbe, script{status: measure.HTTPError}, nil, "the context probe ended with http_error: scripted: <nil>"},
		{"not made", 100, func() (workload.Request, error) { return workload.Request{}, context.Canceled }, script{}, nil, "making the context probe: context canceled"},
		{"panics", 100, contextProbe, script{panics: true}, nil, "the context probe ended with stream_error: sending a request panicked: the fake service's ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := func(r *measure.Record, q workload.Request) script {
				if r.Phase == measure.Probe {
					return c.does
				}
				return script{decode: time.Second}
			}
			point := Point{Load: closed(2), Requests: 4, ProbeTokens: c.wanted, DrainTimeout: second}
			drive(t, point, plan, func(_ *service, d *Deps) { d.Probe = c.probe }, func(t *testing.T, o measure.Outcome, _ *service) {
				if diff := cmp.Diff(c.length, o.ContextLength); diff != "" {
					t.Errorf("context length (-want +got):\n%s", diff)
				}
				if !strings.HasPrefix(o.ContextLengthReason, c.reason) || (c.reason == "") != (o.ContextLengthReason == "") {
					t.Errorf("reason %q, want %q", o.ContextLengthReason, c.reason)
				}
				if n := len(of(o, measure.Measured)); n != 4 {
					t.Errorf("%d measured, want 4", n)
				}
			})
		})
	}
}

// A service that stalls in the hold phase must not keep the point from ending.
func TestAStalledMeasuredRequestDoesNotKeepTheProbeFromBeingSent(t *testing.T) {
	plan := func(r *measure.Record, q workload.Request) script {
		if r.Index == 3 {
			return script{prefill: time.Hour}
		}
		return script{decode: time.Second}
	}
	point := Point{Load: closed(2), Requests: 4, ProbeTokens: 100, DrainTimeout: 5 * second}
	drive(t, point, plan, func(_ *service, d *Deps) { d.Probe = contextProbe }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if o.ContextLength == nil || o.Records[3].Status != measure.Truncated {
			t.Errorf("context length %v, the stalled request ended %s", o.ContextLength, o.Records[3].Status)
		}
		if hold := len(of(o, measure.Hold)); hold < 5 {
			t.Errorf("%d hold requests: the load was not kept up", hold)
		}
	})
}

// Every wait of the hold phase is bounded, too.
func TestTheHoldPhaseIsDrained(t *testing.T) {
	const never = time.Hour
	for _, c := range []struct {
		name        string
		probe, hold time.Duration
		stop        time.Duration // after the start; 0: never
		ends        time.Duration // after the start
		length      *int64
		reason      string
		interrupted bool
	}{
		// Two measured requests end after 2 s. The probe gets a slot then or, if both lanes are quicker, 100 ms later.
		{"the probe ends and what holds the load stalls", 3 * time.Second, never, 0, 10100 * time.Millisecond, positive(100), "", false},
		{"interrupted before the probe is sent", never, time.Second, 500 * time.Millisecond, 2 * time.Second, nil, notProbed, true},
		{"interrupted, and the probe ends in time", 4 * time.Second, 100 * time.Millisecond, 3 * time.Second, 6100 * time.Millisecond, positive(100), "", false},
		{"interrupted, and the probe stalls", never, 100 * time.Millisecond, 3 * time.Second, 8 * time.Second, nil,
			"the context probe ended with truncated: scripted: cut at the drain deadline", true},
		{"interrupted, and what holds the load stalls", 2 * time.Second, never, 3 * time.Second, 8 * time.Second, positive(100), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clk := clock.New()
				plan := func(r *measure.Record, _ workload.Request) script {
					switch {
					case r.Phase == measure.Probe:
						return script{decode: c.probe}
					case r.Phase == measure.Hold && r.Lane == 0:
						return script{decode: c.hold}
					case r.Phase == measure.Hold:
						return script{decode: 100 * time.Millisecond}
					}
					return script{decode: 2 * time.Second}
				}
				stop := make(chan struct{})
				if c.stop > 0 {
					go func() {
						time.Sleep(c.stop)
						close(stop)
					}()
				}
				point := Point{Load: closed(2), Requests: 2, ProbeTokens: 100, DrainTimeout: 5 * second}
				o := Run(context.Background(), point, Deps{Sender: newService(clk, plan), Sessions: single, Clock: clk, Stop: stop, Probe: contextProbe})
				if got := o.Finished.Sub(o.Started); got > c.ends || got < c.ends-100*time.Millisecond || o.Aborted != "" {
					t.Errorf("it ended after %v, aborted %q; want %v", got, o.Aborted, c.ends)
				}
				if diff := cmp.Diff(c.length, o.ContextLength); diff != "" || o.ContextLengthReason != c.reason || o.Interrupted != c.interrupted {
					t.Errorf("reason %q, interrupted %v; context length (-want +got):\n%s", o.ContextLengthReason, o.Interrupted, diff)
				}
				if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.OK != 2 {
					t.Errorf("%d ok, want 2", counts.OK)
				}
			})
		})
	}
}

func TestTheContextProbeIsNeverCancelled(t *testing.T) {
	point := Point{Load: closed(2), Requests: 4, ProbeTokens: 100, DrainTimeout: 2 * second, Cancel: Cancel{Share: 1, After: second}}
	set := func(_ *service, d *Deps) { d.Probe = contextProbe }
	drive(t, point, steady(time.Second, time.Second), set, func(t *testing.T, o measure.Outcome, _ *service) {
		if o.ContextLength == nil || measure.Summarize(o, point.Load, schema.Limits{}).Cancelled != 4 {
			t.Errorf("context length %v: %s", o.ContextLength, o.ContextLengthReason)
		}
	})
}
