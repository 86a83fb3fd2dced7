package selector

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sweetspot/runner/measure"
)

func TestOnFront(t *testing.T) {
	for _, test := range []struct {
		name   string
		points []Tradeoff
		want   []bool
	}{
		{"none", nil, []bool{}},
		{"one", []Tradeoff{{1, 1}}, []bool{true}},
		{"a trade", []Tradeoff{{1, 2}, {2, 1}}, []bool{true, true}},
		{"worse in both", []Tradeoff{{2, 2}, {1, 1}}, []bool{true, false}},
		{"equal in one, worse in the other", []Tradeoff{{2, 2}, {2, 1}, {1, 2}}, []bool{true, false, false}},
		{"equal in both", []Tradeoff{{2, 2}, {2, 2}, {1, 2}}, []bool{true, true, false}},
	} {
		if got := OnFront(test.points); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// dominates reports whether a is at least as good as b in both and better in one.
func (a Tradeoff) dominates(b Tradeoff) bool {
	return a.Throughput >= b.Throughput && a.User >= b.User && a != b
}

// The second method: each point against each other, as the definition has it. Few values make many ties.
func TestOnFrontByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(0.1, 1e6), rapid.Map(rapid.IntRange(1, 5), func(n int) float64 { return float64(n) }))
		points := make([]Tradeoff, rapid.IntRange(0, 30).Draw(t, "points"))
		for i := range points {
			points[i] = Tradeoff{value.Draw(t, "throughput"), value.Draw(t, "user")}
		}
		got := OnFront(points)
		for i, p := range points {
			if want := !slices.ContainsFunc(points, func(q Tradeoff) bool { return q.dominates(p) }); got[i] != want {
				t.Errorf("%v of %v is on the front: %v, want %v", p, points, got[i], want)
			}
		}
		if len(points) > 0 && !slices.Contains(got, true) {
			t.Errorf("a front of nothing: %v", points)
		}
	})
}

// gives is a trial whose points have these throughputs and paces.
func gives(name string, gpus *int64, points ...Tradeoff) Series {
	s := Series{TrialID: name, TrialName: name}
	for i, p := range points {
		c := point(row(1<<i, p.Throughput, 0.1))
		c.Repeats[0].OutputTokPerSUser = &p.User
		if gpus != nil {
			perGPU := p.Throughput / float64(*gpus)
			c.Repeats[0].Hardware = measure.Hardware{GPUs: gpus, OutputTokPerSGPU: &perGPU}
		}
		s.Points = append(s.Points, c)
	}
	return s
}

func front(f Front) (on []string) {
	for _, p := range f.Points {
		if p.OnFront {
			on = append(on, string(rune('A'+p.Side))+" "+p.PointID)
		}
	}
	return on
}

func TestFrontsAreOfOneGPU(t *testing.T) {
	// Eight GPUs have more than one, and less each.
	verdicts := []Verdict{
		Judge(gives("eight", ref(int64(8)), Tradeoff{160, 50}, Tradeoff{400, 40}), rule(0)),
		Judge(gives("one", ref(int64(1)), Tradeoff{30, 45}, Tradeoff{60, 40}), rule(0)),
	}
	fronts := MarkFronts(verdicts)
	if len(fronts) != 1 || !fronts[0].PerGPU() {
		t.Fatalf("fronts %+v", fronts)
	}
	if got, want := front(fronts[0]), []string{"A c1", "B c1", "B c2"}; !slices.Equal(got, want) {
		t.Errorf("on the front: %v, want %v", got, want)
	}
	if p := verdicts[0].Points[1]; p.Pareto == nil || *p.Pareto {
		t.Errorf("the second of eight GPUs: %v", p.Pareto)
	}
}

// What is not known of all is not mixed: a trial whose GPUs are not declared has a front of its own, and so has another workload.
func TestFrontsDoNotMix(t *testing.T) {
	other := gives("other", nil, Tradeoff{1000, 1000})
	other.Workload = "another"
	broken := gives("broken", nil, Tradeoff{5000, 5000})
	broken.Points[0].Repeats[0].ErrorRate = ref(0.5)
	unknown := gives("unknown", nil, Tradeoff{5000, 5000})
	unknown.Points[0].Repeats[0].OutputTokPerSUser = nil
	var verdicts []Verdict
	for _, s := range []Series{gives("declared", ref(int64(8)), Tradeoff{100, 10}), gives("not", nil, Tradeoff{800, 9}), other, broken, unknown} {
		verdicts = append(verdicts, Judge(s, rule(0)))
	}
	fronts := MarkFronts(verdicts)
	var got []string
	for _, f := range fronts {
		got = append(got, f.Throughput)
		got = append(got, front(f)...)
	}
	if want := []string{"output_tok_per_s_gpu", "A c1", "output_tok_per_s", "B c1", "output_tok_per_s", "C c1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if verdicts[3].Points[0].Pareto != nil || verdicts[4].Points[0].Pareto != nil {
		t.Error("a point that can't be judged has a place beside the front")
	}
}
