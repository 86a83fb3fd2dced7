package selector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func ref[T any](v T) *T { return &v }

// rule has the preset's defaults, and a limit on the median time to first token where there is one.
func rule(maxTTFT time.Duration) Rule {
	r := Rule{
		Limits: schema.Limits{TTFTStat: "p50", TPOTStat: "p50", TotalTimeStat: "p50", MaxErrorRate: 0.01},
		Select: schema.Select{Maximize: "output_tok_per_s", Across: "selected", Tolerance: schema.Tolerance{InFlight: 0.95, OutputLength: 0.95, Rate: 0.05}},
	}
	if maxTTFT > 0 {
		r.Limits.MaxTTFT = ref(schema.Duration(maxTTFT))
	}
	return r
}

// row is a sound measurement of 100 requests at a concurrency.
func row(concurrency int64, throughput, ttft float64) measure.Point {
	return measure.Point{
		PointLoad: schema.PointLoad{Concurrency: &concurrency}, Status: measure.PointCompleted, Workload: "random", Cache: "isolated",
		Counts: measure.Counts{Issued: 100, OK: 100}, SuccessRate: ref(1.0), ErrorRate: ref(0.0), OutputTokens: ref(int64(1000)), PromptRatio: ref(1.0),
		OutputTokPerS: &throughput, SteadyOutputTokPS: ref(throughput * 1.01), TargetInFlight: &concurrency, TargetSessions: &concurrency,
		InFlight: measure.InFlight{SteadyMeanRequests: ref(float64(concurrency)), SteadyMeanSessions: ref(float64(concurrency))},
		TTFT:     measure.Dist{N: 100, P50: &ttft}, TTFTAll: measure.AllDist{P50: &ttft},
		TPOT: measure.Dist{N: 100}, TotalTime: measure.Dist{N: 100},
		Health: measure.Health{LagP99: ref(0.001)},
	}
}

// point is a candidate with the given measurements as its repeats.
func point(repeats ...measure.Point) Candidate {
	c := Candidate{Load: repeats[0].PointLoad}
	c.PointID = fmt.Sprintf("c%d", *c.Load.Concurrency)
	for i := range repeats {
		repeats[i].PointID, repeats[i].Repeat = c.PointID, int64(i)
	}
	c.Repeats = repeats
	return c
}

// with changes a row.
func with(row measure.Point, change func(p *measure.Point)) measure.Point {
	change(&row)
	return row
}

// ladder is a series with the given throughputs and times to first token at 1, 2, 4, …
func ladder(throughputs, ttfts []float64) Series {
	s := Series{TrialID: "t1", TrialName: "baseline"}
	for i := range throughputs {
		s.Points = append(s.Points, point(row(1<<i, throughputs[i], ttfts[i])))
	}
	return s
}

func selected(v Verdict) string {
	if v.Selected == nil {
		return "none"
	}
	return *v.Selected
}

// mustContain checks that a text says each of some things, in one paragraph.
func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
	if strings.Contains(text, "\n") {
		t.Errorf("a line break in: %s", text)
	}
}
