package runner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// uneven gives requests lengths from 1 to 2 s, no two alike, so that no two end at one instant.
func uneven(r *measure.Record, _ workload.Request) script {
	random := rand.New(rand.NewPCG(1, uint64(r.Index)))
	return script{prefill: 100 * time.Millisecond, decode: 900*time.Millisecond + time.Duration(random.Int64N(1e9))}
}

// A default of ten requests at any concurrency left a point at 64 with far fewer in flight elsewhere (RIVALS.md, fault 1).
func TestAPointAt64Has64InFlight(t *testing.T) {
	point := Point{Load: closed(64), Requests: 640, WarmupRequests: 64, DrainTimeout: 10 * second}
	drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		row := measure.Summarize(o, point.Load, schema.Limits{})
		if row.Issued != 640 || row.OK != 640 || row.WarmupIssued != 64 {
			t.Errorf("%d measured and %d warmup requests issued, %d ok; want 640, 64, 640", row.Issued, row.WarmupIssued, row.OK)
		}
		if row.SteadyMeanRequests == nil || *row.SteadyMeanRequests != 64 {
			t.Errorf("steady mean in flight %v, want 64", show(row.SteadyMeanRequests))
		}
		if *row.PeakRequests != 64 || s.peakRequests != 64 || *row.PeakSessions != 64 {
			t.Errorf("peak in flight: %d recorded, %d at the service, %d sessions; want 64", *row.PeakRequests, s.peakRequests, *row.PeakSessions)
		}
		if *row.TargetInFlight != 64 || *row.TargetSessions != 64 {
			t.Errorf("targets %d and %d, want 64", *row.TargetInFlight, *row.TargetSessions)
		}
		for i, n := range s.seen {
			if i >= 64 && n != 64 {
				t.Fatalf("dispatch %d made %d in flight, want 64", i, n)
			}
		}
	})
}

func show(p *float64) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

// https://github.com/ray-project/llmperf/issues/56: the next request waited until all in flight had ended.
func TestASlotIsRefilledTheMomentItsRequestEnds(t *testing.T) {
	point := Point{Load: closed(8), Requests: 100, DrainTimeout: second}
	drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		ended := map[int64]measure.Record{} // the last request of each lane
		for _, r := range o.Records {
			if before, ok := ended[r.Lane]; ok && (r.Dispatched != before.Ended || r.Scheduled != before.Ended) {
				t.Fatalf("lane %d: ended at %d, next scheduled at %d and dispatched at %d", r.Lane, before.Ended, r.Scheduled, r.Dispatched)
			}
			ended[r.Lane] = r
		}
		if len(ended) != 8 {
			t.Errorf("%d lanes sent, want 8", len(ended))
		}
	})
}

func TestCapsBoundEachDimension(t *testing.T) {
	for _, c := range []struct{ sessions, requests, prefills int64 }{{16, 0, 0}, {16, 4, 0}, {0, 4, 0}, {16, 8, 2}, {16, 0, 3}, {1, 1, 1}, {4, 4, 4}} {
		t.Run(fmt.Sprintf("%d sessions, %d requests, %d prefills", c.sessions, c.requests, c.prefills), func(t *testing.T) {
			load := schema.PointLoad{Concurrency: positive(c.sessions), RequestConcurrency: positive(c.requests), PrefillConcurrency: positive(c.prefills)}
			point := Point{Load: load, Requests: 200, DrainTimeout: 10 * second}
			drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, s *service) {
				complete(t, o)
				row := measure.Summarize(o, load, schema.Limits{})
				sessions, requests, prefills := load.Lanes(), load.Slots(), load.Slots()
				if c.prefills > 0 {
					prefills = min(prefills, c.prefills)
				}
				want := []int64{sessions, requests, requests, prefills, prefills}
				got := []int64{*row.PeakSessions, *row.PeakRequests, s.peakRequests, *row.PeakPrefills, s.peakPrefills}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("peaks of sessions, requests (twice), prefills (twice) (-want +got):\n%s", diff)
				}
				if row.OK != 200 {
					t.Errorf("%d ok, want 200", row.OK)
				}
			})
		})
	}
}

