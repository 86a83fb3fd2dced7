package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/pacer"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

func TestWhatCannotGoOnAbortsThePointAndLosesNothing(t *testing.T) {
	broken := errors.New("the tokenizer is gone")
	unbuilt := func(at int) func(measure.Phase, int64) (*workload.Session, error) {
		return func(phase measure.Phase, index int64) (*workload.Session, error) {
			s := &workload.Session{Turns: []workload.Turn{request("a"), request("b")}}
			if index == 5 {
				s.Turns[at].Build = func([]workload.Answer) (workload.Request, error) { return workload.Request{}, broken }
			}
			return s, nil
		}
	}
	var calls atomic.Int64 // of a sink that has panicked
	defer func() {
		if calls.Load() != 1 {
			t.Errorf("the sink was called %d times after it had panicked", calls.Load()-1)
		}
	}()
	for _, c := range []struct {
		name   string
		set    func(*service, *Deps)
		reason string
		least  int // records that must be there
	}{
		{"a session can't be made", func(_ *service, d *Deps) {
			d.Sessions = func(phase measure.Phase, index int64) (*workload.Session, error) {
				if index == 30 {
					return nil, broken
				}
				return single(phase, index)
			}
		}, "making session 30 of the measured phase: the tokenizer is gone", 4},
		{"a first request can't be made", func(_ *service, d *Deps) { d.Sessions = unbuilt(0) }, "making session 5 of the measured phase: the tokenizer is gone", 0},
		{"a later request can't be made", func(_ *service, d *Deps) { d.Sessions = unbuilt(1) }, "making request 1 of session 5: the tokenizer is gone", 10},
		{"a session sends nothing", func(_ *service, d *Deps) {
			d.Sessions = func(measure.Phase, int64) (*workload.Session, error) {
				return &workload.Session{Turns: make([]workload.Turn, 3)}, nil
			}
		}, "making session 0 of the measured phase: it has no request", 0},
		{"making a session panics", func(_ *service, d *Deps) {
			d.Sessions = func(measure.Phase, int64) (*workload.Session, error) { panic("boo") }
		}, "making sessions panicked: boo (sweetspot/runner.TestWhatCannotGoOnAbortsThePointAndLosesNothing", 0},
		{"making a request panics", func(_ *service, d *Deps) {
			d.Sessions = func(measure.Phase, int64) (*workload.Session, error) {
				return &workload.Session{Turns: []workload.Turn{request("a"), {Build: func([]workload.Answer) (workload.Request, error) { panic("boo") }}}}, nil
			}
		}, "a lane panicked: boo (sweetspot/runner.TestWhatCannotGoOnAbortsThePointAndLosesNothing", 1},
		{"sending panics", func(s *service, _ *Deps) {
			s.plan = func(r *measure.Record, _ workload.Request) script {
				return script{decode: time.Second, panics: r.Index == 9}
			}
		}, "sending a request panicked: the fake service's (sweetspot/runner.(*service).Send, line ", 10},
		{"the sink panics", func(_ *service, d *Deps) {
			d.Sink = func(r *measure.Record) {
				if r.Index >= 3 {
					panic(fmt.Sprintf("disk full at %d", calls.Add(1)))
				}
			}
		}, "storing a request panicked: disk full at 1 (", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			point := Point{Load: closed(4), Requests: 100, DrainTimeout: 10 * second}
			drive(t, point, uneven, c.set, func(t *testing.T, o measure.Outcome, _ *service) {
				if !strings.HasPrefix(o.Aborted, c.reason) {
					t.Errorf("aborted: %s\nwant:    %s…", o.Aborted, c.reason)
				}
				if len(o.Records) < c.least || len(o.Records) > 99 {
					t.Errorf("%d records, want at least %d and not all", len(o.Records), c.least)
				}
				for _, r := range o.Records {
					if !r.Ended.Happened() || r.Status == "" {
						t.Errorf("record %d ended at %d with status %q", r.Index, r.Ended, r.Status)
					}
				}
				if row := measure.Summarize(o, point.Load, schema.Limits{}); row.Status != measure.PointFailed || *row.Reason != o.Aborted {
					t.Errorf("the point is %s", row.Status)
				}
			})
		})
	}
}

func TestASenderThatLeavesNoStatusIsFoundOut(t *testing.T) {
	nothing := func(*measure.Record, workload.Request) script { return script{status: "well"} }
	drive(t, Point{Load: closed(1), Requests: 3, DrainTimeout: second}, nothing, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		if want := "the engine's books do not balance: 3 requests issued, 0 with a status"; o.Aborted != want {
			t.Errorf("aborted %q, want %q", o.Aborted, want)
		}
	})
}

