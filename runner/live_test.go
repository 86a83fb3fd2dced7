package runner

import (
	cmp2 "cmp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

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
