package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// inside starts lanes in the middle half of their sessions.
func inside() schema.Agentic {
	return schema.Agentic{Start: schema.Portion{From: 0.25, To: 0.75}, MaxIdleGap: 60 * second}
}

// talks is a workload of conversations of so many turns, each with think time before all turns but its first. The body of a turn's request names it
// and the answers it was made from: "measured 3/2 [a b]" is turn 2 of session 3.
func talks(turns int, think time.Duration) func(measure.Phase, int64) (*workload.Session, error) {
	return func(phase measure.Phase, index int64) (*workload.Session, error) {
		s := &workload.Session{Turns: make([]workload.Turn, turns)}
		for i := range s.Turns {
			name := fmt.Sprintf("%s %d/%d", phase, index, i)
			build := func(prefix string) func(answers []workload.Answer) (workload.Request, error) {
				return func(answers []workload.Answer) (workload.Request, error) {
					var said []string
					for _, a := range answers {
						said = append(said, a.Text)
					}
					return workload.Request{Body: fmt.Appendf(nil, "%s%s %v", prefix, name, said), OutputTokens: 5}, nil
				}
			}
			s.Turns[i] = workload.Turn{Build: build(""), Replay: &workload.Replay{
				Prefill: build("prefill "), Answer: func() workload.Answer { return workload.Answer{Text: fmt.Sprintf("assumed %d", i)} },
			}}
			if i > 0 {
				s.Turns[i].Delay = think
			}
		}
		return s, nil
	}
}

func bodies(records []measure.Record) []string {
	var all []string
	for _, r := range records {
		all = append(all, *r.FinishReason)
	}
	return all
}

func TestLanesStartInsideTheirSessions(t *testing.T) {
	load := schema.PointLoad{Concurrency: positive(4), AgenticWarmupRequestConcurrency: positive(2)}
	point := Point{Load: load, Requests: 40, Agentic: inside(), DrainTimeout: 10 * second, Seed: 5}
	set := func(_ *service, d *Deps) { d.Sessions = talks(8, 0) }
	drive(t, point, steady(time.Second, time.Second), set, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		burst, measured := of(o, measure.AgenticWarmup), of(o, measure.Measured)
		if len(burst) != 4 || len(measured) != 40 || len(o.Records) != 44 {
			t.Fatalf("%d requests in the burst, %d measured", len(burst), len(measured))
		}
		if err := capsHeld(o, load); err != nil {
			t.Error(err)
		}
		if got := slices.Max(s.seen[:4]); got != 2 {
			t.Errorf("%d of the burst were in flight at once, want the cap of 2", got)
		}
		starts := map[int]bool{}
		for _, r := range burst {
			var session, turn int
			if _, err := fmt.Sscanf(*r.FinishReason, "prefill measured %d/%d", &session, &turn); err != nil {
				t.Fatalf("the burst sent %q", *r.FinishReason)
			}
			var assumed []string
			for i := range turn {
				assumed = append(assumed, fmt.Sprintf("assumed %d", i))
			}
			if want := fmt.Sprintf("prefill measured %d/%d %v", session, turn, assumed); *r.FinishReason != want {
				t.Errorf("the burst sent %q, want %q", *r.FinishReason, want)
			}
			if turn < 1 || turn > 5 { // a quarter of 8 turns to three quarters, less the one that is sent before
				t.Errorf("session %d was started behind turn %d", session, turn)
			}
			starts[turn] = true
			i := slices.IndexFunc(measured, func(m measure.Record) bool { return m.Session == r.Session })
			next := measured[i]
			if want := fmt.Sprintf("measured %d/%d %v", session, turn+1, append(assumed, fmt.Sprintf("assumed %d", turn))); *next.FinishReason != want {
				t.Errorf("it goes on with %q, want %q", *next.FinishReason, want)
			}
			if next.Lane != r.Lane || next.Turn != 1 || next.Dispatched != burst[3].Ended {
				t.Errorf("lane %d sent it %v after the burst as request %d of its session", next.Lane, next.Dispatched.Sub(burst[3].Ended), next.Turn)
			}
			if span := o.Sessions[r.Session]; span.Start > r.Dispatched || span.End < next.Ended {
				t.Errorf("the session slot was held from %d to %d", span.Start, span.End)
			}
		}
		if len(starts) < 2 {
			t.Errorf("all sessions start behind turn %v", starts)
		}
		later := o.Records[slices.IndexFunc(o.Records, func(r measure.Record) bool { return r.Session == 4 })]
		if got := *later.FinishReason; later.Phase != measure.Measured || got != "measured 4/0 []" {
			t.Errorf("the first recycled lane sent %q", got)
		}
		if row := measure.Summarize(o, load, schema.Limits{}); *row.AgenticWarmupIssued != 4 || row.Issued != 40 || *row.PeakSessions != 4 {
			t.Errorf("the row says %d in the burst, %d measured, %d sessions", *row.AgenticWarmupIssued, row.Issued, *row.PeakSessions)
		}
	})
}

