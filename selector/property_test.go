package selector

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// figures draws what a row may hold: sound values with many ties, and all that is no measurement.
func figures(sound *rapid.Generator[float64]) *rapid.Generator[*float64] {
	return rapid.Custom(func(t *rapid.T) *float64 {
		if rapid.IntRange(0, 11).Draw(t, "sound") > 0 {
			return ref(sound.Draw(t, "value"))
		}
		odd := []*float64{nil, ref(math.NaN()), ref(math.Inf(1)), ref(math.Inf(-1)), ref(0.0), ref(-1.0), ref(math.MaxFloat64), ref(math.SmallestNonzeroFloat64)}
		return rapid.SampledFrom(odd).Draw(t, "odd")
	})
}

var (
	throughputs = figures(rapid.SampledFrom([]float64{100, 150, 150.5, 200, 300, 400}))
	times       = figures(rapid.SampledFrom([]float64{0.1, 0.2, 0.25, 0.3, 0.3000000001, 0.5}))
	shares      = figures(rapid.SampledFrom([]float64{0, 0, 0, 0.01, 0.02, 1}))
	inFlight    = figures(rapid.SampledFrom([]float64{1, 1, 1, 0.95, 0.94}))
)

// rows draws a measurement, which is sound in most of its figures.
func rows(t *rapid.T, load schema.PointLoad) measure.Point {
	p := row(*load.Concurrency, 1, 1)
	p.PointLoad = load
	p.OutputTokPerS, p.SteadyOutputTokPS = throughputs.Draw(t, "throughput"), throughputs.Draw(t, "steady throughput")
	p.TTFTAll.P50, p.TTFTAll.P95 = times.Draw(t, "ttft"), times.Draw(t, "ttft p95")
	p.TTFT.P50, p.TPOTAll.P50 = times.Draw(t, "ttft of ok"), times.Draw(t, "tpot")
	p.ErrorRate = shares.Draw(t, "error rate")
	if share := inFlight.Draw(t, "in flight"); share != nil {
		p.SteadyMeanRequests = ref(*share * float64(*load.Concurrency))
	} else {
		p.SteadyMeanRequests = nil
	}
	p.Status = rapid.SampledFrom([]measure.PointStatus{"completed", "completed", "completed", "completed", "completed", "failed", "interrupted"}).Draw(t, "status")
	if rapid.IntRange(0, 9).Draw(t, "uncounted") == 0 {
		p.OutputTokens = nil
	}
	return p
}

// candidates draws a point with up to as many repeats as are planned.
func candidates(t *rapid.T, i int, planned int64) Candidate {
	load := schema.PointLoad{Concurrency: ref(rapid.Int64Range(1, 8).Draw(t, "concurrency"))}
	if rapid.Bool().Draw(t, "prefill capped") {
		load.PrefillConcurrency = ref(rapid.Int64Range(1, 2).Draw(t, "prefill cap"))
	}
	c := Candidate{PointID: fmt.Sprintf("p%02d", i), Load: load}
	for repeat := range planned {
		if rapid.IntRange(0, 19).Draw(t, "missing") > 0 {
			r := rows(t, load)
			r.Repeat, r.PointID = repeat, c.PointID
			c.Repeats = append(c.Repeats, r)
		}
	}
	return c
}

func serieses(t *rapid.T) Series {
	s := Series{TrialID: "t", TrialName: "trial", Repeats: rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "repeats")}
	for i := range rapid.IntRange(0, 8).Draw(t, "points") {
		s.Points = append(s.Points, candidates(t, i, s.Repeats))
	}
	return s
}

func rules(t *rapid.T) Rule {
	r := rule(time.Duration(rapid.SampledFrom([]int64{0, 50, 200, 250, 300, 1000}).Draw(t, "max_ttft")) * time.Millisecond)
	r.Limits.TTFTStat = rapid.SampledFrom([]string{"p50", "p50", "p95"}).Draw(t, "ttft_stat")
	r.Select.Maximize = rapid.SampledFrom([]string{"output_tok_per_s", "steady_output_tok_per_s"}).Draw(t, "maximize")
	r.Select.Across = rapid.SampledFrom([]string{"selected", "complete"}).Draw(t, "across")
	return r
}

var sameVerdict = cmp.Options{cmpopts.EquateNaNs(), cmp.AllowUnexported(Place{}), cmpopts.EquateEmpty()}

// sound is the second method: what makes one row eligible, written out as the contract has it.
func sound(p measure.Point, r Rule) bool {
	positive := func(v *float64) bool { return v != nil && *v > 0 && *v < math.Inf(1) }
	throughput, ttft := p.OutputTokPerS, p.TTFTAll.P50
	if r.Select.Maximize == "steady_output_tok_per_s" {
		throughput = p.SteadyOutputTokPS
	}
	if r.Limits.TTFTStat == "p95" {
		ttft = p.TTFTAll.P95
	}
	return p.Status == "completed" && p.ErrorRate != nil && *p.ErrorRate >= 0 && *p.ErrorRate <= 0.01 && p.OutputTokens != nil && positive(throughput) &&
		(r.Limits.MaxTTFT == nil || positive(ttft)) &&
		positive(p.SteadyMeanRequests) && *p.SteadyMeanRequests >= 0.95*float64(*p.Concurrency)
}

