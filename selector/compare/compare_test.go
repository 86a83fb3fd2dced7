package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/figure"
	"sweetspot/selector/gate"
)

func rule() selector.Rule {
	limit := schema.Duration(300 * time.Millisecond)
	return selector.Rule{
		Limits: schema.Limits{MaxTTFT: &limit, TTFTStat: "p50", TPOTStat: "p50", TotalTimeStat: "p50", MaxErrorRate: 0.01},
		Select: schema.Select{Maximize: "output_tok_per_s", Across: "selected", Tolerance: schema.Tolerance{InFlight: 0.95, OutputLength: 0.95, Rate: 0.05}},
	}
}

// at is a sound point with the given throughputs and one time to first token.
func at(load schema.PointLoad, ttft float64, throughputs ...float64) selector.Candidate {
	c := selector.Candidate{PointID: fmt.Sprint(selector.LoadText(load)), Load: load}
	for i, throughput := range throughputs {
		n := int64(8)
		c.Repeats = append(c.Repeats, measure.Point{
			Keys: measure.Keys{Repeat: int64(i), PointID: c.PointID}, PointLoad: load, Status: measure.PointCompleted,
			Counts: measure.Counts{Issued: 100, OK: 100}, ErrorRate: ref(0.0), SuccessRate: ref(1.0), OutputTokens: ref(int64(1)), OutputTokPerS: &throughput,
			OutputTokPerSUser: ref(throughput / 8), TargetInFlight: &n, InFlight: measure.InFlight{SteadyMeanRequests: ref(8.0)},
			TTFT: measure.Dist{N: 100, P50: &ttft}, TTFTAll: measure.AllDist{P50: &ttft}, Health: measure.Health{LagP99: ref(0.001)},
		})
	}
	return c
}

func c(n int64) schema.PointLoad { return schema.PointLoad{Concurrency: &n} }

// side is a judged trial.
func side(run, trial string, points ...selector.Candidate) Side {
	v := selector.Judge(selector.Series{TrialID: run + trial, TrialName: trial, Points: points}, rule())
	return Side{RunID: run, Verdict: v, Facts: map[string]string{}}
}

func runOf(name string, sides ...Side) Run { return Run{Name: name, Sides: sides} }

func options(conditions ...string) Options {
	o := Options{Figures: []figure.Figure{find("output_tok_per_s"), find("ttft_p50_s")}, Assume: Nothing, At: AtSelected}
	for _, text := range conditions {
		f, err := gate.ParseFailIf(text)
		if err != nil {
			panic(err)
		}
		o.FailIf = append(o.FailIf, f)
	}
	return o
}

func loads(points []Point) (texts []string) {
	for _, p := range points {
		text := p.Load.Text()
		for i, cell := range p.Cells {
			if cell == nil {
				text += " without " + Label(i)
			}
		}
		texts = append(texts, text)
	}
	return texts
}

