package runner

import (
	cmp2 "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

func TestASlowSinkDoesNotHoldTheLoadUp(t *testing.T) {
	var order []int64
	set := func(_ *service, d *Deps) {
		d.Sink = func(r *measure.Record) {
			order = append(order, r.Index)
			time.Sleep(time.Minute)
		}
	}
	point := Point{Load: closed(4), Requests: 40, DrainTimeout: 10 * second}
	drive(t, point, uneven, set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		var last clock.Instant
		for _, r := range o.Records {
			last = max(last, r.Ended)
		}
		if took := last.Sub(o.Started); took > 25*time.Second {
			t.Errorf("40 requests took %v: they waited for the sink", took)
		}
		if len(order) != 40 {
			t.Fatalf("%d records were handed on, want 40", len(order))
		}
		for i := 1; i < len(order); i++ {
			if o.Records[order[i]].Ended < o.Records[order[i-1]].Ended {
				t.Fatalf("handed on in the order %v, which is not that of their ends", order)
			}
		}
		if lag := *o.Health.WriterLag; lag < 39*60-25 || lag > 40*60 {
			t.Errorf("writer lag %v s, want almost 40 minutes", lag)
		}
	})
}

// The live view, the results and the spec say the same thing (A8).
func TestTheLiveViewAgreesWithTheResults(t *testing.T) {
	load := schema.PointLoad{Concurrency: positive(8), RequestConcurrency: positive(6), PrefillConcurrency: positive(2)}
	point := Point{Load: load, Requests: 120, WarmupRequests: 10, ProbeTokens: 10, DrainTimeout: 10 * second, Cancel: Cancel{Share: 0.1, After: second}}
	plan := func(r *measure.Record, q workload.Request) script {
		does := uneven(r, q)
		if r.Index%10 == 3 {
			does.status = measure.HTTPError
		}
		return does
	}
	live := new(Live)
	set := func(_ *service, d *Deps) { d.Live, d.Probe = live, contextProbe }
	drive(t, point, plan, set, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		row, seen := measure.Summarize(o, load, schema.Limits{}), live.Snapshot()
		want := Snapshot{
			Planned: 120, Now: seen.Now, Started: o.Started, From: of(o, measure.Measured)[0].Dispatched,
			TTFT: seen.TTFT, Warmup: 10, Issued: 120, OK: row.OK, Failed: row.Failed(), Cancelled: row.Cancelled, OutputTokens: *row.OutputTokens,
			Sessions: Gauge{0, *row.PeakSessions, *row.MeanSessions}, Requests: Gauge{0, *row.PeakRequests, *row.MeanRequests}, Prefills: Gauge{0, *row.PeakPrefills, *row.MeanPrefills},
		}
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
		if diff := cmp.Diff(want, seen, near); diff != "" {
			t.Errorf("live view (-results +live):\n%s", diff)
		}
		if p50 := *row.TTFT.P50; seen.TTFT.Seconds() < p50/1.05 || seen.TTFT.Seconds() > p50*1.05 {
			t.Errorf("live median of time to first token %v, of the results %v s", seen.TTFT, p50)
		}
	})
}

