package runner

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// recorded is a trace: when its sessions are due in the measured phase. In warmup they are a tenth of a second apart.
type recorded []time.Duration

func (r recorded) due(phase measure.Phase, index int64) time.Duration {
	if phase == measure.Warmup {
		return time.Duration(index) * 100 * time.Millisecond
	}
	lap := time.Duration(index / int64(len(r)))
	return lap*(r[len(r)-1]+time.Second) + r[index%int64(len(r))]
}

// set makes a point of a trace.
func (r recorded) set(_ *service, d *Deps) {
	d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
		session, err := single(phase, index)
		session.Due = r.due(phase, index)
		return session, err
	}
	d.Due = func(phase measure.Phase, from int64) iter.Seq[time.Duration] {
		return func(yield func(time.Duration) bool) {
			for i := from; yield(r.due(phase, i)); i++ {
			}
		}
	}
}

func replaying(cap int64) schema.PointLoad {
	speed := 1.0
	return schema.PointLoad{ReplaySpeed: &speed, RequestConcurrency: positive(cap)}
}

func TestATraceKeepsItsTimesToTheNanosecond(t *testing.T) {
	trace := recorded{0, 0, 70 * time.Millisecond, 5 * time.Second, 5*time.Second + 1}
	point := Point{Load: replaying(0), Requests: 7, WarmupRequests: 3, DrainTimeout: 10 * second}
	drive(t, point, uneven, trace.set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		warm, measured := of(o, measure.Warmup), of(o, measure.Measured)
		if len(warm) != 3 || len(measured) != 7 || o.Late != 0 || o.Dropped != 0 {
			t.Fatalf("%d warmup, %d measured, %d late, %d dropped", len(warm), len(measured), o.Late, o.Dropped)
		}
		_, dispatched := offsets(warm, o.Started)
		if diff := cmp.Diff([]time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}, dispatched); diff != "" {
			t.Errorf("warmup (-want +got):\n%s", diff)
		}
		lap := 6*time.Second + 1
		want := append([]time.Duration(trace), lap, lap) // the trace begins again
		scheduled, dispatched := offsets(measured, warm[2].Dispatched)
		if diff := cmp.Diff(want, scheduled); diff != "" {
			t.Errorf("scheduled (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, dispatched); diff != "" {
			t.Errorf("dispatched (-want +got):\n%s", diff)
		}
		row := measure.Summarize(o, point.Load, schema.Limits{})
		asked, ok := row.Asked()
		if !ok || asked.Dimension != "rate" || *row.ScheduledRate != *row.AchievedRate || *row.ScheduledRate != 6/lap.Seconds() {
			t.Errorf("asked is %+v, the rates %v and %v", asked, *row.ScheduledRate, *row.AchievedRate)
		}
		for i, r := range measured {
			if body := *r.FinishReason; body != fmt.Sprintf("measured %d", i) {
				t.Errorf("request %d is %q", i, body)
			}
		}
	})
}

func TestWhatATraceHadDueAndWasNotSentIsDropped(t *testing.T) {
	var trace recorded
	for i := range 100 {
		trace = append(trace, time.Duration(i+1)*100*time.Millisecond)
	}
	point := Point{Load: replaying(2), Duration: 5 * second, DrainTimeout: 10 * second}
	for _, probe := range []int64{0, 100} {
		point.ProbeTokens = probe
		set := func(s *service, d *Deps) {
			trace.set(s, d)
			d.Probe = contextProbe
		}
		drive(t, point, steady(time.Second/2, time.Second/2), set, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			// As with a rate of 10: due before 5 s are 49, and two are dispatched in each of the five seconds.
			if n := len(of(o, measure.Measured)); n != 10 || o.Late != 8 || o.Dropped != 39 {
				t.Errorf("with a probe of %d tokens: %d measured, %d late, %d dropped; want 10, 8, 39", probe, n, o.Late, o.Dropped)
			}
		})
	}
}

// Warmup ends with its requests, which may be those of fewer sessions than were made.
func TestATraceBeginsWhenWarmupEndsEarly(t *testing.T) {
	trace := recorded{0, 50 * time.Millisecond}
	set := func(s *service, d *Deps) {
		trace.set(s, d)
		one := d.Sessions
		d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
			session, err := one(phase, index)
			if phase == measure.Warmup {
				session.Turns = append(session.Turns, request("second"), request("third"))
			}
			return session, err
		}
	}
	point := Point{Load: replaying(0), Requests: 2, WarmupRequests: 5, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Millisecond, time.Millisecond), set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if warm, measured := len(of(o, measure.Warmup)), len(of(o, measure.Measured)); warm != 5 || measured != 2 {
			t.Errorf("%d warmup and %d measured requests, want 5 and 2", warm, measured)
		}
	})
}

// A later turn with a time of its own starts then, or when the answer before it has come.
func TestATurnStartsNotBeforeItsTime(t *testing.T) {
	set := func(s *service, d *Deps) {
		recorded{0, time.Hour}.set(s, d)
		one := d.Sessions
		d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
			session, err := one(phase, index)
			late, early := request("late"), request("early")
			late.NotBefore, early.NotBefore = 5*time.Second, 5500*time.Millisecond
			session.Turns = append(session.Turns, late, early)
			return session, err
		}
	}
	point := Point{Load: replaying(0), Requests: 3, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second/2, time.Second/2), set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		_, dispatched := offsets(o.Records, o.Started)
		if diff := cmp.Diff([]time.Duration{0, 5 * time.Second, 6 * time.Second}, dispatched); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestReplayIsChecked(t *testing.T) {
	for _, speed := range []float64{0, -1} {
		if err := (Point{Load: schema.PointLoad{ReplaySpeed: &speed}, Requests: 1}).check(); err == nil {
			t.Errorf("a speed of %v is taken", speed)
		}
	}
	one := 1.0
	if err := (Point{Load: schema.PointLoad{ReplaySpeed: &one, RequestRate: &one}, Requests: 1}).check(); err == nil {
		t.Error("a rate and a speed are taken together")
	}
}