// The same seed starts sessions at the same turns, whatever became of requests; another one at others.
func TestStartsAreDrawnByTheSeed(t *testing.T) {
	starts := func(seed int64, plan func(*measure.Record, workload.Request) script) []string {
		point := Point{Load: closed(16), Requests: 16, Agentic: inside(), DrainTimeout: 10 * second, Seed: seed}
		var sent []string
		drive(t, point, plan, func(_ *service, d *Deps) { d.Sessions = talks(40, 0) }, func(t *testing.T, o measure.Outcome, _ *service) {
			complete(t, o)
			sent = bodies(of(o, measure.AgenticWarmup))
			slices.Sort(sent)
		})
		return sent
	}
	first := starts(1, steady(time.Second, 0))
	if diff := cmp.Diff(first, starts(1, uneven)); diff != "" {
		t.Errorf("the same seed (-want +got):\n%s", diff)
	}
	if slices.Equal(first, starts(2, uneven)) {
		t.Error("another seed starts sessions at the same turns")
	}
}

// Warmup, the burst and the measured phase have a cap each, and one count in flight: a request of warmup that is still in flight keeps its slot.
func TestTheBurstComesBetweenWarmupAndTheMeasuredPhase(t *testing.T) {
	for _, c := range []struct{ warmup, burst, measured int64 }{{8, 1, 4}, {2, 8, 2}, {1, 4, 8}, {4, 0, 8}, {0, 0, 3}} {
		t.Run(fmt.Sprintf("caps of %d, %d and %d", c.warmup, c.burst, c.measured), func(t *testing.T) {
			load := schema.PointLoad{
				Concurrency: positive(8), WarmupRequestConcurrency: positive(c.warmup), AgenticWarmupRequestConcurrency: positive(c.burst),
				RequestConcurrency: positive(c.measured),
			}
			point := Point{Load: load, Requests: 60, WarmupRequests: 12, Agentic: inside(), DrainTimeout: 10 * second}
			drive(t, point, uneven, func(_ *service, d *Deps) { d.Sessions = talks(30, 0) }, func(t *testing.T, o measure.Outcome, _ *service) {
				complete(t, o)
				if err := capsHeld(o, load); err != nil {
					t.Error(err)
				}
				warm, burst := of(o, measure.Warmup), of(o, measure.AgenticWarmup)
				if len(warm) != 12 || len(burst) != 8 {
					t.Fatalf("%d requests of warmup, %d of the burst", len(warm), len(burst))
				}
				phases := slices.Compact(phasesOf(o.Records))
				if diff := cmp.Diff([]measure.Phase{measure.Warmup, measure.AgenticWarmup, measure.Measured}, phases); diff != "" {
					t.Errorf("phases (-want +got):\n%s", diff)
				}
				if !slices.ContainsFunc(warm, func(r measure.Record) bool { return r.Ended > burst[0].Dispatched }) && c.burst != 1 && c.measured > 3 {
					t.Error("warmup was drained")
				}
				first := of(o, measure.Measured)[0].Dispatched
				for _, r := range burst {
					if r.Ended > first || !strings.HasPrefix(*r.FinishReason, "prefill measured ") {
						t.Errorf("%q ended %v after the first measured dispatch", *r.FinishReason, r.Ended.Sub(first))
					}
				}
			})
		})
	}
}

func phasesOf(records []measure.Record) []measure.Phase {
	var phases []measure.Phase
	for _, r := range records {
		phases = append(phases, r.Phase)
	}
	return phases
}

// A session of warmup ends with what it has in flight, however long it would go on: the lane is wanted for the burst.
func TestSessionsOfWarmupEndWithIt(t *testing.T) {
	point := Point{Load: closed(3), Requests: 30, WarmupRequests: 7, Agentic: inside(), DrainTimeout: 10 * second}
	sessions := func(phase measure.Phase, index int64) (*workload.Session, error) {
		s, err := talks(6, 0)(phase, index)
		if phase == measure.Warmup {
			s.Turns[3].Delay = time.Hour
			s.Turns[0].Forks = []workload.Fork{{Session: &workload.Session{Turns: []workload.Turn{request("fork"), {Delay: time.Hour}, request("late")}}, JoinAt: 5}}
		}
		return s, err
	}
	drive(t, point, steady(time.Second, time.Second), func(_ *service, d *Deps) { d.Sessions = sessions }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		warm, burst := of(o, measure.Warmup), of(o, measure.AgenticWarmup)
		if len(warm) != 7 || len(burst) != 3 {
			t.Fatalf("%d requests of warmup and %d of the burst", len(warm), len(burst))
		}
		if wait := burst[2].Dispatched.Sub(warm[6].Dispatched); wait > 2*time.Second {
			t.Errorf("the burst was whole %v after the last of warmup was sent: sessions of warmup were waited for", wait)
		}
	})
}