// Stamps are told in the order in which goroutines come to it, which is not that of the stamps.
func TestTheLiveViewIsRightWhateverTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.Int64Range(1, 1000)
		lateness := rapid.SampledFrom([]clock.Instant{0, 10, 100})
		var o measure.Outcome
		for i := range rapid.IntRange(1, 20).Draw(rt, "requests") {
			r := measure.Record{Index: int64(i), Status: measure.OK, Phase: rapid.SampledFrom([]measure.Phase{measure.Warmup, measure.Measured}).Draw(rt, "phase")}
			r.Dispatched = clock.Instant(at.Draw(rt, "dispatched"))
			r.FirstToken = r.Dispatched + clock.Instant(at.Draw(rt, "first token"))
			r.Ended = r.FirstToken + clock.Instant(at.Draw(rt, "ended"))
			o.Records = append(o.Records, r)
		}
		slices.SortFunc(o.Records, func(a, b measure.Record) int { return cmp2.Compare(a.Dispatched, b.Dispatched) })
		// Dispatches are told in their order, as the engine does under its lock; what follows comes up to 100 ns late. The window closes with the last
		// measured end.
		type event struct {
			at   clock.Instant
			tell func(*Live)
		}
		var events []event
		var last clock.Instant
		for i := range o.Records {
			r := &o.Records[i]
			late := lateness.Draw(rt, "late")
			if r.Phase == measure.Measured {
				last, late = max(last, r.Ended), 0
			}
			events = append(events,
				event{r.Dispatched, func(l *Live) { l.dispatched(r.Phase, r.Dispatched) }},
				event{r.FirstToken + late, func(l *Live) { l.firstToken(r.FirstToken) }},
				event{r.Ended + late, func(l *Live) { l.ended(r, false) }})
		}
		slices.SortStableFunc(events, func(a, b event) int { return cmp2.Compare(a.at, b.at) })
		live := new(Live)
		live.begin(clock.New(), 0, 1)
		closed := false
		for _, e := range events {
			if e.at > last && !closed {
				closed = true
				live.closeWindow(last)
			}
			e.tell(live)
		}
		live.closeWindow(last)
		row, seen := measure.Summarize(o, schema.PointLoad{}, schema.Limits{}), live.Snapshot()
		if row.MeanRequests == nil {
			return
		}
		for _, c := range []struct{ want, got float64 }{{*row.MeanRequests, seen.Requests.Mean}, {*row.MeanPrefills, seen.Prefills.Mean}} {
			if c.got-c.want > 1e-9 || c.want-c.got > 1e-9 {
				rt.Fatalf("mean %v, want %v", c.got, c.want)
			}
		}
		if seen.Requests.Peak < *row.PeakRequests || seen.Prefills.Peak < *row.PeakPrefills {
			rt.Fatalf("peaks %d and %d, of the results %d and %d", seen.Requests.Peak, seen.Prefills.Peak, *row.PeakRequests, *row.PeakPrefills)
		}
	})
}

