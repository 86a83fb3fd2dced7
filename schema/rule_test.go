package schema

import (
	"testing"
	"time"
)

// TestReadRule holds that a rule is changed as a preset is, and what is not named stays.
func TestReadRule(t *testing.T) {
	ttft := Duration(500 * time.Millisecond)
	limits := Limits{MaxTTFT: &ttft, TTFTStat: "p90", TPOTStat: "p50", TotalTimeStat: "p50", MaxErrorRate: 0.01}
	choice := Select{Maximize: "output_tok_per_s", Across: "selected", Tolerance: Tolerance{InFlight: 0.9, OutputLength: 0.95, Rate: 0.05}}
	changed, kept, err := ReadRule(limits, choice, []string{"limits.max_ttft=300ms", "limits.max_tpot=20ms", "select.across=complete"})
	if err != nil {
		t.Fatal(err)
	}
	if changed.MaxTTFT.String() != "300ms" || changed.TTFTStat != "p90" || changed.MaxTPOT.String() != "20ms" || changed.MaxErrorRate != 0.01 {
		t.Errorf("limits: %+v", changed)
	}
	if kept.Across != "complete" || kept.Tolerance.InFlight != 0.9 {
		t.Errorf("select: %+v", kept)
	}
	if without, _, err := ReadRule(limits, choice, []string{"limits.max_ttft=null"}); err != nil || without.MaxTTFT != nil {
		t.Errorf("without a limit: %+v, %v", without, err)
	}
	choice.Tolerance.Verify = 0.2
	if _, kept, err := ReadRule(limits, choice, nil); err != nil || kept.Tolerance.Verify != 0.2 {
		t.Errorf("tolerance of a verification: %+v, %v", kept, err)
	}
	if _, _, err := ReadRule(limits, choice, []string{"limits.max_ttft=fast"}); err == nil {
		t.Error("a limit that is none is accepted")
	}
}
