package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// Warmup leaked into the measured phase, or was drained before it, elsewhere: https://github.com/vllm-project/guidellm/issues/1078.
func TestHandOverDoesNotDrainAndKeepsOneCountInFlight(t *testing.T) {
	for _, c := range []struct{ warmup, measured int64 }{{8, 2}, {2, 8}, {4, 4}, {0, 3}, {3, 0}} {
		t.Run(fmt.Sprintf("from a cap of %d to %d", c.warmup, c.measured), func(t *testing.T) {
			load := schema.PointLoad{Concurrency: positive(8), WarmupRequestConcurrency: positive(c.warmup), RequestConcurrency: positive(c.measured)}
			point := Point{Load: load, Requests: 40, WarmupRequests: 12, DrainTimeout: 10 * second}
			capOf := func(phase measure.Phase) int64 {
				cap := c.measured
				if phase == measure.Warmup && c.warmup > 0 {
					cap = c.warmup
				}
				if cap == 0 || cap > 8 {
					cap = 8
				}
				return cap
			}
			drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, _ *service) {
				complete(t, o)
				if err := capsHeld(o, load); err != nil {
					t.Error(err)
				}
				warm, measured := of(o, measure.Warmup), of(o, measure.Measured)
				if len(warm) != 12 || len(measured) != 40 {
					t.Fatalf("%d warmup and %d measured requests, want 12 and 40", len(warm), len(measured))
				}
				last, first := warm[len(warm)-1], measured[0]
				if last.Index >= first.Index || !slices.ContainsFunc(warm, func(r measure.Record) bool { return r.Ended > first.Dispatched }) {
					t.Errorf("warmup was drained: none of it was in flight at the first measured dispatch")
				}
				// At the end of each phase as many are in flight as its cap allows; at the hand-over, the larger of the two are or were.
				at := slices.MaxFunc(measured, func(a, b measure.Record) int { return int(a.Dispatched - b.Dispatched) }).Dispatched
				if n := inFlight(o, at); n != capOf(measure.Measured) {
					t.Errorf("%d in flight at the last dispatch, want %d", n, capOf(measure.Measured))
				}
				if n := inFlight(o, last.Dispatched); n < capOf(measure.Warmup) {
					t.Errorf("%d in flight at the end of warmup, want %d", n, capOf(measure.Warmup))
				}
				promptsAreDisjoint(t, o)
			})
		})
	}
}

// The first measured prompt was warmup's elsewhere (RIVALS.md, fault 8).
func promptsAreDisjoint(t *testing.T, o measure.Outcome) {
	t.Helper()
	seen := map[string]bool{}
	for i, r := range o.Records {
		body := *r.FinishReason
		if seen[body] {
			t.Errorf("%q was sent twice", body)
		}
		seen[body] = true
		if warm := strings.HasPrefix(body, "warmup"); warm != (i < 12) {
			t.Errorf("request %d has the prompt %q", i, body)
		}
	}
}

func TestARampIsLinearAndNotMeasured(t *testing.T) {
	point := Point{Load: closed(10), Requests: 100, RampUp: 10 * second, WarmupRequests: 5, DrainTimeout: 10 * second}
	drive(t, point, steady(200*time.Millisecond, 300*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		for i := range 10 {
			at := o.Started.Add(time.Duration(i)*time.Second + time.Millisecond)
			if n := inFlight(o, at); n != int64(i+1) {
				t.Errorf("%d in flight after %d s, want %d", n, i, i+1)
			}
		}
		if first := of(o, measure.Measured)[0].Dispatched.Sub(o.Started); first < 10*time.Second {
			t.Errorf("the first measured dispatch came after %v, within the ramp", first)
		}
		if n := len(of(o, measure.Measured)); n != 100 {
			t.Errorf("%d measured requests, want 100", n)
		}
	})
}

func TestTheDrainDeadlineCutsWhatHasNotEnded(t *testing.T) {
	stall := func(r *measure.Record, _ workload.Request) script {
		if r.Index == 7 {
			return script{prefill: time.Second, decode: time.Hour}
		}
		return script{prefill: time.Second, decode: time.Second}
	}
	point := Point{Load: closed(4), Requests: 8, DrainTimeout: 5 * second}
	drive(t, point, stall, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		cut := o.Records[7]
		if cut.Status != measure.Truncated || cut.Ended.Sub(cut.Dispatched) != 5*time.Second {
			t.Errorf("the stalled request ended %s after %v, want truncated after 5 s", cut.Status, cut.Ended.Sub(cut.Dispatched))
		}
		if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.OK != 7 || counts.Truncated != 1 {
			t.Errorf("%d ok, %d truncated, want 7 and 1", counts.OK, counts.Truncated)
		}
	})
}