func TestEligibleBySecondMethod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := serieses(t), rules(t)
		v := Judge(s, r)
		for _, c := range s.Points {
			want := int64(len(c.Repeats)) == s.Repeats
			for _, p := range c.Repeats {
				want = want && sound(p, r)
			}
			got := v.Point(&c.PointID)
			if got.Eligible != want {
				t.Errorf("%s: eligible %v, want %v: %q", c.PointID, got.Eligible, want, got.Reasons)
			}
			if got.Feasible == (len(got.Reasons) > 0) {
				t.Errorf("%s: feasible %v with the reasons %q", c.PointID, got.Feasible, got.Reasons)
			}
			for _, h := range got.Limits {
				if met := h.Value != nil && *h.Value > 0 && math.Round(*h.Value*1e9) <= math.Round(h.Limit*1e9); h.Met != met {
					t.Errorf("%s: %v of %v is met %v", c.PointID, h.Limit, *h.Value, h.Met)
				}
			}
		}
	})
}

// The winner has a known throughput, and no feasible point has more; without one the fallback has a known time, and no eligible point less.
func TestNullNeverWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Judge(serieses(t), rules(t))
		w := v.Winner()
		if w == nil {
			for _, p := range v.Points {
				if p.Feasible || p.Eligible && v.Rule.ttft(&p.Medians) != nil {
					t.Errorf("no winner, but %s is feasible %v, eligible %v", p.PointID, p.Feasible, p.Eligible)
				}
			}
			return
		}
		if usable(v.Rule.throughput(&w.Medians)) == nil || !w.Eligible || w.Feasible != v.Feasible {
			t.Fatalf("winner %s: throughput %v, eligible %v, feasible %v", w.PointID, v.Rule.throughput(&w.Medians), w.Eligible, w.Feasible)
		}
		for _, p := range v.Points {
			if p.Feasible && (!v.Feasible || *v.Rule.throughput(&p.Medians) > *v.Rule.throughput(&w.Medians)) {
				t.Errorf("%s has more than the winner %s", p.PointID, w.PointID)
			}
			if ttft := v.Rule.ttft(&p.Medians); !v.Feasible && p.Eligible && ttft != nil && *ttft < *v.Rule.ttft(&w.Medians) {
				t.Errorf("%s is faster than the fallback %s", p.PointID, w.PointID)
			}
		}
	})
}

func TestInfeasiblePointNeverChangesTheWinner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := serieses(t), rules(t)
		modest := Candidate{PointID: "modest", Load: schema.PointLoad{Concurrency: ref(int64(1))}}
		for repeat := range s.Repeats {
			modest.Repeats = append(modest.Repeats, with(row(1, 1, 0.01), func(p *measure.Point) { p.Repeat, p.TTFTAll.P95 = repeat, ref(0.01) }))
		}
		s.Points = append(s.Points, modest)
		before := Judge(s, r)
		more := s
		more.Points = append(slices.Clone(s.Points), candidates(t, 99, s.Repeats))
		after := Judge(more, r)
		if !before.Feasible {
			t.Fatalf("the modest point is not feasible: %q", before.Point(&modest.PointID).Reasons)
		}
		if added := after.Point(ref("p99")); !added.Feasible && selected(before) != selected(after) {
			t.Errorf("%s won, %s wins with an infeasible point more", selected(before), selected(after))
		}
	})
}

func TestRelaxedLimitNeverLowersThroughput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, tight := serieses(t), rules(t)
		limit := schema.Duration(rapid.Int64Range(5e7, 6e8).Draw(t, "tight limit"))
		tight.Limits.MaxTTFT = &limit
		loose := tight
		loose.Limits.MaxTTFT = ref(limit + schema.Duration(rapid.Int64Range(0, 5e8).Draw(t, "relaxed by")))
		a, b := Judge(s, tight), Judge(s, loose)
		if a.Winner() == nil {
			return
		}
		if b.Winner() == nil || a.Feasible && !b.Feasible || *tight.throughput(&b.Winner().Medians) < *tight.throughput(&a.Winner().Medians) {
			t.Errorf("%s with the tight limit, %s with the loose one", selected(a), selected(b))
		}
	})
}

func TestOrderIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := serieses(t), rules(t)
		want := Judge(s, r)
		shuffled := s
		shuffled.Points = slices.Clone(s.Points)
		for i := range shuffled.Points {
			shuffled.Points[i].Repeats = slices.Clone(shuffled.Points[i].Repeats)
			shuffle(shuffled.Points[i].Repeats)
		}
		shuffle(shuffled.Points)
		if diff := cmp.Diff(want, Judge(shuffled, r), sameVerdict); diff != "" {
			t.Error(diff)
		}
	})
}

