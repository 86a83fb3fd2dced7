package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// ForeignTrial is a trial that another tool measured, in this tool's terms.
type ForeignTrial struct {
	Name     string
	Source   string // the tool and its version
	Model    string
	Workload string // JSON of what was asked, as in [Trial]
	Points   []ForeignPoint
}

// ForeignPoint is a load of such a trial, and what was measured at it: as often at each load of the trial.
type ForeignPoint struct {
	Load    schema.PointLoad
	Repeats []Foreign
}

// Foreign is one measurement. The point's keys are the store's to fill in; there are no records where the tool kept none.
type Foreign struct {
	Point   measure.Point
	Records []measure.Record
}

// PlanForeign is the plan that would have asked for what some trials hold.
func PlanForeign(name string, rule results.Rule, trials []ForeignTrial) (*Plan, error) {
	plan := &Plan{SchemaVersion: results.SchemaVersion, Name: name, Rule: rule}
	for i := range trials {
		trial, err := planForeign(&trials[i])
		if err != nil {
			return nil, fmt.Errorf("planning trial %s: %w", trials[i].Name, err)
		}
		plan.Trials = append(plan.Trials, trial)
	}
	return plan, nil
}

func planForeign(t *ForeignTrial) (Trial, error) {
	if len(t.Points) == 0 {
		return Trial{}, errors.New("it has no points")
	}
	named := identity{"schema_version": results.SchemaVersion, "trial_name": t.Name, "source": t.Source, "model": t.Model, "workload": t.Workload}
	trial := Trial{Name: t.Name, Workload: t.Workload, Repeats: int64(len(t.Points[0].Repeats))}
	var err error
	if trial.ID, err = named.trial(); err != nil {
		return trial, err
	}
	for _, p := range t.Points {
		if n := int64(len(p.Repeats)); n != trial.Repeats {
			return trial, fmt.Errorf("%s was measured %d times and %s %d times: a trial has as many repeats at every load",
				selector.LoadText(t.Points[0].Load), trial.Repeats, selector.LoadText(p.Load), n)
		}
		point := Point{PointLoad: p.Load, Requests: &p.Repeats[0].Point.Issued}
		if point.ID, err = named.point(schema.Load{}, p.Load); err != nil {
			return trial, err
		}
		if slices.ContainsFunc(trial.Points, func(other Point) bool { return other.ID == point.ID }) {
			return trial, fmt.Errorf("%s stands there twice", selector.LoadText(p.Load))
		}
		trial.Points = append(trial.Points, point)
	}
	return trial, nil
}

// StoreForeign stores what the trials hold in a run that was created with their plan, judges each and says in the manifest how the run went.
func StoreForeign(run *results.Writer, plan *Plan, trials []ForeignTrial) error {
	status := results.Completed
	for i := range trials {
		trial := &plan.Trials[i]
		from := stored{map[results.PointRepeat]measure.Point{}, map[sample]measure.Pooled{}}
		for j, point := range trials[i].Points {
			for repeat, m := range point.Repeats {
				row := m.Point
				row.Keys = measure.Keys{
					RunID: run.ID(), TrialID: trial.ID, TrialName: trial.Name, PointID: trial.Points[j].ID, Repeat: int64(repeat), Stage: stageSweep,
				}
				if err := run.WritePoint(row, m.Records, nil); err != nil {
					return err
				}
				from.rows[results.MeasurementOf(row.Keys).Of()] = row
				if row.Status != measure.PointCompleted {
					status = results.Failed
				}
			}
			if pooled := poolForeign(point.Repeats); pooled != nil {
				from.pooled[sample{trial.Points[j].ID, stageSweep}] = *pooled
			}
		}
		if err := run.WriteTrial(trial.ID, trialRows(run.ID(), trial, judgeTrial(trial, from, plan.Rule), stageSweep)); err != nil {
			return err
		}
	}
	return run.Update(func(m *results.Manifest) { m.Status = status })
}

// poolForeign takes the requests of several repeats together; nil where there are no several, or one of them has no requests.
func poolForeign(repeats []Foreign) *measure.Pooled {
	if len(repeats) < 2 || slices.ContainsFunc(repeats, func(f Foreign) bool { return len(f.Records) == 0 }) {
		return nil
	}
	var all measure.Pool
	for _, f := range repeats {
		all.AddAll(f.Records)
	}
	pooled := all.Pooled()
	return &pooled
}

// Encoded is the plan as a manifest holds it.
func (p *Plan) Encoded() (json.RawMessage, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("storing the plan: %w", err)
	}
	return text, nil
}
