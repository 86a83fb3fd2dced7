package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func number(n int64) schema.Distribution { return schema.Distribution{Constant: &n} }

func treeSpec() schema.Spec {
	return schema.Spec{
		Model: "m",
		Workload: schema.Workload{Tree: &schema.Tree{
			Turns: number(2), PromptTokens: number(700), OutputTokens: number(16), ThinkTime: number(0), ForkWidth: number(0), JoinShare: 1,
		}},
		Request: schema.Request{API: "chat", Cache: "isolated"},
	}
}

// A preset's tree is a shape, field by field.
func TestShapeOf(t *testing.T) {
	got := ShapeOf(schema.Tree{
		Turns:        schema.Distribution{Uniform: &schema.Range{Min: 1, Max: 4}},
		PromptTokens: schema.Distribution{Normal: &schema.Spread{Mean: 8, Std: 2, Min: 1, Max: 9}},
		OutputTokens: schema.Distribution{Lognormal: &schema.Spread{Mean: 80, Std: 20}},
		ThinkTime:    schema.Distribution{Weighted: []schema.Weighted{{Value: 5, Weight: 2}, {Value: 7, Weight: 1}}},
		Depth:        3, ForkWidth: number(2), InheritShare: 0.29, JoinShare: 1,
	})
	two := int64(2)
	want := TreeShape{
		Turns:        Distribution{Uniform: &Range{Min: 1, Max: 4}},
		PromptTokens: Distribution{Normal: &Spread{Mean: 8, Std: 2, Min: 1, Max: 9}},
		OutputTokens: Distribution{Lognormal: &Spread{Mean: 80, Std: 20}},
		ThinkTime:    Distribution{Weighted: []Weighted{{Value: 5, Weight: 2}, {Value: 7, Weight: 1}}},
		Depth:        3, ForkWidth: Distribution{Constant: &two}, InheritShare: 29, JoinShare: 100,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The first request of a tree's conversation has the length asked for by the service's own count, as random prompts have.
func TestCalibratedTreesHaveTheLengthAskedFor(t *testing.T) {
	for _, k := range tokenizers(t) {
		spec, sent := treeSpec(), 0
		cal, err := Calibrate(t.Context(), spec, Seed{Run: "3f9a1c02"}, 0, k.counter(&sent))
		if err != nil {
			t.Fatal(err)
		}
		source, err := New(spec, Seed{Run: "3f9a1c02", Trial: "baseline"}, cal)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		const sessions = 8
		for i := range int64(sessions) {
			session, err := source.Session(measure.Measured, i)
			if err != nil {
				t.Fatal(err)
			}
			request, err := session.Turns[0].Build(nil)
			if err != nil {
				t.Fatal(err)
			}
			counted, err := k.counter(&sent)(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			sum += counted
		}
		if mean := float64(sum) / sessions; mean < 0.98*700 || mean > 1.02*700 {
			t.Errorf("%s: first prompts of 700 tokens have %v", k.name, mean)
		}
	}
}

// Arrivals are the same in every trial, and others in each repeat.
func TestArrivalsAreEqualAcrossTrials(t *testing.T) {
	seed := Seed{Load: 1, Point: "request_rate=4", Trial: "a", Run: "x"}
	other := seed
	other.Trial, other.Run, other.Attempt = "b", "y", 2
	if seed.Arrivals() != other.Arrivals() {
		t.Error("two trials have different arrivals")
	}
	for name, changed := range map[string]Seed{
		"seed": {Load: 2, Point: "request_rate=4"}, "load": {Load: 1, Point: "request_rate=8"}, "repeat": {Load: 1, Point: "request_rate=4", Repeat: 1},
	} {
		if changed.Arrivals() == seed.Arrivals() {
			t.Errorf("another %s has the same arrivals", name)
		}
	}
}
