package workload

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func TestDescribeATrace(t *testing.T) {
	spec := traceSpec("f", "mooncake", "isolated")
	contents, err := recordedFile(t, spec.Workload, sharing)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Describe(contents, spec, Seed{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.First) != 3 || d.First[0] == d.First[2] || len(d.First[0]) > shownOfPrompt+3 {
		t.Errorf("the first prompts are %q", d.First)
	}
	d.First = nil
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	// Of the eight blocks 7 and 8 of the second line came before; block 8 of the third stands behind another.
	want := `{"workload":"trace","sessions":3,"requests":3,"turns":{"n":3,"min":1,"p50":1,"p90":1,"p99":1,"max":1,"mean":1},"forks":0,` +
		`"prompt_tokens":{"n":3,"min":1500,"p50":1540,"p90":2000,"p99":2000,"max":2000,"mean":1678.6666666666667},"prompt_tokens_of":"all_requests",` +
		`"output_tokens":{"n":3,"min":5,"p50":5,"p90":5,"p99":5,"max":5,"mean":5},"duration_s":2,"shared_blocks":0.25,"first_prompts":null}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeWhatIsGenerated(t *testing.T) {
	spec := chatSpec("isolated")
	two := int64(2)
	constant := func(n int64) schema.Distribution { return schema.Distribution{Constant: &n} }
	spec.Workload = schema.Workload{Tree: &schema.Tree{
		Turns: constant(2), PromptTokens: constant(100), OutputTokens: constant(7), ThinkTime: constant(0), Depth: 1, ForkWidth: constant(1), InheritShare: 1,
	}}
	d, err := Describe(nil, spec, Seed{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Sessions != 1000 || d.Requests != 6000 || d.Forks != 2000 || *d.Turns.P99 != two || *d.Output.Max != 7 || d.SharedBlocks != nil || d.Duration != nil {
		t.Errorf("the description is %+v", d)
	}
}

func TestTallies(t *testing.T) {
	var counted tally
	for v := int64(1); v <= 200_000; v++ {
		counted.add(v)
	}
	s := counted.spectrum()
	if s.N != 200_000 || *s.Min != 1 || *s.P50 != 100_000 || *s.P90 != 180_000 || *s.P99 != 198_000 || *s.Max != 200_000 || *s.Mean != 100_000.5 || len(counted.counts) > 3000 {
		t.Errorf("%d counts give %s", len(counted.counts), fmt.Sprint(s.N, *s.Min, *s.P50, *s.P90, *s.P99, *s.Max, *s.Mean))
	}
}

// What is kept of very many stays bounded, and what it says stays near.
func TestSamples(t *testing.T) {
	s := newSample()
	for lap := range 2 {
		for i := range uint64(3 * sampled) {
			if lap == 0 || i%2 == 0 {
				s.add(mix(i + 1))
			}
		}
	}
	if got := *s.repeated(); len(s.counts) > sampled || got < 0.331 || got > 0.336 { // a third of all came before
		t.Errorf("%d are kept, %v came before", len(s.counts), got)
	}
}