// A warmup that fails means a cold cache: nothing is measured, the reason is said, and what was sent is kept.
func TestAFailedCacheWarmupFailsThePoint(t *testing.T) {
	plan := func(_ *measure.Record, q workload.Request) script {
		if strings.HasPrefix(string(q.Body), "prefill measured 2/") {
			return script{prefill: time.Second, status: measure.HTTPError}
		}
		return script{prefill: 2 * time.Second}
	}
	point := Point{Load: closed(4), Requests: 40, WarmupRequests: 4, Agentic: inside(), DrainTimeout: 10 * second}
	drive(t, point, plan, func(_ *service, d *Deps) { d.Sessions = talks(8, 0) }, func(t *testing.T, o measure.Outcome, _ *service) {
		if want := "the cache warmup of session 6 ended with http_error: scripted: "; !strings.HasPrefix(o.Aborted, want) {
			t.Errorf("aborted with %q, want %q", o.Aborted, want)
		}
		if n := len(of(o, measure.AgenticWarmup)); n != 4 || len(of(o, measure.Measured)) != 0 {
			t.Errorf("%d requests of the burst are kept, and %d were measured", n, len(of(o, measure.Measured)))
		}
		row := measure.Summarize(o, point.Load, schema.Limits{})
		if row.Status != measure.PointFailed || row.Reason == nil || *row.Reason != o.Aborted {
			t.Errorf("the point is %s", row.Status)
		}
	})
}

// One token may have no text, and a declared share of cancellations is not for the burst.
func TestTheBurstBearsEmptyAnswersAndIsNotCancelled(t *testing.T) {
	plan := func(_ *measure.Record, q workload.Request) script {
		if strings.HasPrefix(string(q.Body), "prefill") {
			return script{prefill: 5 * time.Second, status: measure.Empty}
		}
		return script{prefill: time.Second}
	}
	point := Point{Load: closed(4), Requests: 40, Agentic: inside(), DrainTimeout: 10 * second, Cancel: Cancel{Share: 1, After: 2 * second}}
	drive(t, point, plan, func(_ *service, d *Deps) { d.Sessions = talks(8, 0) }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		for _, r := range of(o, measure.AgenticWarmup) {
			if r.Status != measure.Empty {
				t.Errorf("a request of the burst ended %s", r.Status)
			}
		}
		if n := len(of(o, measure.Measured)); n != 40 {
			t.Errorf("%d were measured", n)
		}
	})
}

// No pause is longer than the cap, and of the pause before a session's start a part is over, another one in each lane.
func TestIdleGapsAreCapped(t *testing.T) {
	agentic := inside()
	agentic.MaxIdleGap = 10 * second
	point := Point{Load: closed(16), Requests: 60, Agentic: agentic, DrainTimeout: 10 * second}
	drive(t, point, steady(4*time.Second, 0), func(_ *service, d *Deps) { d.Sessions = talks(8, time.Hour) }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		begun := of(o, measure.AgenticWarmup)[15].Ended
		before := map[int64]measure.Record{}
		var first []float64
		for _, r := range o.Records {
			last, follows := before[r.Session]
			before[r.Session] = r
			if r.Scheduled != r.Dispatched {
				t.Errorf("request %d was scheduled at %d and dispatched at %d", r.Index, r.Scheduled, r.Dispatched)
			}
			gap := r.Dispatched.Sub(last.Ended)
			switch {
			case follows && last.Phase == measure.AgenticWarmup:
				first = append(first, r.Dispatched.Sub(begun).Seconds())
			case follows && gap != 10*time.Second:
				t.Errorf("request %d of session %d came %v after the one before, want the cap of 10 s", r.Turn, r.Session, gap)
			}
		}
		// Sixteen draws from 0 to 10 s: some are early, some late, and no two alike.
		slices.Sort(first)
		if len(slices.Compact(first)) != 16 || first[0] < 0 || first[0] > 3 || first[15] < 7 || first[15] > 10 {
			t.Errorf("lanes go on %v s after the start of the measured phase", first)
		}
	})
}

