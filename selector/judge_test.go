package selector

import (
	"math"
	"testing"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func TestSelection(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name        string
		limit       time.Duration
		throughputs []float64
		ttfts       []float64
		selected    string
		feasible    bool
		status      string
	}{
		{"highest throughput within the limit", 300 * time.Millisecond, []float64{100, 180, 300, 500}, []float64{0.1, 0.15, 0.2, 0.9}, "c4", true, "completed"},
		{"no limit", 0, []float64{100, 180, 300, 500}, []float64{0.1, 0.15, 0.2, 0.9}, "c8", true, "completed"},
		{"equal passes", 900 * time.Millisecond, []float64{100, 180, 300, 500}, []float64{0.1, 0.15, 0.2, 0.9}, "c8", true, "completed"},
		{"not the highest load", 0, []float64{100, 180, 170}, []float64{0.1, 0.2, 0.3}, "c2", true, "completed"},
		{"a tie goes to the lower ttft", 0, []float64{100, 180, 180}, []float64{0.1, 0.3, 0.2}, "c4", true, "completed"},
		{"then to the lower load", 0, []float64{100, 180, 180}, []float64{0.1, 0.2, 0.2}, "c2", true, "completed"},
		{"none feasible: the lowest ttft", 50 * time.Millisecond, []float64{100, 180, 300}, []float64{0.2, 0.1, 0.3}, "c2", false, "failed"},
		{"of equal ttfts the higher throughput", 50 * time.Millisecond, []float64{100, 180, 300}, []float64{0.1, 0.1, 0.3}, "c2", false, "failed"},
		{"then the lower load", 50 * time.Millisecond, []float64{180, 180}, []float64{0.1, 0.1}, "c1", false, "failed"},
		{"not a number never wins", 300 * time.Millisecond, []float64{100, nan}, []float64{0.1, 0.1}, "c1", true, "completed"},
		{"an infinite rate never wins", 300 * time.Millisecond, []float64{100, math.Inf(1)}, []float64{0.1, 0.1}, "c1", true, "completed"},
		{"none eligible", 300 * time.Millisecond, []float64{nan, nan}, []float64{0.1, 0.1}, "none", false, "failed"},
		{"no points", 0, nil, nil, "none", false, "failed"},
	} {
		v := Judge(ladder(test.throughputs, test.ttfts), rule(test.limit))
		if selected(v) != test.selected || v.Feasible != test.feasible || v.Status != test.status {
			t.Errorf("%s: %s, feasible %v, %s", test.name, selected(v), v.Feasible, v.Status)
		}
		for _, p := range v.Points {
			if p.Selected != (p.PointID == test.selected) {
				t.Errorf("%s: %s is marked selected %v", test.name, p.PointID, p.Selected)
			}
		}
	}
}

// The limit holds the statistic that it names, with failures counted as infinite, and no other in its place. Regression: AIPerf's sweep
// aggregate, where a missing percentile fell back to the mean.
func TestLimitHoldsItsOwnStatistic(t *testing.T) {
	r := rule(300 * time.Millisecond)
	r.Limits.TTFTStat = "p95"
	fast := with(row(1, 100, 0.1), func(p *measure.Point) { p.TTFTAll.P95, p.TTFT.P95 = ref(0.4), ref(0.2) })
	unknown := with(row(2, 200, 0.1), func(p *measure.Point) { p.TTFTAll.Mean, p.TTFT.P95 = ref(0.1), ref(0.1) })
	v := Judge(Series{Points: []Candidate{point(fast), point(unknown)}}, r)
	if v.Feasible || selected(v) != "c1" || v.Points[1].Eligible {
		t.Errorf("selected %s, feasible %v, unknown p95 eligible %v", selected(v), v.Feasible, v.Points[1].Eligible)
	}
}

// Each of several limits must be met.
func TestEveryLimitMustBeMet(t *testing.T) {
	r := rule(300 * time.Millisecond)
	r.Limits.MaxTPOT, r.Limits.MaxTotalTime, r.Limits.TotalTimeStat = ref(schema.Duration(20*time.Millisecond)), ref(schema.Duration(2*time.Second)), "max"
	times := func(p measure.Point, tpot, total float64) measure.Point {
		p.TPOTAll.P50, p.TotalTimeAll.Max = &tpot, &total
		return p
	}
	v := Judge(Series{Points: []Candidate{
		point(times(row(1, 100, 0.1), 0.02, 2)), point(times(row(2, 200, 0.1), 0.021, 2)), point(times(row(4, 300, 0.1), 0.02, 2.1)),
	}}, r)
	if selected(v) != "c1" || v.Points[1].Feasible || v.Points[2].Feasible {
		t.Errorf("selected %s: %v, %v", selected(v), v.Points[1].Reasons, v.Points[2].Reasons)
	}
}

// Throughput may be that of the steady window.
func TestMaximizeSteady(t *testing.T) {
	r := rule(0)
	r.Select.Maximize = "steady_output_tok_per_s"
	slow := with(row(1, 100, 0.1), func(p *measure.Point) { p.SteadyOutputTokPS = ref(300.0) })
	if v := Judge(Series{Points: []Candidate{point(slow), point(row(2, 200, 0.1))}}, r); selected(v) != "c1" {
		t.Errorf("selected %s", selected(v))
	}
}

