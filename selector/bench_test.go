package selector

import (
	"math/rand/v2"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// A million requests, of eight points measured five times each, are made one sample for each point and judged: to stay under a second. CPU time says more than
// the time that has passed where the machine is busy with something else.
func BenchmarkJudgeAMillionRequests(b *testing.B) {
	const points, repeats, requests = 8, 5, 25_000
	random := rand.New(rand.NewPCG(1, 2))
	tokens := int64(32)
	s := Series{TrialID: "t1", TrialName: "baseline"}
	records := make([][]measure.Record, points)
	for p := range points {
		level, pooled := int64(1)<<p, measure.Pooled{}
		var rows []measure.Point
		for range repeats {
			rows = append(rows, row(level, float64(100*level), 0.01*float64(level)))
		}
		candidate := point(rows...)
		candidate.Pooled = &pooled
		s.Points = append(s.Points, candidate)
		for range repeats * requests {
			first := clock.Instant(1e9 + level*1e7 + random.Int64N(1e7))
			records[p] = append(records[p], measure.Record{Phase: measure.Measured, Status: measure.OK, Scheduled: 1e9, Dispatched: 1e9, FirstToken: first,
				LastToken: first + clock.Instant(1e9+random.Int64N(1e8)), Ended: first + 2e9, OutputTokens: &tokens})
		}
	}
	b.ReportAllocs()
	before := clock.Processor()
	for b.Loop() {
		for p := range records {
			var pool measure.Pool
			pool.AddAll(records[p])
			*s.Points[p].Pooled = pool.Pooled()
		}
		if v := Judge(s, rule(100*time.Millisecond)); selected(v) != "c8" {
			b.Fatalf("selected %s: %s", selected(v), v.Text())
		}
	}
	b.ReportMetric((clock.Processor()-before).Seconds()/float64(b.N), "cpu-s/op")
}