func TestImpossiblePointsAreRefused(t *testing.T) {
	valid := Point{Load: closed(1), Requests: 1}
	for name, change := range map[string]func(*Point){
		"no cap":              func(p *Point) { p.Load = schema.PointLoad{PrefillConcurrency: positive(1)} },
		"no end":              func(p *Point) { p.Requests = 0 },
		"two ends":            func(p *Point) { p.Duration = second },
		"negative requests":   func(p *Point) { p.Requests, p.Duration = -1, second },
		"negative warmup":     func(p *Point) { p.WarmupRequests = -1 },
		"negative ramp":       func(p *Point) { p.RampUp = -1 },
		"share above 1":       func(p *Point) { p.Cancel.Share = 1.5 },
		"no arrival process":  func(p *Point) { p.Load = paced(1, 0, 0) },
		"a rate of 0":         func(p *Point) { p.Load, p.Arrivals.Process = paced(0, 0, 0), "poisson" },
		"negative time-out":   func(p *Point) { p.DrainTimeout = -1 },
		"negative probe":      func(p *Point) { p.ProbeTokens = -1 },
		"negative cancel":     func(p *Point) { p.Cancel.After = -1 },
		"burstiness of 0":     func(p *Point) { p.Load, p.Arrivals.Process = paced(1, 0, 0), "gamma" },
		"negative duration":   func(p *Point) { p.Duration = -1 },
		"an unknown arrivals": func(p *Point) { p.Load, p.Arrivals.Process = paced(1, 0, 0), "pareto" },
	} {
		p := valid
		change(&p)
		o := Run(context.Background(), p, Deps{Clock: clock.New()})
		if o.Aborted == "" || len(o.Records) > 0 {
			t.Errorf("%s: aborted %q", name, o.Aborted)
		}
	}
	if err := valid.check(); err != nil {
		t.Errorf("the valid point: %v", err)
	}
}

// A point must be runnable from its serialised form alone.
func TestAPointSurvivesJSON(t *testing.T) {
	point := Point{
		Load: paced(12.5, 8, 2), Requests: 7, WarmupRequests: 3, RampUp: 2 * second, DrainTimeout: 30 * second, ProbeTokens: 9,
		Arrivals: pacer.Arrivals{Process: "gamma", Burstiness: 2}, Cancel: Cancel{Share: 0.1, After: second}, Seed: -4,
	}
	text, err := json.Marshal(point)
	if err != nil {
		t.Fatal(err)
	}
	var got Point
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(point, got); diff != "" {
		t.Errorf("read back from %s (-want +got):\n%s", text, diff)
	}
}