func TestTheFirstInterruptDrainsAndTheSecondEndsAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration // to the second interrupt, from the first
		decode time.Duration
		want   time.Duration // from the first interrupt to the end
		ok     int
	}{
		{"what is in flight ends within the deadline", time.Hour, 2 * time.Second, 2 * time.Second, 2},
		{"what is in flight is cut at the deadline", time.Hour, time.Hour, 5 * time.Second, 0},
		{"the second ends at once", 500 * time.Millisecond, time.Hour, 500 * time.Millisecond, 0},
		{"the second alone", 0, time.Hour, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clk := clock.New()
				stop := make(chan struct{})
				ctx, cancel := context.WithCancel(context.Background())
				go func() {
					time.Sleep(time.Second)
					if c.after > 0 {
						close(stop)
						wait(ctx, c.after)
					}
					cancel()
				}()
				s := newService(clk, steady(time.Second, c.decode))
				point := Point{Load: closed(2), Requests: 100, DrainTimeout: 5 * second}
				o := Run(ctx, point, Deps{Sender: s, Sessions: single, Clock: clk, Stop: stop})
				cancel()
				if !o.Interrupted || o.Aborted != "" {
					t.Errorf("interrupted is %v, aborted %q", o.Interrupted, o.Aborted)
				}
				if got := o.Finished.Sub(o.Started) - time.Second; got != c.want {
					t.Errorf("it ended %v after the interrupt, want %v", got, c.want)
				}
				counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts
				if counts.Issued != 2 || counts.OK != int64(c.ok) || counts.Truncated != 2-int64(c.ok) {
					t.Errorf("%d issued, %d ok, %d truncated", counts.Issued, counts.OK, counts.Truncated)
				}
			})
		})
	}
}

func TestAnInterruptBeforeTheStartSendsNothing(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	set := func(_ *service, d *Deps) { d.Stop = stopped }
	drive(t, Point{Load: closed(4), Requests: 10}, uneven, set, func(t *testing.T, o measure.Outcome, _ *service) {
		if !o.Interrupted || len(o.Records) != 0 {
			t.Errorf("interrupted is %v, %d requests were sent", o.Interrupted, len(o.Records))
		}
	})
}

func TestAnInterruptAfterTheLastRequestLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		stop := make(chan struct{})
		go func() {
			time.Sleep(1500 * time.Millisecond) // the second wave, which is the last, is in flight
			close(stop)
		}()
		point := Point{Load: closed(2), Requests: 4, DrainTimeout: 5 * second}
		o := Run(context.Background(), point, Deps{Sender: newService(clk, steady(500*time.Millisecond, 500*time.Millisecond)), Sessions: single, Clock: clk, Stop: stop})
		complete(t, o)
		if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.OK != 4 {
			t.Errorf("%d ok, want 4", counts.OK)
		}
	})
}

func TestAnInterruptThatCutsMeasuredRequestsIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			time.Sleep(500 * time.Millisecond) // all are dispatched, none has ended
			cancel()
		}()
		point := Point{Load: closed(4), Requests: 4, DrainTimeout: 5 * second}
		o := Run(ctx, point, Deps{Sender: newService(clk, steady(time.Second, time.Second)), Sessions: single, Clock: clk})
		if !o.Interrupted || o.Aborted != "" || o.Records[0].Status != measure.Truncated {
			t.Errorf("interrupted is %v, aborted %q, the first request %s", o.Interrupted, o.Aborted, o.Records[0].Status)
		}
	})
}