func TestTheLiveWindowBeginsWithTheFirstMeasuredDispatch(t *testing.T) {
	live := new(Live)
	live.begin(clock.New(), 0, 1)
	warm := []measure.Record{{Dispatched: 10, FirstToken: 12, Ended: 14}, {Dispatched: 10, FirstToken: 12, Ended: 14}, {Dispatched: 11, FirstToken: 15, Ended: 18}}
	for i := range warm {
		live.dispatched(measure.Warmup, warm[i].Dispatched)
	}
	for i := range warm[:2] {
		live.firstToken(warm[i].FirstToken)
		live.ended(&warm[i], false)
	}
	live.dispatched(measure.Measured, 20)
	live.firstToken(15) // of the third, told late
	live.ended(&warm[2], false)
	live.firstToken(25)
	live.ended(&measure.Record{Phase: measure.Measured, Status: measure.OK, Dispatched: 20, FirstToken: 25, Ended: 40}, false)
	live.closeWindow(40)
	// When the window began two were in flight, as far as was known.
	want := Snapshot{Started: 1, From: 20, Warmup: 3, Issued: 1, OK: 1, Requests: Gauge{Peak: 2, Mean: 1}, Prefills: Gauge{Peak: 2, Mean: 0.25}}
	got := live.Snapshot()
	got.Now, got.TTFT = 0, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheLiveViewStartsAnewWithEachPoint(t *testing.T) {
	live := new(Live)
	set := func(_ *service, d *Deps) { d.Live = live }
	for _, lanes := range []int64{2, 8, 1} {
		plan := steady(time.Duration(lanes)*time.Second, time.Second)
		drive(t, Point{Load: closed(lanes), Requests: 20, WarmupRequests: 1, DrainTimeout: 100 * second}, plan, set, func(t *testing.T, o measure.Outcome, _ *service) {
			if s := live.Snapshot(); s.Requests.Peak != lanes || s.Sessions.Peak != lanes || s.Prefills.Peak > lanes || s.OK != 20 || s.Warmup != 1 {
				t.Errorf("after a point at %d: %+v", lanes, s)
			}
			if got := live.Snapshot().TTFT.Seconds() / float64(lanes); got < 1/1.05 || got > 1.05 {
				t.Errorf("after a point at %d: median of time to first token %v, want %d s", lanes, live.Snapshot().TTFT, lanes)
			}
		})
	}
}

func TestTheLiveMedian(t *testing.T) {
	var h histogram
	if h.median() != 0 {
		t.Errorf("of nothing: %v", h.median())
	}
	for _, d := range []time.Duration{1, 0, time.Millisecond, 300 * time.Millisecond, time.Hour} { // a time of 0 counts as 1 ns
		h.add(d)
	}
	if got := h.median(); got < 952*time.Microsecond || got > 1050*time.Microsecond {
		t.Errorf("median %v, want about 1 ms", got)
	}
}

func TestOnlyMeasuredRequestsMakeTheWriterLag(t *testing.T) {
	set := func(_ *service, d *Deps) {
		d.Probe = contextProbe
		d.Sink = func(r *measure.Record) {
			if r.Phase == measure.Probe {
				time.Sleep(time.Hour)
			}
		}
	}
	drive(t, Point{Load: closed(2), Requests: 4, ProbeTokens: 10, DrainTimeout: 10 * second}, uneven, set, func(t *testing.T, o measure.Outcome, _ *service) {
		if lag := *o.Health.WriterLag; lag != 0 {
			t.Errorf("writer lag %v s, want 0", lag)
		}
	})
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

func TestTheLiveViewShowsThePhases(t *testing.T) {
	live := new(Live)
	if s := live.Snapshot(); s != (Snapshot{}) {
		t.Errorf("before a point: %+v", s)
	}
	var phases []measure.Phase
	set := func(s *service, d *Deps) {
		d.Live, d.Probe = live, contextProbe
		d.Sink = func(*measure.Record) {
			if p := live.Snapshot().Phase; len(phases) == 0 || phases[len(phases)-1] != p {
				phases = append(phases, p)
			}
		}
	}
	point := Point{Load: closed(2), Requests: 20, WarmupRequests: 6, ProbeTokens: 10, DrainTimeout: 10 * second}
	drive(t, point, uneven, set, func(t *testing.T, o measure.Outcome, _ *service) {
		if diff := cmp.Diff([]measure.Phase{measure.Warmup, measure.Measured, measure.Hold, ""}, phases); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
	})
}

func TestClientHealthIsSampledDuringTheMeasuredPhase(t *testing.T) {
	point := Point{Load: closed(2), Requests: 20, WarmupRequests: 2, DrainTimeout: 10 * second}
	fresh := func(r *measure.Record, q workload.Request) script {
		r.ConnReused = r.Index%4 != 0
		return uneven(r, q)
	}
	drive(t, point, fresh, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		h := o.Health
		if h.LagP50 == nil || h.LagP99 == nil || h.LagMax == nil || *h.LagMax != 0 {
			t.Errorf("lag in virtual time: %v, %v, %v, want 0", h.LagP50, h.LagP99, h.LagMax)
		}
		if h.GCPauseMax == nil || h.GCPauseSum == nil || h.CPUShare == nil || h.WriterLag != nil {
			t.Errorf("health %+v", h)
		}
		if h.Connections == nil || *h.Connections != 5 {
			t.Errorf("new connections %v, want 5", h.Connections)
		}
	})
}

func TestHealthFigures(t *testing.T) {
	lags := make([]time.Duration, 200)
	for i := range lags {
		lags[i] = time.Duration(200-i) * time.Millisecond
	}
	at := time.Now()
	before := usage{at: at, cpu: time.Second, gc: time.Millisecond, pauses: []uint64{5, 1, 0, 0}, bounds: []float64{0, 1e-5, 1e-4, 1e-3, 1e-2}}
	after := usage{at: at.Add(10 * time.Second), cpu: 6 * time.Second, gc: 3 * time.Millisecond, pauses: []uint64{5, 1, 2, 0}, bounds: before.bounds}
	h := healthOf(lags, before, after)
	got := []float64{*h.LagP50, *h.LagP99, *h.LagMax, *h.GCPauseSum, *h.GCPauseMax}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff([]float64{0.1005, 0.19801, 0.2, 0.002, 1e-3}, got, near); diff != "" {
		t.Errorf("p50, p99, max, pauses, longest (-want +got):\n%s", diff)
	}
	if short := healthOf([]time.Duration{3, 1, 2}, before, before); *short.LagP99 != 3e-9 || *short.GCPauseMax != 0 || short.CPUShare != nil {
		t.Errorf("of three lags p99 is %v, longest pause %v, share %v", *short.LagP99, *short.GCPauseMax, short.CPUShare)
	}
	if none := healthOf(nil, before, after); none.LagP99 != nil || none.LagMax != nil || none.LagP50 != nil {
		t.Errorf("without lags: %+v", none)
	}
}

// A point at caps of 1 with trees that fork, join and think must not lock up, and a turn that sends nothing takes no slot (A6).
func TestATreeAtCapsOfOne(t *testing.T) {
	child := func(name string) *workload.Session {
		return &workload.Session{Turns: []workload.Turn{request(name + " 0"), {Delay: time.Second}, request(name + " 1")}}
	}
	session := func(measure.Phase, int64) (*workload.Session, error) {
		first, last := request("root 0"), request("root 2")
		first.Forks = []workload.Fork{{Session: child("left"), Inherits: true}, {Session: child("right")}}
		last.Join, last.Delay = true, 2*time.Second
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
