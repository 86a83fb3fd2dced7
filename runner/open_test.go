package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/pacer"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// paced is an open loop's load.
func paced(rate float64, requests, prefills int64) schema.PointLoad {
	return schema.PointLoad{RequestRate: &rate, RequestConcurrency: positive(requests), PrefillConcurrency: positive(prefills)}
}

// offsets gives when records were scheduled and dispatched, from the start of their phase.
func offsets(records []measure.Record, from clock.Instant) (scheduled, dispatched []time.Duration) {
	for _, r := range records {
		scheduled = append(scheduled, r.Scheduled.Sub(from))
		dispatched = append(dispatched, r.Dispatched.Sub(from))
	}
	return scheduled, dispatched
}

func TestArrivalsKeepTheirScheduleToTheNanosecond(t *testing.T) {
	for _, a := range []pacer.Arrivals{{Process: "constant"}, {Process: "poisson"}, {Process: "gamma", Burstiness: 0.5}} {
		point := Point{Load: paced(40, 0, 0), Requests: 200, WarmupRequests: 20, Arrivals: a, Seed: 5, DrainTimeout: 10 * second}
		drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, s *service) {
			complete(t, o)
			warm, measured := of(o, measure.Warmup), of(o, measure.Measured)
			if len(warm) != 20 || len(measured) != 200 || o.Late != 0 || o.Dropped != 0 {
				t.Fatalf("%d warmup, %d measured, %d late, %d dropped", len(warm), len(measured), o.Late, o.Dropped)
			}
			var want []time.Duration
			for at := range a.Offsets(40, 0, uint64(point.Seed)^measuredStream) {
				if want = append(want, at); len(want) == 200 {
					break
				}
			}
			scheduled, dispatched := offsets(measured, warm[19].Dispatched) // the phase begins with warmup's last dispatch
			if diff := cmp.Diff(want, scheduled); diff != "" {
				t.Errorf("%s: scheduled (-want +got):\n%s", a.Process, diff)
			}
			if diff := cmp.Diff(want, dispatched); diff != "" {
				t.Errorf("%s: dispatched (-want +got):\n%s", a.Process, diff)
			}
			if s.peakRequests < 20 {
				t.Errorf("%d in flight at most: the loop is not open", s.peakRequests)
			}
		})
	}
}

// Latency left out the time queued in the client's semaphore elsewhere: https://github.com/vllm-project/vllm/issues/54101.
func TestARequestThatWaitsForASlotKeepsItsScheduledInstant(t *testing.T) {
	// 10 arrivals a second at a cap of 2, each taking 1 s: 2 a second can be served.
	point := Point{Load: paced(10, 2, 0), Requests: 20, Arrivals: pacer.Arrivals{Process: "constant"}, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second/2, time.Second/2), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		for i, r := range o.Records {
			planned := time.Duration(i+1) * 100 * time.Millisecond
			sent := time.Duration(i/2)*time.Second + time.Duration(i%2+1)*100*time.Millisecond
			if got := r.Scheduled.Sub(o.Started); got != planned {
				t.Errorf("arrival %d was scheduled at %v, want %v", i, got, planned)
			}
			if got := r.Dispatched.Sub(o.Started); got != sent {
				t.Errorf("arrival %d was dispatched at %v, want %v", i, got, sent)
			}
		}
		if o.Late != 18 || o.Dropped != 0 {
			t.Errorf("%d late, %d dropped; want all but the first two late, none dropped", o.Late, o.Dropped)
		}
		row := measure.Summarize(o, point.Load, schema.Limits{})
		if row.TargetInFlight != nil || row.TargetSessions != nil || *row.AchievedRate > 2.2 {
			t.Errorf("targets %v and %v; achieved rate %v, want about 2", row.TargetInFlight, row.TargetSessions, *row.AchievedRate)
		}
	})
}

func TestArrivalsThatWereDueAndNotDispatchedAreDropped(t *testing.T) {
	point := Point{Load: paced(10, 2, 0), Duration: 5 * second, Arrivals: pacer.Arrivals{Process: "constant"}, DrainTimeout: 10 * second}
	for _, probe := range []int64{0, 100} { // with a probe the load is kept up, and arrivals that come too late are hold requests
		point.ProbeTokens = probe
		set := func(_ *service, d *Deps) { d.Probe = contextProbe }
		drive(t, point, steady(time.Second/2, time.Second/2), set, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			// Due before 5 s are the arrivals at 0.1 to 4.9 s; two are dispatched in each of the five seconds.
			if n := len(of(o, measure.Measured)); n != 10 || o.Late != 8 || o.Dropped != 39 {
				t.Errorf("with a probe of %d tokens: %d measured, %d late, %d dropped; want 10, 8, 39", probe, n, o.Late, o.Dropped)
			}
			if hold := len(of(o, measure.Hold)); (probe > 0) != (hold > 0) {
				t.Errorf("with a probe of %d tokens: %d hold requests", probe, hold)
			}
		})
	}
}

