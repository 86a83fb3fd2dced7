package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/selector"
)

// Bring adds to the plan the trials of an earlier run whose workload is that of one of the plan's own. Trials that were themselves brought there stay out,
// as do those of other workloads; a run that has none of the same is an error. A run that was brought already changes nothing.
func (p *Plan) Bring(run *results.Run) error {
	if slices.ContainsFunc(p.Previous, func(t Trial) bool { return t.From.RunID == run.ID() }) {
		return nil
	}
	earlier, err := PlanOf(run)
	if err != nil {
		return err
	}
	document, _, err := Read(run, nil) // what is broken was not measured
	if err != nil {
		return err
	}
	var brought []Trial
	for i := range earlier.Trials {
		if !slices.ContainsFunc(p.Trials, func(own Trial) bool { return own.Workload == earlier.Trials[i].Workload }) {
			continue
		}
		trial, err := bring(run, &earlier.Trials[i], &document.Trials[i])
		if err != nil {
			return fmt.Errorf("bringing trial %s of run %s: %w", earlier.Trials[i].Name, run.ID(), err)
		}
		brought = append(brought, trial)
	}
	if len(brought) == 0 {
		return fmt.Errorf("previous: run %s has no trial with the workload of this preset: only trials that were asked the same can be compared", run.ID())
	}
	p.Previous = append(p.Previous, brought...)
	return nil
}

// bring gives a trial and its points ids of their own: the same trial may be measured again in this run. Points are those that have rows, which in a search are those
// that it came to.
func bring(run *results.Run, earlier *Trial, verdict *selector.Verdict) (Trial, error) {
	trial := Trial{
		Name: earlier.Name + "@" + run.ID(), Axes: earlier.Axes, Workload: earlier.Workload, Repeats: earlier.Repeats,
		From: &selector.From{RunID: run.ID(), RunName: run.Manifest().Name, TrialID: earlier.ID, TrialName: earlier.Name},
	}
	var err error
	if trial.ID, err = hash(identity{"previous_run": run.ID(), "previous_trial": earlier.ID}); err != nil {
		return trial, err
	}
	for _, judged := range verdict.Points {
		point := Point{PointLoad: judged.Load}
		if point.ID, err = hash(identity{"previous_run": run.ID(), "previous_point": judged.PointID}); err != nil {
			return trial, err
		}
		trial.Points = append(trial.Points, point)
	}
	if len(trial.Points) == 0 {
		return trial, errors.New("it has no points")
	}
	return trial, nil
}

// CopyPrevious copies what the plan has of earlier runs into the new run, judges it by the run's rule and stores the verdicts. The earlier runs stay as they
// are; open opens them by their ids. What is there already, of a run that is resumed, is not copied again, and its source need not be there any more.
func CopyPrevious(to *results.Writer, plan *Plan, open func(runID string) (*results.Run, error)) error {
	there, _ := to.Trials()
	for i := range plan.Previous {
		trial := &plan.Previous[i]
		if slices.ContainsFunc(there, func(row results.TrialRow) bool { return row.TrialID == trial.ID }) {
			continue
		}
		source, err := open(trial.From.RunID)
		if err != nil {
			return err
		}
		if err := copyTrial(to, source, trial, plan.Rule); err != nil {
			return fmt.Errorf("copying trial %s of run %s: %w", trial.From.TrialName, trial.From.RunID, err)
		}
	}
	return nil
}

func copyTrial(to *results.Writer, source *results.Run, trial *Trial, rule results.Rule) error {
	from := stored{map[results.PointRepeat]measure.Point{}, map[sample]measure.Pooled{}}
	rows, _ := source.Points() // one that is broken was not measured
	copied, _ := to.Points()
	for _, row := range rows {
		if row.TrialID != trial.From.TrialID || row.Stage != stageSweep || row.Repeat >= trial.Repeats {
			continue
		}
		pointID, err := hash(identity{"previous_run": source.ID(), "previous_point": row.PointID})
		if err != nil {
			return err
		}
		keys := measure.Keys{RunID: to.ID(), TrialID: trial.ID, TrialName: trial.Name, PointID: pointID, Repeat: row.Repeat, Stage: stageSweep}
		of := results.MeasurementOf(keys).Of()
		if i := slices.IndexFunc(copied, func(p measure.Point) bool { return results.MeasurementOf(p.Keys).Of() == of }); i >= 0 {
			from.rows[of] = copied[i]
			continue
		}
		records, samples, gpus, err := rowsOf(source, results.MeasurementOf(row.Keys))
		if err != nil {
			return err
		}
		row.Keys = keys
		if err := to.WritePoint(row, records, samples, gpus...); err != nil {
			return err
		}
		from.rows[of] = row
	}
	from.pooled = pooledOf(source, trial)
	return to.WriteTrial(trial.ID, trialRows(to.ID(), trial, judgeTrial(trial, from, rule), stageSweep))
}

// pooledOf are the samples over the repeats that the earlier run kept of a trial, under the points' ids of this one.
func pooledOf(source *results.Run, trial *Trial) map[sample]measure.Pooled {
	pooled := map[sample]measure.Pooled{}
	kept, _ := readStored(source)
	for of, value := range kept.pooled {
		id, err := hash(identity{"previous_run": source.ID(), "previous_point": of.pointID})
		if err == nil && of.stage == stageSweep && slices.ContainsFunc(trial.Points, func(p Point) bool { return p.ID == id }) {
			pooled[sample{id, stageSweep}] = value
		}
	}
	return pooled
}

// rowsOf reads what a run has of a measurement beside its point.
func rowsOf(run *results.Run, m results.Measurement) (records []measure.Record, samples []measure.Sample, gpus []measure.GPUSample, err error) {
	for row, err := range run.Requests(m) {
		if err != nil {
			return nil, nil, nil, err
		}
		records = append(records, row.Record)
	}
	for row, err := range run.ServerMetrics(m) {
		if err != nil {
			return nil, nil, nil, err
		}
		samples = append(samples, row.Sample)
	}
	for row, err := range run.GPU(m) {
		if err != nil {
			return nil, nil, nil, err
		}
		gpus = append(gpus, row.GPUSample)
	}
	return records, samples, gpus, nil
}
