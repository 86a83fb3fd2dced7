package presets

import (
	"testing"

	"sweetspot/pipeline/results"
)

// A listing has no words of its own for what show and check say of the same run, but for a verified winner.
func TestAListingSaysOfARunWhatOthersSay(t *testing.T) {
	reproduced, not := true, false
	for _, status := range []results.Status{results.Running, results.Interrupted, results.Killed, results.Failed, results.Completed} {
		for _, held := range []*bool{nil, &not} {
			if got := shown(status, held); got != string(status) {
				t.Errorf("%s is listed as %s", status, got)
			}
		}
	}
	if got := shown(results.Completed, &reproduced); got != statusVerified {
		t.Errorf("a winner that reproduced is listed as %s", got)
	}
	if got := shown(results.Killed, &reproduced); got != string(results.Killed) {
		t.Errorf("a killed run is listed as %s", got)
	}
}
