package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

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

// Regression: a stall of 100 ms in each second was one late run of ninety, though one instant of ten came late.
func TestAStallCountsAtEachInstantThatItHeldUp(t *testing.T) {
	s := &sentinel{}
	at := func(d time.Duration) clock.Instant { return clock.Instant(time.Hour + d) }
	due := at(20 * time.Millisecond)
	for _, run := range []struct{ now, next time.Duration }{
		{20 * time.Millisecond, 40 * time.Millisecond},
		{39 * time.Millisecond, 40 * time.Millisecond}, // woken before its time
		{41 * time.Millisecond, 60 * time.Millisecond},
		{155 * time.Millisecond, 160 * time.Millisecond},
	} {
		if due = s.ran(due, at(run.now)); due != at(run.next) {
			t.Errorf("run at %v it wants to be run at %v, want %v", run.now, due.Sub(at(0)), run.next)
		}
	}
	want := []time.Duration{0, 1e6, 95e6, 75e6, 55e6, 35e6, 15e6}
	if diff := cmp.Diff(want, s.lags); diff != "" {
		t.Errorf("lags (-want +got):\n%s", diff)
	}
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