// A fallback needs a time to rank by: with a limit on tpot alone there may be none.
func TestFallbackNeedsTTFT(t *testing.T) {
	r := rule(0)
	r.Limits.MaxTPOT = ref(schema.Duration(time.Millisecond))
	slow := func(p *measure.Point) { p.TPOTAll.P50 = ref(0.1) }
	unknown := with(row(1, 100, 0.1), func(p *measure.Point) { slow(p); p.TTFTAll.P50 = nil })
	known := with(row(2, 50, 0.9), slow)
	if v := Judge(Series{Points: []Candidate{point(unknown), point(known)}}, r); selected(v) != "c2" || v.Feasible {
		t.Errorf("selected %s, feasible %v", selected(v), v.Feasible)
	}
	v := Judge(Series{TrialName: "baseline", Points: []Candidate{point(unknown)}}, r)
	if selected(v) != "none" {
		t.Errorf("selected %s", selected(v))
	}
	mustContain(t, v.Text(), "baseline: no winner, no point meets the limits and none has a ttft p50 to fall back on", "tpot p50 100ms is above the limit of 1ms")
}

// Regression: a rival passed a point when any of its repeats passed.
func TestRepeats(t *testing.T) {
	good := func(throughput, ttft float64) measure.Point { return row(4, throughput, ttft) }
	failed := with(good(300, 0.1), func(p *measure.Point) { p.Status = measure.PointFailed })
	later := with(good(300, 0.1), func(p *measure.Point) { p.Attempt = 1 })
	for _, test := range []struct {
		name     string
		repeats  []measure.Point
		planned  int64
		eligible bool
		feasible bool
		met      int64
		status   string
	}{
		{"all good", []measure.Point{good(300, 0.1), good(310, 0.2), good(290, 0.3)}, 3, true, true, 3, "completed"},
		{"the median is judged", []measure.Point{good(300, 0.1), good(310, 0.2), good(290, 0.9)}, 3, true, true, 2, "completed"},
		{"one good repeat does not carry two bad ones", []measure.Point{good(300, 0.1), good(310, 0.8), good(290, 0.9)}, 3, true, false, 1, "completed"},
		{"nor one that failed", []measure.Point{good(300, 0.1), good(310, 0.2), failed}, 3, false, false, 3, "failed"},
		{"one is missing", []measure.Point{good(300, 0.1), good(310, 0.2)}, 3, false, false, 2, "incomplete"},
		{"none planned: as many as there are", []measure.Point{good(300, 0.1), good(310, 0.2)}, 0, true, true, 2, "completed"},
	} {
		v := Judge(Series{Repeats: test.planned, Points: []Candidate{point(test.repeats...)}}, rule(500*time.Millisecond))
		p := v.Points[0]
		if p.Eligible != test.eligible || p.Feasible != test.feasible || p.Status != test.status || p.Limits[0].RepeatsMet != test.met {
			t.Errorf("%s: eligible %v, feasible %v, %s, %d met: %v", test.name, p.Eligible, p.Feasible, p.Status, p.Limits[0].RepeatsMet, p.Reasons)
		}
	}
	// Of a repeat that was tried again the last attempt counts.
	again := Candidate{PointID: "c4", Load: failed.PointLoad, Repeats: []measure.Point{later, failed}}
	if v := Judge(Series{Points: []Candidate{again}}, rule(500*time.Millisecond)); !v.Feasible || len(v.Points[0].Repeats) != 1 {
		t.Errorf("the last attempt: %v", v.Points[0].Reasons)
	}
}

func TestRepeatsInWords(t *testing.T) {
	series := Series{TrialName: "baseline", Repeats: 3, Points: []Candidate{
		point(row(1, 100, 0.1), row(1, 104, 0.1), row(1, 98, 0.1)),
		point(row(2, 180, 0.2), row(2, 200, 0.6), row(2, 190, 0.3)),
		point(row(4, 300, 0.9), with(row(4, 300, 0.9), func(p *measure.Point) { p.ErrorRate = ref(0.02) })),
	}}
	v := Judge(series, rule(500*time.Millisecond))
	mustContain(t, v.Text(), "concurrency 2 is selected with 190 tok/s and ttft p50 300ms (limit 500ms)", "2 of 3 repeats at concurrency 2 met the limit on ttft p50.",
		"90 % ahead of the runner-up, concurrency 1 (100 tok/s); need >= 4 repeats to tell that from noise", "spread over 11 % across the repeats")
	want := []string{"repeats missing: 1 of 3", "repeat 1: error rate 2 % is above the limit of 1 %", "ttft p50 900ms is above the limit of 500ms"}
	if got := v.Points[2].Reasons; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("reasons %q", got)
	}
}

// A point of the plan that was never measured stands in the verdict, and makes the curve incomplete.
func TestPointThatWasNotMeasured(t *testing.T) {
	s := ladder([]float64{100}, []float64{0.1})
	s.Points = append(s.Points, Candidate{PointID: "c2", Load: schema.PointLoad{Concurrency: ref(int64(2))}})
	v := Judge(s, rule(0))
	if p := v.Points[1]; p.Eligible || p.Status != "incomplete" || p.Reasons[0] != "not measured" || v.Complete || selected(v) != "c1" {
		t.Errorf("eligible %v, %s, %v, complete %v, selected %s", p.Eligible, p.Status, p.Reasons, v.Complete, selected(v))
	}
}