func positive(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func TestEveryWayToFailFreesItsSlotsAndStopsNothing(t *testing.T) {
	for _, status := range measure.Statuses() {
		for _, decode := range []time.Duration{0, 50 * time.Millisecond} { // before and after the first token
			t.Run(fmt.Sprintf("%s after %v", status, decode), func(t *testing.T) {
				plan := func(r *measure.Record, _ workload.Request) script {
					if r.Index%2 == 0 {
						return script{prefill: 10 * time.Millisecond, decode: decode, status: status}
					}
					return script{prefill: 20 * time.Millisecond, decode: 30 * time.Millisecond}
				}
				load := schema.PointLoad{Concurrency: positive(2), RequestConcurrency: positive(1), PrefillConcurrency: positive(1)}
				drive(t, Point{Load: load, Requests: 20, DrainTimeout: second}, plan, nil, func(t *testing.T, o measure.Outcome, s *service) {
					complete(t, o) // which includes that slots taken are slots freed
					var failed, ok int
					for _, r := range o.Records {
						switch r.Status {
						case measure.OK:
							ok++
						case status:
							failed++
						}
					}
					if status == measure.OK && ok != 20 || status != measure.OK && (ok != 10 || failed != 10) {
						t.Errorf("%d ok, %d %s", ok, failed, status)
					}
					if s.peakRequests != 1 {
						t.Errorf("%d in flight at a cap of 1", s.peakRequests)
					}
				})
			})
		}
	}
}

func TestRecordsSayWhatWasAskedAndKeepAFewSamples(t *testing.T) {
	point := Point{Load: closed(1), Requests: 10, WarmupRequests: 5, DrainTimeout: 10 * second}
	drive(t, point, uneven, nil, func(t *testing.T, o measure.Outcome, s *service) {
		complete(t, o)
		sampled := map[measure.Phase]int{}
		for i, r := range o.Records {
			if r.Index != int64(i) || r.Session != int64(i) || r.Turn != 0 || *r.RequestedPromptTokens != 10 || *r.RequestedOutputTokens != 5 {
				t.Errorf("record %d: index %d, session %d, turn %d, asked %d and %d", i, r.Index, r.Session, r.Turn, *r.RequestedPromptTokens, *r.RequestedOutputTokens)
			}
			if i > 0 && r.Dispatched < o.Records[i-1].Dispatched {
				t.Errorf("record %d was dispatched before the one before it", i)
			}
			if r.Sample != nil {
				sampled[r.Phase]++
			}
		}
		if diff := cmp.Diff(map[measure.Phase]int{measure.Warmup: 3, measure.Measured: 3}, sampled); diff != "" {
			t.Errorf("samples kept (-want +got):\n%s", diff)
		}
		if len(o.Sessions) != 15 || s.sent[0] != "warmup 0" || s.sent[5] != "measured 0" || s.sent[14] != "measured 9" {
			t.Errorf("%d sessions; sent %q", len(o.Sessions), s.sent)
		}
	})
}

func TestADurationEndsTheMeasuredPhaseToTheNanosecond(t *testing.T) {
	point := Point{Load: closed(4), Duration: 10 * second, WarmupRequests: 4, DrainTimeout: 10 * second}
	drive(t, point, steady(100*time.Millisecond, 199*time.Millisecond), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		measured := of(o, measure.Measured)
		begun, last := measured[0].Dispatched, measured[len(measured)-1].Dispatched
		// The duration counts from the first measured dispatch, when the first of warmup has ended: the 34th wave, at 9.867 s of it, is the last.
		if got := last.Sub(begun); got >= 10*time.Second || got < 9700*time.Millisecond {
			t.Errorf("the last dispatch came %v after the first", got)
		}
		if begun.Sub(o.Started) != 299*time.Millisecond {
			t.Errorf("the first measured dispatch came %v after the start", begun.Sub(o.Started))
		}
		row := measure.Summarize(o, point.Load, schema.Limits{})
		if row.OK != row.Issued || row.Issued != 34*4 {
			t.Errorf("%d issued, %d ok, want 136", row.Issued, row.OK)
		}
	})
}

// A duration below the time of one request was over while warmup's requests still held all lanes: nothing was measured.
func TestADurationMayBeShorterThanARequest(t *testing.T) {
	point := Point{Load: closed(4), Duration: second, WarmupRequests: 4, DrainTimeout: 10 * second}
	drive(t, point, steady(time.Second, 2*time.Second), nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if row := measure.Summarize(o, point.Load, schema.Limits{}); row.OK != 4 || *row.Wall != 3 {
			t.Errorf("%d requests were ok, want the first 4, in 3 s", row.OK)
		}
	})
}

// Every request fails at once. Where only time bounds the phase, a lane must not spin.
func TestAServiceThatRefusesIsNotHammeredForADuration(t *testing.T) {
	refuse := func(*measure.Record, workload.Request) script { return script{status: measure.ConnectError} }
	point := Point{Load: closed(4), Duration: 10 * second, DrainTimeout: second}
	drive(t, point, refuse, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if n := len(o.Records); n != 4*100 {
			t.Errorf("%d requests in 10 s over 4 lanes, want 10 a second each", n)
		}
	})
	point = Point{Load: closed(4), Requests: 400, DrainTimeout: second}
	drive(t, point, refuse, nil, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if len(o.Records) != 400 || o.Finished != o.Started {
			t.Errorf("%d requests in %v, want 400 at once", len(o.Records), o.Finished.Sub(o.Started))
		}
	})
}

func TestARefusingServiceIsNotHammeredWhereOnlyTimeBoundsAPhase(t *testing.T) {
	plan := func(r *measure.Record, _ workload.Request) script {
		switch r.Phase {
		case measure.Measured:
			return script{decode: time.Second}
		case measure.Probe:
			return script{decode: 10 * time.Second}
		}
		return script{status: measure.ConnectError}
	}
	// Lane 0 starts at once and lane 1 in the middle of the ramp, so they are ready for 2 s and 1 s of it.
	point := Point{Load: closed(2), Requests: 4, RampUp: 2 * second, ProbeTokens: 100, DrainTimeout: 10 * second}
	drive(t, point, plan, func(_ *service, d *Deps) { d.Probe = contextProbe }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		if n := len(of(o, measure.Warmup)); n < 28 || n > 32 {
			t.Errorf("%d requests in the ramp, want 10 a second of each lane: 30", n)
		}
		// Requests that fail at once leave a session slot for the probe, which takes 10 s.
		if n := len(of(o, measure.Hold)); n < 190 || n > 220 {
			t.Errorf("%d requests beside the probe, want 10 a second of each lane: 200", n)
		}
	})
}
