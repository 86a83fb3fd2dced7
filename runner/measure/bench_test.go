package measure

import (
	"math/rand/v2"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// busyOutcome is a closed loop of 512 lanes whose requests take about 2 s and stream 32 tokens in 16 chunks each.
func busyOutcome(n int) Outcome {
	const lanes = 512
	random := rand.New(rand.NewPCG(1, 2))
	tokens, source := int64(32), FromServer
	free := make([]clock.Instant, lanes)
	for lane := range free {
		free[lane] = clock.Instant(1e15) + clock.Instant(random.Int64N(2e9))
	}
	o := Outcome{Records: make([]Record, n), Started: 1e15, Target: lanes, TargetSessions: lanes}
	for i := range o.Records {
		lane := i % lanes
		r := Record{Index: int64(i), Lane: int64(lane), Phase: Measured, Status: OK, OutputTokens: &tokens, PromptTokens: &tokens, TokenSource: &source}
		if i < lanes {
			r.Phase = Warmup
		}
		r.Scheduled, r.Dispatched = free[lane], free[lane]+1000
		at := 100e6 + random.Int64N(50e6)
		r.Chunks = make([]int64, 16)
		for c := range r.Chunks {
			r.Chunks[c] = at
			at += 90e6 + random.Int64N(60e6)
		}
		r.FirstToken, r.LastToken = r.Dispatched+clock.Instant(r.Chunks[0]), r.Dispatched+clock.Instant(r.Chunks[15])
		r.FirstOutput, r.Ended = r.FirstToken, r.LastToken+1e6
		free[lane] = r.Ended + 50e3
		o.Records[i] = r
		o.Sessions = append(o.Sessions, Span{r.Scheduled, r.Ended})
		o.Finished = max(o.Finished, r.Ended)
	}
	o.Records = inOrder(o.Records)
	return o
}

// A million records, 15 million gaps between chunks: to stay under a second and 300 MB. CPU time says more than the time that has passed where the machine is
// busy with something else.
func BenchmarkSummarize(b *testing.B) {
	limit := schema.Duration(500 * time.Millisecond)
	lanes := int64(512)
	o := busyOutcome(1_000_000)
	b.ReportAllocs()
	before := clock.Processor()
	for b.Loop() {
		Summarize(o, schema.PointLoad{Concurrency: &lanes}, schema.Limits{MaxTTFT: &limit})
	}
	b.ReportMetric((clock.Processor()-before).Seconds()/float64(b.N), "cpu-s/op")
}
