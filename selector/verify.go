package selector

import (
	"fmt"
	"math"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector/format"
)

// Verification is how the selected point of a winner did when its trial was measured once more, after all trials.
type Verification struct {
	PointID    string   `json:"point_id"`
	Status     string   `json:"status"`     // "completed", or "incomplete" where a point was not measured again to its end
	Reproduced *bool    `json:"reproduced"` // null while it is incomplete
	Figure     string   `json:"figure"`     // that the winner has most of
	Before     *float64 `json:"value"`      // of the sweep
	Again      *float64 `json:"value_again"`
	Change     *float64 `json:"change"`    // share by which it is higher, below 0 where it is lower
	Tolerance  float64  `json:"tolerance"` // most that Change may be on either side
	Reasons    []string `json:"reasons"`   // why it did not reproduce, each with figure and limit
	Points     []Judged `json:"points"`    // as they were measured again
}

// Verify holds what was measured again against a verdict that has a winner, both judged by one rule. The winner has reproduced where its point can be
// trusted again, meets every limit again, and its throughput has changed by no more than the rule's tolerance, to either side: a figure that
// comes out much higher the second time was no better known.
func Verify(v, again Verdict) Verification {
	first, second := v.Winner(), again.Point(v.Selected)
	made := Verification{PointID: first.PointID, Status: statusCompleted, Figure: v.Rule.maximized(), Before: v.Rule.throughput(&first.Medians),
		Tolerance: v.Rule.Select.Tolerance.Verify, Reasons: []string{}, Points: again.Points}
	for _, p := range again.Points {
		if p.Missing > 0 || p.Status == string(measure.PointInterrupted) {
			made.Status = StatusIncomplete
		}
	}
	if second == nil || made.Status == StatusIncomplete {
		made.Status = StatusIncomplete
		return made
	}
	made.Again = v.Rule.throughput(&second.Medians)
	made.Reasons = append(made.Reasons, second.Reasons...)
	if made.Before != nil && made.Again != nil {
		made.Change = over(*made.Again-*made.Before, *made.Before)
	}
	if made.Change == nil || math.Abs(*made.Change) > made.Tolerance {
		made.Reasons = append(made.Reasons, made.changeText())
	}
	reproduced := len(made.Reasons) == 0
	made.Reproduced = &reproduced
	return made
}

// changeText says how the throughput changed, and how much is allowed.
func (m *Verification) changeText() string {
	if m.Change == nil {
		return m.Figure + " is unknown the second time"
	}
	way := "less"
	if *m.Change >= 0 {
		way = "more"
	}
	changed, allowed := format.Apart(math.Abs(*m.Change), m.Tolerance, format.PercentTo, format.Digits-1)
	return fmt.Sprintf("%s is %s, %s %s than the %s of the sweep (at most %s allowed)", m.Figure, format.Number(*m.Again), changed, way, format.Number(*m.Before), allowed)
}

// text says in words how the selected point did.
func (m *Verification) text(winner *Judged) string {
	switch {
	case m.Status == StatusIncomplete:
		return "It has not been measured again to its end, so it is not verified."
	case *m.Reproduced:
		return fmt.Sprintf("Measured again after the trials it reproduces: %s.", m.changeText())
	}
	return fmt.Sprintf("It does not reproduce: measured again after the trials, at %s %s.", LoadText(winner.Load), strings.Join(m.Reasons, ", "))
}