// Every load of every side stands in the comparison, whatever the ids are.
func TestPointsAreMatchedByTheirLoads(t *testing.T) {
	prefill := c(16)
	prefill.PrefillConcurrency = ref(int64(4))
	asked := c(32)
	asked.AskedRequestConcurrency = ref(int64(64))
	d := New(1, []Run{
		runOf("a", side("a", "t", at(c(8), 0.1, 1), at(prefill, 0.1, 1), at(c(32), 0.1, 1))),
		runOf("b", side("b", "u", at(c(16), 0.1, 1), at(asked, 0.1, 1), at(c(8), 0.1, 1))),
	}, options())
	got := loads(d.Comparisons[0].Points)
	want := []string{"concurrency 8", "concurrency 16, prefill cap 4 without B", "concurrency 16 without A", "concurrency 32"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(d.Comparisons[0].Unmatched); n != 2 || !d.Compared() {
		t.Errorf("%d are not matched, compared %v", n, d.Compared())
	}
}

// A field that is ignored brings points together, and where one side then has several they are mixed and not compared.
func TestIgnoredFieldsMix(t *testing.T) {
	low, high := c(16), c(16)
	low.PrefillConcurrency, high.PrefillConcurrency = ref(int64(4)), ref(int64(8))
	o := options()
	o.Ignore = []string{"prefill_concurrency"}
	one := New(1, []Run{runOf("a", side("a", "t", at(c(16), 0.1, 1))), runOf("b", side("b", "t", at(low, 0.1, 1)))}, o)
	if diff := cmp.Diff([]string{"concurrency 16"}, loads(one.Comparisons[0].Points)); diff != "" {
		t.Error(diff)
	}
	two := New(1, []Run{runOf("a", side("a", "t", at(c(16), 0.1, 1))), runOf("b", side("b", "t", at(low, 0.1, 1), at(high, 0.1, 1)))}, o)
	if diff := cmp.Diff([]string{"concurrency 16 without B"}, loads(two.Comparisons[0].Points)); diff != "" {
		t.Error(diff)
	}
	if u := two.Comparisons[0].Unmatched; len(u) != 1 || u[0].Reason != "B has 2 points there: what else their loads vary in is mixed" || two.Compared() {
		t.Errorf("%+v, compared %v", u, two.Compared())
	}
}

func axes(value string) []schema.Axis {
	return []schema.Axis{{Path: "service.simulator.max_num_seqs", Value: value}}
}

func TestTrialsArePaired(t *testing.T) {
	trial := func(name, value string) Side {
		s := side("x", name, at(c(1), 0.1, 1))
		if value != "" {
			s.Axes = axes(value)
		}
		return s
	}
	for _, test := range []struct {
		name     string
		runs     []Run
		groups   []string
		unpaired []string
	}{
		{"one run", []Run{runOf("a", trial("x", ""), trial("y", ""), trial("z", ""))}, []string{": x y z"}, nil},
		{"one trial each, whatever the names", []Run{runOf("a", trial("x", "")), runOf("b", trial("y", "")), runOf("c", trial("z", ""))}, []string{": x y z"}, nil},
		{"by name", []Run{runOf("a", trial("x", ""), trial("y", "")), runOf("b", trial("y", ""), trial("z", ""))}, []string{"y: y y"},
			[]string{"a x: b has no such trial", "b z: a has no such trial"}},
		{"by axes, the names being one on each side", []Run{runOf("a", trial("old/n=1", "1"), trial("old/n=2", "2")), runOf("b", trial("new/n=2", "2"), trial("new/n=4", "4"))},
			[]string{"old/n=2: old/n=2 new/n=2"}, []string{"a old/n=1: b has no such trial", "b new/n=4: a has no such trial"}},
		{"by name and axes", []Run{runOf("a", trial("p/n=1", "1"), trial("q/n=1", "1")), runOf("b", trial("q/n=1", "1"), trial("p/n=1", "1"))},
			[]string{"p/n=1: p/n=1 p/n=1", "q/n=1: q/n=1 q/n=1"}, nil},
		{"axes without names", []Run{runOf("a", trial("m=o/x", `"o/x"`), trial("m=o/y", `"o/y"`)), runOf("b", trial("b/m=o/y", `"o/y"`), trial("b/m=o/z", `"o/z"`))},
			[]string{"m=o/y: m=o/y b/m=o/y"}, []string{"a m=o/x: b has no such trial", "b b/m=o/z: a has no such trial"}},
		{"three runs, of which one has not all", []Run{runOf("a", trial("x", ""), trial("y", "")), runOf("b", trial("x", ""), trial("y", "")), runOf("c", trial("y", ""))},
			[]string{"x: x x", "y: y y y"}, []string{"a x: c has no such trial"}},
	} {
		groups, unpaired := Pair(test.runs)
		var got, alone []string
		for _, g := range groups {
			text := g.Trial + ":"
			for _, s := range g.Sides {
				text += " " + s.Verdict.TrialName
			}
			got = append(got, text)
		}
		for _, u := range unpaired {
			alone = append(alone, fmt.Sprintf("%s %s: %s", u.Run, u.Trial, u.Reason))
		}
		if !slices.Equal(got, test.groups) || !slices.Equal(alone, test.unpaired) {
			t.Errorf("%s: %q and %q, want %q and %q", test.name, got, alone, test.groups, test.unpaired)
		}
	}
}

func TestDifferencesAndWhatIsMixed(t *testing.T) {
	a, b := side("a", "t", at(c(1), 0.1, 1)), side("b", "t", at(c(1), 0.1, 1))
	a.Facts = map[string]string{"model": `"x"`, "service.endpoint.url": `"http://a"`, "load.concurrency": "[1]", "load.seed": "1", "limits.max_ttft": `"300ms"`}
	b.Facts = map[string]string{"model": `"y"`, "service.endpoint.url": `"http://b"`, "service.endpoint.gpus.count": "8", "load.concurrency": "[1,2]", "load.seed": "2", "limits.max_ttft": `"300ms"`}
	got := New(1, []Run{runOf("a", a), runOf("b", b)}, options()).Comparisons[0]
	want := []Difference{
		{"model", []json.RawMessage{json.RawMessage(`"x"`), json.RawMessage(`"y"`)}},
		{"service.endpoint.gpus.count", []json.RawMessage{json.RawMessage("null"), json.RawMessage("8")}},
		{"service.endpoint.url", []json.RawMessage{json.RawMessage(`"http://a"`), json.RawMessage(`"http://b"`)}},
		{"load.concurrency", []json.RawMessage{json.RawMessage("[1]"), json.RawMessage("[1,2]")}},
		{"load.seed", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")}},
	}
	if diff := cmp.Diff(want, got.Differences); diff != "" {
		t.Error(diff)
	}
	caveats := []string{"model and service differ together: no change can be put down to one of them.", "The points were measured differently (load.seed)."}
	if diff := cmp.Diff(caveats, got.Caveats); diff != "" {
		t.Error(diff)
	}
	b.Facts["model"] = `"x"`
	if again := New(1, []Run{runOf("a", a), runOf("b", b)}, options()).Comparisons[0]; len(again.Mixed) != 0 {
		t.Errorf("mixed: %v", again.Mixed)
	}
}

// Of a side of which nothing is known nothing is said to differ, and that is said.
func TestAnUnknownSideDiffersInNothing(t *testing.T) {
	a, b, other := side("a", "t", at(c(1), 0.1, 1)), side("b", "t", at(c(1), 0.1, 1)), side("c", "t", at(c(1), 0.1, 1))
	b.Facts, other.Facts = map[string]string{"model": `"x"`}, map[string]string{"model": `"x"`}
	got := New(1, []Run{runOf("a", a), runOf("b", b), runOf("c", other)}, options()).Comparisons[0]
	if len(got.Differences) != 0 || !slices.Equal(got.Caveats, []string{"What A was is not known: it may differ from the others in anything."}) {
		t.Errorf("%+v, %q", got.Differences, got.Caveats)
	}
	a.Verdict.From = &selector.From{RunID: "0a1b2c3d"}
	got = New(1, []Run{runOf("a", a), runOf("b", b)}, options()).Comparisons[0]
	if want := "What A was stands in the run it was copied from, 0a1b2c3d: compare with that to see what differs."; !slices.Contains(got.Caveats, want) {
		t.Errorf("%q", got.Caveats)
	}
}

func TestFlatten(t *testing.T) {
	facts := map[string]string{}
	value := map[string]any{"a": map[string]any{"b": json.Number("1.50"), "c.d": "x"}, "list": []any{json.Number("1")}, "none": nil}
	if err := Flatten(facts, "", value); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.b": "1.50", `a."c.d"`: `"x"`, "list": "[1]"}, facts); diff != "" {
		t.Error(diff)
	}
}

// states are those of all conditions, in order.
func states(d Document) (texts []string) {
	for _, comparison := range d.Comparisons {
		for _, g := range comparison.Gates {
			text := string(g.State) + " in " + g.Side
			if g.Load != nil {
				text += " at " + g.Load.Text()
			}
			texts = append(texts, text)
			if (g.State == gate.Undecided) != (g.Reason != "") {
				texts = append(texts, fmt.Sprintf("%s with the reason %q", g.State, g.Reason))
			}
		}
	}
	return texts
}

// Noise neither trips a condition nor opens it, and neither does what is not there, not known or not to be trusted.
func TestGates(t *testing.T) {
	first := side("a", "t", at(c(1), 0.1, 100, 101, 99, 100), at(c(2), 0.2, 200, 201, 202, 199), at(c(4), 0.4, 300, 301, 302, 303))
	worse := side("b", "t", at(c(1), 0.1, 100, 101, 99, 100), at(c(2), 0.2, 150, 151, 152, 149))
	noisy := side("b", "t", at(c(2), 0.2, 150, 250, 200, 210))
	once := side("b", "t", at(c(2), 0.2, 200))
	none := side("b", "t", at(c(1), 0.1, 100, 101, 99, 100))
	broken := side("b", "t", at(c(2), 0.2, 200, 201, 202, 199))
	for i := range broken.Verdict.Points[0].Repeats {
		broken.Verdict.Points[0].Repeats[i].ErrorRate = ref(0.5)
	}
	spoilt := selector.Judge(selector.Series{TrialName: "t", Points: []selector.Candidate{{PointID: "p", Load: c(2), Repeats: broken.Verdict.Points[0].Repeats}}}, rule())
	broken.Verdict = spoilt
	interim := side("b", "t", at(c(2), 0.2, 200, 201, 202, 199))
	interim.Verdict.Status = selector.StatusIncomplete
	for _, test := range []struct {
		name  string
		other Side
		at    At
		want  []string
		all   gate.State
	}{
		{"worse", worse, AtSelected, []string{"tripped in B at concurrency 2"}, gate.Tripped},
		{"worse among the winners", worse, AtWinners, []string{"tripped in B at concurrency 2"}, gate.Tripped},
		{"worse somewhere", worse, AtEvery, []string{"clear in B at concurrency 1", "tripped in B at concurrency 2", "undecided in B at concurrency 4"}, gate.Tripped},
		{"noise", noisy, AtSelected, []string{"undecided in B at concurrency 2"}, gate.Undecided},
		{"one repeat", once, AtSelected, []string{"undecided in B at concurrency 2"}, gate.Undecided},
		{"no such point", none, AtSelected, []string{"undecided in B at concurrency 2"}, gate.Undecided},
		{"not eligible", broken, AtSelected, []string{"undecided in B at concurrency 2"}, gate.Undecided},
		{"measured at that load, and not to the end", interim, AtSelected, []string{"clear in B at concurrency 2"}, gate.Clear},
		{"a winner that may change", interim, AtWinners, []string{"undecided in B at concurrency 2"}, gate.Undecided},
		{"no winner", broken, AtWinners, []string{"undecided in B"}, gate.Undecided},
	} {
		o := options("output_tok_per_s < -5%")
		o.At = test.at
		d := New(1, []Run{runOf("a", first), runOf("b", test.other)}, o)
		if diff := cmp.Diff(test.want, states(d)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got := d.State(1); got != test.all {
			t.Errorf("%s: %s in all, want %s", test.name, got, test.all)
		}
	}
}

// A baseline that was interrupted, killed or damaged may have its best load among those that can't be read: a condition is not held at the load that is
// best of the rest.
func TestGatesOfAnIncompleteBaseline(t *testing.T) {
	first := side("a", "t", at(c(1), 0.1, 100, 101, 99, 100))
	first.Verdict.Status = selector.StatusIncomplete
	second := side("b", "t", at(c(1), 0.1, 100, 101, 99, 100), at(c(2), 0.2, 150, 151, 152, 149))
	for _, where := range []At{AtSelected, AtWinners} {
		o := options("output_tok_per_s < -5%")
		o.At = where
		d := New(1, []Run{runOf("a", first), runOf("b", second)}, o)
		want := "A was not measured to its end, so the load that it selected may change"
		if got := d.Comparisons[0].Gates[0]; got.State != gate.Undecided || got.Reason != want {
			t.Errorf("%s: %s, %q", where, got.State, got.Reason)
		}
		if !slices.Contains(d.Comparisons[0].Caveats, want+".") {
			t.Errorf("%s: not told: %q", where, d.Comparisons[0].Caveats)
		}
	}
}

// A trial that the second run has not passes no condition; one that only the second has changes none.
func TestGatesOfTrialsWithoutCounterpart(t *testing.T) {
	good := func(name string) Side { return side("x", name, at(c(1), 0.1, 100, 100, 100, 100)) }
	for name, test := range map[string]struct {
		first, second Run
		want          gate.State
	}{
		"all paired":              {runOf("a", good("x"), good("y")), runOf("b", good("x"), good("y")), gate.Clear},
		"missing from the second": {runOf("a", good("x"), good("y")), runOf("b", good("x")), gate.Undecided},
		"missing from the first":  {runOf("a", good("x")), runOf("b", good("x"), good("y")), gate.Clear},
		"nothing in common":       {runOf("a", good("x"), good("y")), runOf("b", good("z"), good("w")), gate.Undecided},
	} {
		d := New(1, []Run{test.first, test.second}, options("output_tok_per_s < -5%"))
		if got := d.State(1); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if got := d.State(0); got != gate.Clear {
			t.Errorf("%s: %s without conditions", name, got)
		}
	}
}

// A figure on one side alone is no comparison.
func TestNothingIsCompared(t *testing.T) {
	a, b := side("a", "t", at(c(1), 0.1, 100)), side("b", "t", at(c(1), 0.1, 100))
	for i := range b.Verdict.Points[0].Repeats {
		b.Verdict.Points[0].Repeats[i].OutputTokPerS = nil
		b.Verdict.Points[0].Repeats[i].TTFT.P50 = nil
	}
	d := New(1, []Run{runOf("a", a), runOf("b", b)}, options())
	if d.Compared() {
		t.Error("compared with nothing")
	}
	if text, err := json.Marshal(d); err != nil || !strings.Contains(string(text), `"verdict":"missing"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Documents of three sides have each held against the first.
func TestThreeSides(t *testing.T) {
	d := New(1, []Run{runOf("a", side("a", "t", at(c(1), 0.1, 100, 100, 100, 100), at(c(2), 0.1, 1))), runOf("b", side("b", "t", at(c(1), 0.1, 110, 110, 110, 110), at(c(2), 0.1, 1))),
		runOf("c", side("c", "t", at(c(1), 0.1, 90, 90, 90, 90)))}, options("output_tok_per_s < -5%"))
	changes := d.Comparisons[0].Points[0].Figures[0].Changes
	if changes[0] != nil || changes[1].Verdict != ForBetter || changes[2].Verdict != ForWorse {
		t.Errorf("%+v", changes)
	}
	if u := d.Comparisons[0].Unmatched; len(u) != 1 || u[0].Reason != "only A and B have it" {
		t.Errorf("%+v", u)
	}
	if diff := cmp.Diff([]string{"clear in B at concurrency 1", "tripped in C at concurrency 1"}, states(d)); diff != "" {
		t.Error(diff)
	}
}
