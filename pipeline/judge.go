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

// stored is what judging needs of a run: the last row of each measurement and, where a stage measured a point several times, those requests as one
// sample.
type stored struct {
	rows   map[results.PointRepeat]measure.Point
	pooled map[sample]measure.Pooled
}

// sample names the requests of one stage of a point.
type sample struct{ pointID, stage string }

// judgeTrial judges the points of a trial by a rule.
func judgeTrial(trial *Trial, from stored, rule results.Rule) selector.Verdict {
	return judgeStage(trial, stageSweep, from, rule)
}

// judgeAgain judges the points of a trial as they were measured to verify it.
func judgeAgain(trial *Trial, from stored, rule results.Rule) selector.Verdict {
	return judgeStage(trial, stageVerify, from, rule)
}

// judgeStage judges the repeats of one stage.
func judgeStage(trial *Trial, stage string, from stored, rule results.Rule) selector.Verdict {
	first, after := trial.repeatsOf(stage)
	trial = trial.found(from.rows)
	series := selector.Series{TrialID: trial.ID, TrialName: trial.Name, Workload: trial.Workload, Repeats: trial.Repeats, From: trial.From}
	for _, point := range trial.Points {
		candidate := selector.Candidate{PointID: point.ID, Load: point.PointLoad}
		for repeat := first; repeat < after; repeat++ {
			if row, there := from.rows[results.PointRepeat{PointID: point.ID, Repeat: repeat}]; there {
				candidate.Repeats = append(candidate.Repeats, row)
			}
		}
		if trial.Search != nil && stage == stageSweep {
			candidate.Planned = max(trial.Repeats, int64(len(candidate.Repeats)))
		}
		if pooled, there := from.pooled[sample{point.ID, stage}]; there {
			candidate.Pooled = &pooled
		}
		series.Points = append(series.Points, candidate)
	}
	return selector.Judge(series, selector.Rule(rule))
}

// judge stores the verdict on a trial, if there is something new to judge.
func (e *execution) judge(trial *Trial, measured bool) error {
	verdict := judgeTrial(trial, e.stored(trial), e.plan.Rule)
	e.observe(TrialDone{trial, verdict})
	if !measured && e.judged[trial.ID] || !e.isBegun(trial) {
		return nil
	}
	delete(e.verified, trial.ID)
	return e.run.WriteTrial(trial.ID, trialRows(e.run.ID(), trial, verdict, stageSweep))
}

func (e *execution) isBegun(trial *Trial) bool {
	return slices.ContainsFunc(e.plan.Jobs(trial), func(job Job) bool {
		_, begun := e.rows[job.of()]
		return begun
	})
}

// trialRows are the rows of a verdict in the trials table.
func trialRows(runID string, trial *Trial, verdict selector.Verdict, stage string) []results.TrialRow {
	var rows []results.TrialRow
	for _, judged := range verdict.Points {
		row := results.TrialRow{Point: judged.Medians, Verdict: results.Verdict{
			Eligible: judged.Eligible, Feasible: judged.Feasible, Selected: judged.Selected, Reasons: judged.Reasons, Unchecked: judged.Unchecked,
			ThroughputScaling: judged.ThroughputScaling, TTFTGrowth: judged.TTFTGrowth, LinearQueueing: judged.LinearQueueing,
		}}
		row.Keys = measure.Keys{RunID: runID, TrialID: trial.ID, TrialName: trial.Name, PointID: judged.PointID, Stage: stage}
		row.Status = measure.PointStatus(judged.Status)
		if trial.Spec.Model != "" { // else another run's, whose rows say it
			row.Workload, row.Model = trial.Spec.Workload.Name(), trial.Spec.Model
			row.Cache, row.IgnoreEOS = trial.Spec.Request.Cache, trial.Spec.Request.IgnoreEOS
			if row.GPUs == nil { // of a point that was not measured
				row.Hardware = measure.HardwareOf(trial.Spec.Service.GPUs(), nil)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
