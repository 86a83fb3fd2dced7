package target

import (
	"testing"

	"sweetspot/runner/measure"
)

// vllm-project/vllm PR #42661: where several tokens come in the first event, only a count in each event tells.
func TestContinuousUsageTellsTheTokensOfTheFirstEvent(t *testing.T) {
	for _, asked := range []bool{false, true} {
		config := configOf(t, serve(t, nil))
		config.Spec.Request.ContinuousUsage = asked
		for _, r := range measured(t, config, 2).Records {
			if r.Status != measure.OK || (r.FirstEventTokens != nil) != asked || asked && *r.FirstEventTokens != 1 {
				t.Errorf("asked %v: status %s, first_event_tokens %v", asked, r.Status, r.FirstEventTokens)
			}
		}
	}
}
