package selector

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

// imported is a row as another tool's totals give it: without requests, and without a word about its client.
func imported(concurrency int64, throughput, ttft float64) measure.Point {
	return with(row(concurrency, throughput, ttft), func(p *measure.Point) {
		p.Source = ref("vllm bench serve 0.32.0")
		p.InFlight, p.Health, p.OutputRatio, p.IgnoreEOS = measure.InFlight{}, measure.Health{}, nil, true
	})
}

// What another tool never says is not held against its results, and said. What it could say and does not is held against them as ever.
func TestImportedPointsAreJudged(t *testing.T) {
	inFlight, all := []string{"output length", "client lag"}, []string{"requests in flight", "output length", "client lag"}
	for _, test := range []struct {
		name      string
		change    func(p *measure.Point)
		reasons   []string
		unchecked []string
	}{
		{"totals alone", func(p *measure.Point) {}, nil, all},
		{"own", func(p *measure.Point) { p.Source = nil }, []string{
			"requests in flight in the steady window are unknown (at least 95 % of 64 needed)",
			"output length over what was asked for is unknown (95 % to 105 % allowed)", "client lag p99 is unknown (at most 20ms allowed)",
		}, []string{}},
		{"requests are known", func(p *measure.Point) { p.MeanRequests, p.SteadyMeanRequests = ref(63.0), ref(63.5) }, nil, inFlight},
		{"too few in flight", func(p *measure.Point) { p.MeanRequests, p.SteadyMeanRequests = ref(30.0), ref(32.0) },
			[]string{"only 32 of 64 requests in flight (50 %, at least 95 % needed)"}, inFlight},
		{"never reached", func(p *measure.Point) { p.MeanRequests, p.SteadyReason = ref(30.0), ref("at most 48 of 64") },
			[]string{"requests in flight in the steady window are unknown (at least 95 % of 64 needed): at most 48 of 64"}, inFlight},
		{"no target", func(p *measure.Point) { p.TargetInFlight, p.TargetSessions = nil, nil },
			[]string{"in flight: nothing says how much there should have been"}, inFlight},
		{"rate", func(p *measure.Point) {
			p.TargetInFlight, p.TargetSessions, p.RequestRate, p.AchievedRate = nil, nil, ref(10.0), ref(9.9)
		}, nil, all},
		{"errors unknown", func(p *measure.Point) { p.ErrorRate = nil }, []string{"error rate is unknown (at most 1 % allowed)"}, all},
		{"tokens unknown", func(p *measure.Point) { p.OutputTokens = nil }, []string{"output tokens are unknown: at least one ok request has no count"}, all},
		{"limit unknown", func(p *measure.Point) { p.TTFTAll.P50 = nil }, []string{"ttft p50 is unknown (limit 500ms)"}, all},
		{"too long", func(p *measure.Point) { p.OutputRatio = ref(1.2) },
			[]string{"output length is 120 % of what was asked for (at most 105 % allowed: a service that keeps to max_tokens can't have more)"},
			[]string{"requests in flight", "client lag"}},
		{"not a number", func(p *measure.Point) { p.LagP99 = ref(math.NaN()) }, []string{"client lag p99 is unknown (at most 20ms allowed)"},
			[]string{"requests in flight", "output length"}},
		{"failed", func(p *measure.Point) { p.Status, p.Reason = measure.PointFailed, ref("it says so") }, []string{"failed: it says so"}, all},
	} {
		if test.reasons == nil {
			test.reasons = []string{}
		}
		r := rule(500 * time.Millisecond)
		got := Judge(Series{Points: []Candidate{point(with(imported(64, 1000, 0.2), test.change))}}, r).Points[0]
		if diff := cmp.Diff(test.reasons, got.Reasons); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if diff := cmp.Diff(test.unchecked, got.Unchecked); diff != "" {
			t.Errorf("%s: unchecked: %s", test.name, diff)
		}
		if got.Eligible != (len(test.reasons) == 0) {
			t.Errorf("%s: eligible %v", test.name, got.Eligible)
		}
	}
}

func TestVerdictSaysWhatCouldNotBeChecked(t *testing.T) {
	v := Judge(Series{TrialName: "baseline", Points: []Candidate{point(imported(64, 1000, 0.2))}}, rule(500*time.Millisecond))
	mustContain(t, v.Text(), "concurrency 64 is selected with 1000 tok/s",
		"It was measured by vllm bench serve 0.32.0, which does not say enough to check: requests in flight, output length, client lag.")
}

// A trial that can't be checked in full never stands before one that was, however fast it says it is.
func TestUncheckedTrialsStandBehind(t *testing.T) {
	r := rule(500 * time.Millisecond)
	judged := func(name string, row measure.Point) Verdict {
		return Judge(Series{TrialID: name, TrialName: name, Points: []Candidate{point(row)}}, r)
	}
	verdicts := []Verdict{
		judged("imported", imported(64, 5000, 0.1)), judged("slow", row(64, 1000, 0.2)), judged("late", row(64, 9000, 0.9)),
	}
	w := Across(verdicts, r)
	var order []string
	for _, place := range w.Ranking {
		order = append(order, place.Name)
	}
	if !slices.Equal(order, []string{"slow", "imported", "late"}) {
		t.Errorf("ranked %v", order)
	}
	mustContain(t, w.Text(), "slow is the best trial", "Next is imported with 5000 tok/s at concurrency 64, which can't be checked in full.",
		"Trials that another tool measured and that can't be checked in full stand behind those that can.")
}