// What turns before the start forked is over, and a session of one turn has nothing to warm; it waits for the others all the same.
func TestWhatCameBeforeTheStartIsOver(t *testing.T) {
	sessions := func(phase measure.Phase, index int64) (*workload.Session, error) {
		turns := 4
		if index == 1 {
			turns = 1
		}
		s, err := talks(turns, 0)(phase, index)
		for i := range s.Turns[:len(s.Turns)-1] {
			s.Turns[i].Forks = []workload.Fork{{Session: &workload.Session{Turns: []workload.Turn{request(fmt.Sprintf("fork of %d/%d", index, i))}}, JoinAt: i + 1}}
		}
		// A turn that sends nothing is none of the turns that are counted.
		s.Turns = append([]workload.Turn{{}}, s.Turns...)
		for i := range s.Turns {
			for f := range s.Turns[i].Forks {
				s.Turns[i].Forks[f].JoinAt++
			}
		}
		return s, err
	}
	agentic := schema.Agentic{Start: schema.Portion{From: 0.5, To: 0.5}, MaxIdleGap: second}
	point := Point{Load: closed(2), Requests: 5, Agentic: agentic, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second, 0), func(_ *service, d *Deps) { d.Sessions = sessions }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		want := []string{
			"prefill measured 0/1 [ assumed 0]", "measured 0/2 [ assumed 0 assumed 1]", "measured 1/0 []", "fork of 0/2", "measured 2/0 []",
		}
		got := bodies(o.Records[:5])
		slices.Sort(got[1:3]) // sent at the same instant, as are the last two
		slices.Sort(got[3:])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if at := of(o, measure.Measured)[0].Dispatched; at != o.Records[0].Ended {
			t.Errorf("the measured phase began %v after the end of the burst", at.Sub(o.Records[0].Ended))
		}
	})
}

func TestAgenticReplayThatCannotBe(t *testing.T) {
	backwards := inside()
	backwards.Start = schema.Portion{From: 0.5, To: 0.25}
	for want, c := range map[string]struct {
		point    Point
		sessions func(measure.Phase, int64) (*workload.Session, error)
	}{
		"needs a closed loop":            {Point{Load: schema.PointLoad{RequestRate: new(4.0)}, Agentic: inside()}, talks(4, 0)},
		"between two shares from 0 to 1": {Point{Load: closed(1), Agentic: backwards}, talks(4, 0)},
		"it can't be started behind turn 0: the wo": {Point{Load: closed(1), Agentic: inside()}, func(measure.Phase, int64) (*workload.Session, error) {
			return &workload.Session{Turns: []workload.Turn{request("a"), request("b")}}, nil
		}},
	} {
		c.point.Requests, c.point.DrainTimeout, c.point.Arrivals.Process = 4, second, "constant"
		drive(t, c.point, steady(0, 0), func(_ *service, d *Deps) { d.Sessions = c.sessions }, func(t *testing.T, o measure.Outcome, _ *service) {
			if !strings.Contains(o.Aborted, want) {
				t.Errorf("aborted with %q, want %q", o.Aborted, want)
			}
		})
	}
}

// Each lane begins with a session of its own, even where fewer requests are measured than there are lanes.
func TestMoreLanesThanMeasuredRequests(t *testing.T) {
	load := schema.PointLoad{Concurrency: positive(8), RequestConcurrency: positive(2)}
	point := Point{Load: load, Requests: 2, Agentic: inside(), DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second, 0), func(_ *service, d *Deps) { d.Sessions = talks(8, 0) }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if burst, measured := len(of(o, measure.AgenticWarmup)), len(of(o, measure.Measured)); burst != 8 || measured != 2 {
			t.Errorf("%d requests in the burst, %d measured, want 8 and 2", burst, measured)
		}
	})
}

// A request of warmup that was granted its slots just before the burst is not sent any more.
func TestWarmupSendsNothingInTheBurst(t *testing.T) {
	e := newEngine(t.Context(), Point{Load: closed(2), Requests: 10, WarmupRequests: 10, Agentic: inside()}, Deps{Clock: clock.New()})
	e.begin()
	f := &flight{engine: e, tree: &tree{brief: true}}
	if err := e.gates.TryTake(&f.slots, slots.Request, e.stopOf(f.tree)); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.burst(e.clock.Now())
	e.mu.Unlock()
	if err := e.commit(f); err == nil || f.record != nil {
		t.Errorf("it was sent in the phase %s", f.record.Phase)
	}
	if err := e.stopOf(f.tree)(); err == nil {
		t.Error("its session may send more")
	}
}
