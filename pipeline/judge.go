package pipeline

import (
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/selector"
)

// TrialDone is that a trial has been judged.
type TrialDone struct {
	Trial   *Trial
	Verdict selector.Verdict
}

// judgeTrial judges the points of a trial by a rule, on the last row of each measurement.
func judgeTrial(trial *Trial, rows map[results.PointRepeat]measure.Point, rule results.Rule) selector.Verdict {
	return judgeFrom(trial, 0, rows, rule)
}

// judgeAgain judges the points of a trial as they were measured to verify it.
func judgeAgain(trial *Trial, rows map[results.PointRepeat]measure.Point, rule results.Rule) selector.Verdict {
	return judgeFrom(trial, trial.Repeats, rows, rule)
}

// judgeFrom judges the repeats from first on, as many as there should be.
func judgeFrom(trial *Trial, first int64, rows map[results.PointRepeat]measure.Point, rule results.Rule) selector.Verdict {
	series := selector.Series{TrialID: trial.ID, TrialName: trial.Name, Workload: trial.Workload, Repeats: trial.Repeats}
	for _, point := range trial.Points {
		candidate := selector.Candidate{PointID: point.ID, Load: point.PointLoad}
		for repeat := range trial.Repeats {
			if row, there := rows[results.PointRepeat{PointID: point.ID, Repeat: first + repeat}]; there {
				candidate.Repeats = append(candidate.Repeats, row)
			}
		}
		series.Points = append(series.Points, candidate)
	}
	return selector.Judge(series, selector.Rule(rule))
}

// judge stores the verdict on a trial, if there is something new to judge.
func (e *execution) judge(trial *Trial, measured bool) error {
	verdict := judgeTrial(trial, e.rows, e.plan.Rule)
	e.observe(TrialDone{trial, verdict})
	if !measured && e.judged[trial.ID] || !e.isBegun(trial) {
		return nil
	}
	delete(e.verified, trial.ID)
	return e.run.WriteTrial(trial.ID, e.trialRows(trial, verdict, stageSweep))
}

func (e *execution) isBegun(trial *Trial) bool {
	return slices.ContainsFunc(e.plan.Jobs(trial), func(job Job) bool {
		_, begun := e.rows[job.of()]
		return begun
	})
}

func (e *execution) trialRows(trial *Trial, verdict selector.Verdict, stage string) []results.TrialRow {
	var rows []results.TrialRow
	for _, judged := range verdict.Points {
		row := results.TrialRow{Point: judged.Medians, Verdict: results.Verdict{
			Eligible: judged.Eligible, Feasible: judged.Feasible, Selected: judged.Selected, Reasons: judged.Reasons, Unchecked: judged.Unchecked,
			ThroughputScaling: judged.ThroughputScaling, TTFTGrowth: judged.TTFTGrowth, LinearQueueing: judged.LinearQueueing,
		}}
		row.Keys = measure.Keys{RunID: e.run.ID(), TrialID: trial.ID, TrialName: trial.Name, PointID: judged.PointID, Stage: stage}
		row.Status = measure.PointStatus(judged.Status)
		row.Workload, row.Model = trial.Spec.Workload.Name(), trial.Spec.Model
		row.Cache, row.IgnoreEOS = trial.Spec.Request.Cache, trial.Spec.Request.IgnoreEOS
		if row.GPUs == nil { // of a point that was not measured
			row.Hardware = measure.HardwareOf(trial.Spec.Service.GPUs(), nil)
		}
		rows = append(rows, row)
	}
	return rows
}
