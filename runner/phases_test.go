package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		first := o.Records[0]
		if !o.Interrupted || o.Aborted != "" || first.Status != measure.Truncated || *first.Error != "scripted: cut by an interrupt" {
			t.Errorf("interrupted is %v, aborted %q, the first request %s: %s", o.Interrupted, o.Aborted, first.Status, *first.Error)
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

func TestADurationCutsRequestsThatOutliveIt(t *testing.T) {
	point := Point{Load: closed(2), Duration: 10 * second, DrainTimeout: 5 * second}
	drive(t, point, steady(time.Second, time.Hour), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if got := o.Finished.Sub(o.Started); got != 15*time.Second {
			t.Errorf("it ended after %v, want the duration and the drain time-out, 15 s", got)
		}
	})
}

// A count and a time: whichever comes first ends the measured phase, and what was sent until then is measured whole.
func TestAMostTimeEndsAPointThatTakesTooLong(t *testing.T) {
	for requests, want := range map[int64]int64{1000: 20, 8: 8} { // two lanes, one second a request, ten seconds at most
		point := Point{Load: closed(2), Requests: requests, Duration: 10 * second, DrainTimeout: 5 * second}
		drive(t, point, steady(100*time.Millisecond, 900*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.Issued != want || counts.OK != want {
				t.Errorf("of %d requests %d were sent and %d ok, want %d", requests, counts.Issued, counts.OK, want)
			}
		})
	}
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

func TestARequestThatEndsBeforeItsCancellationIsOK(t *testing.T) {
	point := Point{Load: closed(2), Requests: 20, DrainTimeout: 2 * second, Cancel: Cancel{Share: 1, After: 2 * second}}
	drive(t, point, steady(time.Second, time.Second/2), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if counts := measure.Summarize(o, point.Load, schema.Limits{}).Counts; counts.OK != 20 {
			t.Errorf("%d ok, want 20", counts.OK)
		}
	})
}
