package runner

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// instant answers without waiting, so that what is left is the engine's own cost.
type instant struct{ clock clock.Clock }

func (s instant) Send(_ context.Context, _ workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	r.FirstToken = s.clock.Now()
	firstToken()
	r.Ended, r.Status = r.FirstToken, measure.OK
	return workload.Answer{}
}

func BenchmarkEnginePerRequest(b *testing.B) {
	session := &workload.Session{Turns: []workload.Turn{request("x")}}
	for _, lanes := range []int64{1, 64, 512} {
		b.Run(fmt.Sprintf("%d lanes", lanes), func(b *testing.B) {
			c := clock.New()
			point := Point{Load: closed(lanes), Requests: int64(b.N)}
			point.Load.RequestConcurrency, point.Load.PrefillConcurrency = &lanes, &lanes
			b.ReportAllocs()
			o := Run(context.Background(), point, Deps{
				Sender: instant{c}, Clock: c, Sink: func(*measure.Record) {},
				Sessions: func(measure.Phase, int64) (*workload.Session, error) { return session, nil },
			})
			if o.Aborted != "" {
				b.Fatal(o.Aborted)
			}
		})
	}
}

// streaming wakes for every event of its response, as a client that reads a socket does.
type streaming struct {
	clock  clock.Clock
	events int
	gap    time.Duration
}

func (s streaming) Send(_ context.Context, _ workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	// The first gap differs, so that ends are spread out.
	ticks := time.NewTimer(s.gap + time.Duration(r.Index*7919%1000)*s.gap/1000)
	defer ticks.Stop()
	for i := range s.events {
		<-ticks.C
		ticks.Reset(s.gap)
		if i == 0 {
			r.FirstToken = s.clock.Now()
			firstToken()
		}
	}
	r.Ended, r.Status = s.clock.Now(), measure.OK
	return workload.Answer{}
}

// BenchmarkRefill tells how long a lane takes from the end of a request to the dispatch of its next, while 512 streams of 20 events a second keep
// the process busy.
func BenchmarkRefill(b *testing.B) {
	const lanes = 512
	for b.Loop() {
		c := clock.New()
		point := Point{Load: closed(lanes), Requests: 10 * lanes, WarmupRequests: lanes, DrainTimeout: 10 * second}
		point.Load.RequestConcurrency = positive(lanes)
		o := Run(context.Background(), point, Deps{Sender: streaming{c, 20, 50 * time.Millisecond}, Clock: c, Sessions: single, Sink: func(*measure.Record) {}})
		var waits []time.Duration
		last := map[int64]clock.Instant{}
		for _, r := range o.Records {
			if ended, ok := last[r.Lane]; ok {
				waits = append(waits, r.Dispatched.Sub(ended))
			}
			last[r.Lane] = r.Ended
		}
		slices.Sort(waits)
		b.ReportMetric(float64(waits[len(waits)/2].Nanoseconds()), "p50-ns")
		b.ReportMetric(float64(waits[len(waits)*99/100].Nanoseconds()), "p99-ns")
		b.ReportMetric(float64(waits[len(waits)-1].Nanoseconds()), "max-ns")
		b.ReportMetric(1e6**o.Health.LagP99, "lag-p99-µs")
	}
}

// BenchmarkSentinel tells what share of a core the sentinel takes in a process that does nothing else.
func BenchmarkSentinel(b *testing.B) {
	for b.Loop() {
		before, at := clock.Processor(), time.Now()
		s := watchClient(clock.New(), clock.NewTicker)
		time.Sleep(2 * time.Second)
		h := s.stop()
		b.ReportMetric(100*(clock.Processor()-before).Seconds()/time.Since(at).Seconds(), "%-of-a-core")
		b.ReportMetric(1e6**h.LagP50, "lag-p50-µs")
		b.ReportMetric(1e6**h.LagP99, "lag-p99-µs")
	}
}
