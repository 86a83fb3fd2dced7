package target

import (
	"testing"

	"sweetspot/runner"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// vllm-project/vllm PR #42661: where several tokens come in the first event, only a count in each event tells.
func TestContinuousUsageTellsTheTokensOfTheFirstEvent(t *testing.T) {
	for _, asked := range []bool{false, true} {
		config := configOf(t, serve(t, nil))
		config.Spec.Request.ContinuousUsage = asked
		made, _, err := Prepare(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		one := int64(1)
		outcome, err := made.Measure(t.Context(), Job{Point: runner.Point{Load: schema.PointLoad{Concurrency: &one}, Requests: 2, DrainTimeout: schema.Duration(1e10)}}, Watch{})
		if err != nil || len(outcome.Records) != 2 {
			t.Fatalf("measuring: %v, %d records", err, len(outcome.Records))
		}
		for _, r := range outcome.Records {
			if r.Status != measure.OK || (r.FirstEventTokens != nil) != asked || asked && *r.FirstEventTokens != 1 {
				t.Errorf("asked %v: status %s, first_event_tokens %v", asked, r.Status, r.FirstEventTokens)
			}
		}
	}
}