// A request that was granted its slots under warmup's cap, and had not been dispatched at the hand-over, must not exceed the lower cap of the
// measured phase: between grant and dispatch a goroutine may be preempted.
func TestACapLoweredBetweenGrantAndDispatchIsKept(t *testing.T) {
	load := schema.PointLoad{Concurrency: positive(2), WarmupRequestConcurrency: positive(2), RequestConcurrency: positive(1)}
	e := newEngine(context.Background(), Point{Load: load, Requests: 10, WarmupRequests: 10}, Deps{Clock: clock.New()})
	e.begin()
	var flights [2]flight
	for i := range flights {
		flights[i] = flight{engine: e, tree: new(tree)}
		if err := e.gates.TryTake(&flights[i].slots, slots.Request|slots.Prefill, e.mayStart); err != nil {
			t.Fatal(err)
		}
	}
	e.mu.Lock()
	e.handOver(e.clock.Now())
	e.mu.Unlock()
	if err := e.commit(&flights[0]); err != errLowered {
		t.Errorf("with two slots held at a cap of 1: %v, want %v", err, errLowered)
	}
	flights[0].slots.Release()
	if err := e.commit(&flights[1]); err != nil || flights[1].record.Phase != measure.Measured {
		t.Errorf("with one slot held at a cap of 1: %v", err)
	}
}

func TestARequestWhoseCapWasLoweredQueuesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := schema.PointLoad{Concurrency: positive(2), WarmupRequestConcurrency: positive(2), RequestConcurrency: positive(1)}
		e := newEngine(context.Background(), Point{Load: load, Requests: 10, WarmupRequests: 10}, Deps{Clock: clock.New()})
		e.begin()
		var other slots.Held
		if err := e.gates.TryTake(&other, slots.Request, e.mayStart); err != nil {
			t.Fatal(err)
		}
		looks := 0
		e.mayStart = func() error {
			if looks++; looks == 3 { // after the last grant, before the dispatch
				e.mu.Lock()
				e.handOver(e.clock.Now())
				e.mu.Unlock()
			}
			return nil
		}
		f := &flight{engine: e, tree: new(tree)}
		admitted := make(chan error)
		go func() { admitted <- e.admit(f) }()
		synctest.Wait()
		if s := e.gates.Requests.State(); f.record != nil || s.Held != 1 || s.Waiting != 1 {
			t.Errorf("dispatched: %v; %d slots held, %d waiting at a cap of 1", f.record != nil, s.Held, s.Waiting)
		}
		time.Sleep(time.Second)
		other.Release()
		if err := <-admitted; err != nil || f.record.Dispatched.Sub(e.started) != time.Second {
			t.Errorf("when the other slot is freed: %v", err)
		}
	})
}

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

func TestADurationCutsRequestsThatOutliveIt(t *testing.T) {
	point := Point{Load: closed(2), Duration: 10 * second, DrainTimeout: 5 * second}
	drive(t, point, steady(time.Second, time.Hour), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if got := o.Finished.Sub(o.Started); got != 15*time.Second {
			t.Errorf("it ended after %v, want the duration and the drain time-out, 15 s", got)
		}
	})
}

func TestADeclaredShareIsCancelledAndCountedApart(t *testing.T) {
	point := Point{Load: closed(8), Requests: 2000, WarmupRequests: 8, DrainTimeout: 10 * second, Cancel: Cancel{Share: 0.25, After: second / 2}, Seed: 3}
	cancelled := func(seed int64) []int64 {
		var which []int64
		point.Seed = seed
		drive(t, point, steady(100*time.Millisecond, 900*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts
			if counts.OK+counts.Cancelled != 2000 || counts.Cancelled < 440 || counts.Cancelled > 560 {
				t.Errorf("%d ok, %d cancelled of 2000, want a quarter", counts.OK, counts.Cancelled)
			}
			for _, r := range o.Records {
				if r.Status == measure.Cancelled {
					which = append(which, r.Index)
					if d := r.Ended.Sub(r.Dispatched); d != 500*time.Millisecond {
						t.Fatalf("request %d was cancelled after %v, want 500 ms", r.Index, d)
					}
				}
			}
		})
		return which
	}
	first := cancelled(3)
	if !slices.Equal(first, cancelled(3)) {
		t.Error("the same seed cancelled others")
	}
	if slices.Equal(first, cancelled(4)) {
		t.Error("another seed cancelled the same")
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

func TestARequestThatEndsBeforeItsCancellationIsOK(t *testing.T) {
	point := Point{Load: closed(2), Requests: 20, DrainTimeout: 2 * second, Cancel: Cancel{Share: 1, After: 2 * second}}
	drive(t, point, steady(time.Second, time.Second/2), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.OK != 20 {
			t.Errorf("%d ok, want 20", counts.OK)
		}
	})
}