func TestTheBooksAreChecked(t *testing.T) {
	fresh := func() *engine {
		return newEngine(context.Background(), Point{Load: closed(1), Requests: 1}, Deps{Clock: clock.New()})
	}
	balanced := func(e *engine) {
		e.issued[measure.Measured], e.finished = 1, 1
		e.gates.Sessions.SetLimit(1)
	}
	for _, c := range []struct {
		name   string
		spoil  func(*engine)
		status measure.Status
		want   []string
	}{
		{"balanced", balanced, measure.OK, nil},
		{"one request did not end", func(e *engine) { e.issued[measure.Measured] = 1 }, measure.OK, []string{"1 requests issued, 0 ended, 1 recorded"}},
		{"one too few was dispatched", func(e *engine) { e.issued[measure.Warmup], e.finished = 1, 1 }, measure.OK, []string{"0 of 1 measured requests dispatched"}},
		{"no status", balanced, "", []string{"1 requests issued, 0 with a status"}},
		{"a slot is held", func(e *engine) {
			balanced(e)
			if err := e.gates.TryTake(new(slots.Held), slots.Session, e.mayStart); err != nil {
				t.Fatal(err)
			}
		}, measure.OK, []string{"1 session slots taken, 0 freed, 1 held"}},
	} {
		e := fresh()
		c.spoil(e)
		if diff := cmp.Diff(c.want, e.violations([]measure.Record{{Status: c.status}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A point at caps of 1 with trees that fork, join and think must not lock up, and a turn that sends nothing takes no slot (A6).
func TestATreeAtCapsOfOne(t *testing.T) {
	child := func(name string) *workload.Session {
		return &workload.Session{Turns: []workload.Turn{request(name + " 0"), {Delay: time.Second}, request(name + " 1")}}
	}
	session := func(measure.Phase, int64) (*workload.Session, error) {
		first, last := request("root 0"), request("root 2")
		first.Forks = []workload.Fork{{Session: child("left"), Inherits: true, JoinAt: 2}, {Session: child("right"), JoinAt: 2}}
		last.Delay = 2 * time.Second
		return &workload.Session{Turns: []workload.Turn{first, {Delay: time.Second}, last}}, nil
	}
	load := schema.PointLoad{Concurrency: positive(1), RequestConcurrency: positive(1), PrefillConcurrency: positive(1)}
	point := Point{Load: load, Requests: 18, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second, time.Second), func(_ *service, d *Deps) { d.Sessions = session }, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		if s.peakRequests != 1 || len(o.Sessions) != 3 {
			t.Errorf("%d in flight at once, %d sessions", s.peakRequests, len(o.Sessions))
		}
		if o.Target != 0 || o.TargetSessions != 1 {
			t.Errorf("targets %d and %d, want none for requests and 1 for sessions", o.Target, o.TargetSessions)
		}
		for tree := range 3 {
			var turns []string
			for _, r := range o.Records[tree*6 : tree*6+6] {
				turns = append(turns, *r.FinishReason)
				if r.Session != int64(tree) || r.Lane != 0 {
					t.Errorf("request %d belongs to session %d on lane %d", r.Index, r.Session, r.Lane)
				}
			}
			if turns[0] != "root 0" || turns[5] != "root 2" {
				t.Errorf("order %v", turns)
			}
			forks, joined := o.Records[tree*6+4], o.Records[tree*6+5]
			if d := joined.Scheduled.Sub(forks.Ended); d != 2*time.Second {
				t.Errorf("the joining turn was scheduled %v after the last fork's end, want its think time of 2 s", d)
			}
		}
	})
}

// Making a later turn's request takes its time before the turn is scheduled, never inside what is measured; think time hides it.
func TestARequestIsMadeBeforeItsTurnIsScheduled(t *testing.T) {
	for _, c := range []struct{ think, scheduled time.Duration }{{0, time.Second}, {3 * time.Second, 3 * time.Second}} {
		session := func(measure.Phase, int64) (*workload.Session, error) {
			slow := workload.Turn{Delay: c.think, Build: func(answers []workload.Answer) (workload.Request, error) {
				time.Sleep(time.Second)
				return request("b").Build(answers)
			}}
			return &workload.Session{Turns: []workload.Turn{request("a"), slow}}, nil
		}
		point := Point{Load: closed(1), Requests: 2, DrainTimeout: second}
		drive(t, point, steady(time.Second, time.Second), func(_ *service, d *Deps) { d.Sessions = session }, func(t *testing.T, o measure.Outcome, _ *service) {
			first, second := o.Records[0], o.Records[1]
			if got := second.Scheduled.Sub(first.Ended); got != c.scheduled || second.Dispatched != second.Scheduled {
				t.Errorf("with %v of think time: scheduled %v and dispatched %v after the turn before, want %v", c.think, got, second.Dispatched.Sub(first.Ended), c.scheduled)
			}
		})
	}
}

// Whoever starts a goroutine waits for it: in a bubble, one left behind would be found when the test ends, as would a deadlock.
func TestNothingIsLeftRunning(t *testing.T) {
	var running atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		for i, change := range []func(*Point){
			func(p *Point) {}, func(p *Point) { p.ProbeTokens = 10 }, func(p *Point) { p.Requests, p.Duration = 0, 3*second },
			func(p *Point) { p.RampUp = second }, func(p *Point) { p.Load, p.Arrivals.Process = paced(10, 2, 1), "poisson" },
			func(p *Point) { p.Cancel = Cancel{Share: 0.5, After: second} },
		} {
			point := Point{Load: closed(3), Requests: 30, WarmupRequests: 3, DrainTimeout: second}
			change(&point)
			s := newService(c, uneven)
			deps := Deps{Sender: s, Sessions: single, Clock: c, Probe: contextProbe, Sink: func(*measure.Record) { running.Add(1); running.Add(-1) }}
			o := Run(context.Background(), point, deps)
			synctest.Wait()
			if s.requests != 0 || running.Load() != 0 {
				t.Errorf("point %d: %d requests go on after Run returned", i, s.requests)
			}
			complete(t, o)
		}
	})
}