func TestAnArrivalRateRampsUpBeforeTheMeasuredPhase(t *testing.T) {
	point := Point{Load: paced(100.1, 0, 0), Requests: 300, RampUp: 4 * second, Arrivals: pacer.Arrivals{Process: "constant"}, DrainTimeout: 10 * second}
	drive(t, point, steady(10*time.Millisecond, 10*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		_, warm := offsets(of(o, measure.Warmup), o.Started)
		// The expected number until t is 100.1*t²/8: 50 after 2 s and 200 after 4 s.
		half, _ := slices.BinarySearch(warm, 2*time.Second)
		if len(warm) != 200 || half != 50 {
			t.Errorf("%d arrivals in the ramp, %d in its first half; want 200 and 50", len(warm), half)
		}
		measured, _ := offsets(of(o, measure.Measured), o.Started.Add(4*time.Second))
		if len(measured) != 300 || measured[0] != 9990009*time.Nanosecond || measured[299] != 2997002997*time.Nanosecond {
			t.Errorf("%d measured, from %v to %v after the ramp; want 300, from 1/100.1 s to 300/100.1 s", len(measured), measured[0], measured[len(measured)-1])
		}
	})
}

func TestSessionsOfAnOpenLoopAreBoundedToo(t *testing.T) {
	load := paced(100, 0, 0)
	load.Concurrency = positive(3)
	point := Point{Load: load, Requests: 30, Arrivals: pacer.Arrivals{Process: "poisson"}, DrainTimeout: 10 * second}
	drive(t, point, steady(100*time.Millisecond, 400*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		if row := measure.Summarize(o, load, schema.Limits{}); *row.PeakSessions != 3 || s.peakRequests != 3 || row.OK != 30 || o.Late != 27 {
			t.Errorf("peak %d sessions, %d requests; %d ok, %d late", *row.PeakSessions, s.peakRequests, row.OK, o.Late)
		}
	})
}

// An arrival that comes behind one that had to wait is late too, even if its own slot is free by the time its turn has come.
func TestAnArrivalBehindAWaitingOneIsLate(t *testing.T) {
	set := func(_ *service, d *Deps) {
		d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
			if index == 20 {
				time.Sleep(10 * time.Second) // the load has begun by then: 16 are made before
			}
			return single(phase, index)
		}
	}
	plan := func(r *measure.Record, _ workload.Request) script {
		if r.Index == 18 {
			return script{decode: 1250 * time.Millisecond}
		}
		return script{}
	}
	point := Point{Load: paced(4, 1, 0), Requests: 24, Arrivals: pacer.Arrivals{Process: "constant"}, DrainTimeout: 10 * second}
	drive(t, point, plan, set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		// Number 18, scheduled at 4.75 s, is in flight until 6 s, so 19 waits. When 20 is there at last, the slot is free; it was due at 5.25 s.
		if waited := o.Records[19].Dispatched.Sub(o.Started); waited != 6*time.Second || o.Late != 5 {
			t.Errorf("number 19 was dispatched at %v, want 6 s; %d late, want 19 to 23", waited, o.Late)
		}
	})
}

// Sessions that begin with think time, or with a turn that sends nothing, do not hold up the arrivals behind them.
func TestArrivalsDoNotWaitForEachOthersThinkTime(t *testing.T) {
	for name, session := range map[string]*workload.Session{
		"think time":     {Turns: []workload.Turn{{Delay: time.Second, Build: request("a").Build}}},
		"a virtual turn": {Turns: []workload.Turn{{}, {Delay: time.Second, Build: request("a").Build}}},
	} {
		set := func(_ *service, d *Deps) {
			d.Sessions = func(measure.Phase, int64) (*workload.Session, error) { return session, nil }
		}
		point := Point{Load: paced(10, 0, 0), Requests: 20, Arrivals: pacer.Arrivals{Process: "constant"}, DrainTimeout: 10 * second}
		drive(t, point, steady(time.Second, time.Second), set, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			scheduled, dispatched := offsets(o.Records, o.Started)
			for i := range scheduled {
				if want := time.Duration(i+1)*100*time.Millisecond + time.Second; scheduled[i] != want || dispatched[i] != want {
					t.Errorf("%s: request %d was scheduled at %v and dispatched at %v, want %v", name, i, scheduled[i], dispatched[i], want)
				}
			}
		})
	}
}

// An overload must take no memory for arrivals that wait: the schedule is computed, not stored.
func TestAnOverloadedOpenLoopStartsNoGoroutinesAhead(t *testing.T) {
	point := Point{Load: paced(10_000, 1, 0), Duration: 10 * second, Arrivals: pacer.Arrivals{Process: "poisson"}, DrainTimeout: 2 * second}
	made := 0
	set := func(_ *service, d *Deps) {
		d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
			made++
			return single(phase, index)
		}
	}
	drive(t, point, steady(500*time.Millisecond, 500*time.Millisecond), set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if len(o.Sessions) > 12 || made > len(o.Sessions)+mostAhead+1 {
			t.Errorf("%d sessions were opened and %d made for 10 requests", len(o.Sessions), made)
		}
		if n := len(of(o, measure.Measured)); n != 10 || o.Dropped < 99_000 || o.Dropped > 101_000 {
			t.Errorf("%d measured, %d dropped; want 10 and about 100,000", n, o.Dropped)
		}
	})
}
