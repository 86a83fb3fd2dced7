package selector

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

// trial is a series at 16, 32, 64; a throughput of 0 is a point that failed.
func trial(name string, throughputs ...float64) Series {
	s := Series{TrialID: "id-" + name, TrialName: name}
	for i, throughput := range throughputs {
		c := point(row(16<<i, throughput, 0.1))
		if throughput == 0 {
			c.Repeats[0].Status = measure.PointFailed
		}
		s.Points = append(s.Points, c)
	}
	return s
}

func across(r Rule, series ...Series) Winner {
	var verdicts []Verdict
	for _, s := range series {
		verdicts = append(verdicts, Judge(s, r))
	}
	return Across(verdicts, r)
}

// One trial is faster but broke off at 64: which of the two wins is what select.across declares.
func TestAcrossBrokenCurve(t *testing.T) {
	one, two := trial("one", 400, 800, 850), trial("two", 800, 1200, 0)
	for how, want := range map[string]string{"selected": "id-two", "complete": "id-one"} {
		r := rule(0)
		r.Select.Across = how
		w := across(r, one, two)
		if w.TrialID == nil || *w.TrialID != want {
			t.Errorf("%s: %v, want %s", how, w.TrialID, want)
		}
	}
	r := rule(0)
	mustContain(t, across(r, one, two).Text(), "two is the best trial with 1200 tok/s at concurrency 32.",
		"It is 41 % ahead of one with 850 tok/s at concurrency 64; need >= 4 repeats", "Rule across trials: feasible trials first, then by their selected point.")
	r.Select.Across = "complete"
	mustContain(t, across(r, one, two).Text(), "one is the best trial with 850 tok/s at concurrency 64.", "Next is two with 1200 tok/s at concurrency 32, whose curve is not complete.",
		"then those whose every point is eligible")
}

func TestAcross(t *testing.T) {
	slowFirst := func(s Series) Series {
		for i := range s.Points {
			s.Points[i].Repeats[0].TTFTAll.P50 = ref(0.9)
		}
		return s
	}
	quicker := func(s Series) Series {
		for i := range s.Points {
			s.Points[i].Repeats[0].TTFTAll.P50 = ref(0.05)
		}
		return s
	}
	for _, test := range []struct {
		name   string
		series []Series
		want   string
	}{
		{"throughput", []Series{trial("a", 100), trial("b", 200)}, "id-b"},
		{"feasible before infeasible", []Series{trial("a", 100), slowFirst(trial("b", 200))}, "id-a"},
		{"the best of the infeasible", []Series{slowFirst(trial("a", 100)), slowFirst(trial("b", 200))}, "id-b"},
		{"of equals the lower ttft", []Series{trial("a", 100), quicker(trial("b", 100))}, "id-b"},
		{"of equals the first in the file", []Series{trial("b", 100), trial("a", 100)}, "id-b"},
		{"a trial without a winner is last", []Series{trial("a", 0), trial("b", 100)}, "id-b"},
		{"no winner", []Series{trial("a", 0), trial("b", math.NaN())}, "none"},
		{"no trial", nil, "none"},
	} {
		w := across(rule(500*time.Millisecond), test.series...)
		got := "none"
		if w.TrialID != nil {
			got = *w.TrialID
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if len(w.Ranking) != len(test.series) {
			t.Errorf("%s: %d places for %d trials", test.name, len(w.Ranking), len(test.series))
		}
	}
}

func TestAcrossKeepsTheOrderOfTheFile(t *testing.T) {
	var series []Series
	for i := range 60 {
		series = append(series, trial(fmt.Sprintf("trial %02d", i), float64(100+i%3)))
	}
	ranking := across(rule(0), series...).Ranking
	for i := 1; i < len(ranking); i++ {
		if a, b := ranking[i-1], ranking[i]; *a.Throughput == *b.Throughput && a.Name > b.Name {
			t.Errorf("%s before %s", a.Name, b.Name)
		}
	}
}

func TestAcrossInWords(t *testing.T) {
	infeasible := trial("slow", 300)
	infeasible.Points[0].Repeats[0].TTFTAll.P50 = ref(0.9)
	r := rule(500 * time.Millisecond)
	w := across(r, trial("fast", 100), infeasible, trial("broken", 0))
	mustContain(t, w.Text(), "fast is the best trial with 100 tok/s at concurrency 16.", "Next is slow with 300 tok/s at concurrency 16, which does not meet the limits.", "Without a winner: broken.")
	if diff := cmp.Diff(ref(-2.0/3), w.RunnerUp.Ahead, nearly); diff != "" {
		t.Errorf("margin: %s", diff)
	}
	mustContain(t, across(r, infeasible).Text(), "slow is the best trial with 300 tok/s at concurrency 16; it does not meet the limits, nor does any other trial.")
	mustContain(t, across(r, trial("broken", 0)).Text(), "No trial has a winner.")
}

// More tokens a second from shorter prompts is no better trial: only equal workloads are ranked together.
func TestAcrossWorkloads(t *testing.T) {
	short, long := trial("short", 300), trial("long", 100)
	short.Workload, long.Workload = `{"random":{"prompt_tokens":10}}`, `{"random":{"prompt_tokens":1000}}`
	longer := trial("longer", 90)
	longer.Workload = long.Workload
	w := across(rule(0), short, long, longer, trial("other", 0))
	if w.TrialID != nil || len(w.Groups) != 3 || *w.Groups[1].TrialID != "id-long" {
		t.Fatalf("winner %v, groups %+v", w.TrialID, w.Groups)
	}
	mustContain(t, w.Text(), "The trials ask for 3 different workloads and are not ranked together.", "Of short: short is the best trial", "Of long and longer: long is the best trial",
		"It is 11 % ahead of longer", "Of other: No trial has a winner.")
	if n := strings.Count(w.Text(), "Rule across trials"); n != 1 {
		t.Errorf("the rule is told %d times", n)
	}
}