func shuffle[T any](values []T) {
	rand.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
}

// Regression: a rival let a point pass when any of its repeats did.
func TestOneGoodRepeatDoesNotCarryABadOne(t *testing.T) {
	spoil := []func(p *measure.Point){
		func(p *measure.Point) { p.Status = measure.PointFailed },
		func(p *measure.Point) { p.ErrorRate = ref(0.5) },
		func(p *measure.Point) { p.ErrorRate = nil },
		func(p *measure.Point) { p.OutputTokPerS = nil },
		func(p *measure.Point) { p.OutputTokens = nil },
		func(p *measure.Point) { p.TTFTAll.P50 = nil },
		func(p *measure.Point) { p.TTFTAll.P50 = ref(math.Inf(1)) },
		func(p *measure.Point) { p.SteadyMeanRequests = ref(0.5) },
		func(p *measure.Point) { p.LagP99 = ref(1.0) },
	}
	rapid.Check(t, func(t *rapid.T) {
		repeats := make([]measure.Point, rapid.IntRange(2, 5).Draw(t, "repeats"))
		for i := range repeats {
			repeats[i] = row(4, 1000+rapid.Float64Range(0, 100).Draw(t, "throughput"), rapid.Float64Range(0.1, 0.2).Draw(t, "ttft"))
		}
		rapid.SampledFrom(spoil).Draw(t, "spoil")(&repeats[rapid.IntRange(0, len(repeats)-1).Draw(t, "which")])
		modest := make([]measure.Point, len(repeats))
		for i := range modest {
			modest[i] = row(1, 1, 0.2)
		}
		v := Judge(Series{Points: []Candidate{point(repeats...), point(modest...)}}, rule(300*time.Millisecond))
		if v.Points[1].Eligible || selected(v) != "c1" {
			t.Errorf("eligible %v, selected %s", v.Points[1].Eligible, selected(v))
		}
	})
}

// Where more than half of the repeats are above the limit, the point is.
func TestMostRepeatsDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		repeats := make([]measure.Point, rapid.IntRange(1, 7).Draw(t, "repeats"))
		above := 0
		for i := range repeats {
			ttft := rapid.SampledFrom([]float64{0.1, 0.29, 0.3, 0.31, 0.9}).Draw(t, "ttft")
			if ttft > 0.3 {
				above++
			}
			repeats[i] = row(4, 1000, ttft)
		}
		p := Judge(Series{Points: []Candidate{point(repeats...)}}, rule(300*time.Millisecond)).Points[0]
		if 2*above > len(repeats) && p.Feasible || above == 0 && !p.Feasible || p.Limits[0].RepeatsMet != int64(len(repeats)-above) {
			t.Errorf("%d of %d above the limit: feasible %v, %d met it", above, len(repeats), p.Feasible, p.Limits[0].RepeatsMet)
		}
	})
}

// Whatever the rows hold, there is a text of one line and valid JSON.
func TestEveryVerdictCanBeSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rules(t)
		var verdicts []Verdict
		for i := range rapid.IntRange(0, 4).Draw(t, "trials") {
			s := serieses(t)
			s.TrialID, s.Workload = fmt.Sprint("t", i), rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "workload")
			verdicts = append(verdicts, Judge(s, r))
		}
		w := Across(verdicts, r)
		if text := w.Text(); text == "" || strings.Contains(text, "\n") {
			t.Errorf("text %q", text)
		}
		for _, value := range []any{verdicts, w} {
			if _, err := json.Marshal(value); err != nil {
				t.Error(err)
			}
		}
		for _, v := range verdicts {
			mustBeSaid(t, v)
		}
	})
}

func mustBeSaid(t *rapid.T, v Verdict) {
	if text := v.Text(); text == "" || strings.Contains(text, "\n") {
		t.Errorf("text %q", text)
	}
	for _, p := range v.Points {
		for _, reason := range p.Reasons {
			if reason == "" {
				t.Errorf("an empty reason for %s", p.PointID)
			}
		}
	}
}

// The order of trials decides only between equals.
func TestAcrossHoldsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rules(t)
		var verdicts []Verdict
		for i := range rapid.IntRange(1, 5).Draw(t, "trials") {
			s := serieses(t)
			s.TrialID = fmt.Sprint("t", i)
			verdicts = append(verdicts, Judge(s, r))
		}
		ranking := Across(verdicts, r).Ranking
		for i := 1; i < len(ranking); i++ {
			a, b := ranking[i-1], ranking[i]
			ordered := a.PointID != nil || b.PointID == nil
			if a.PointID != nil && b.PointID != nil {
				ordered = a.Feasible || !b.Feasible
				complete := r.Select.Across == "complete"
				if a.Feasible == b.Feasible && complete {
					ordered = a.Complete || !b.Complete
				}
				if a.Feasible == b.Feasible && (!complete || a.Complete == b.Complete) {
					ordered = *a.Throughput >= *b.Throughput
				}
			}
			if !ordered {
				t.Errorf("%+v before %+v", a, b)
			}
		}
	})
}
