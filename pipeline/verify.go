package pipeline

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/selector"
)

// verify measures the winner's trial once more, when every trial has been measured: its service is started afresh.
func (e *execution) verify(ctx context.Context) error {
	if e.stopped(ctx) {
		return nil
	}
	for _, trial := range e.toVerify() {
		service := &starter{execution: e, trials: []*Trial{trial}}
		err := e.again(ctx, service, trial)
		if err := errors.Join(err, service.stop(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// toVerify are the trials that won, those that meet the limits, once nothing more is to be measured of any trial. Where trials ask for different workloads,
// each of these has its winner.
func (e *execution) toVerify() []*Trial {
	if !e.plan.Verify {
		return nil
	}
	for i := range e.plan.Trials {
		if e.statusOfTrial(&e.plan.Trials[i]) == results.Interrupted {
			return nil
		}
	}
	var won []*Trial
	from := stored{e.rows, map[sample]measure.Pooled{}}
	for i := range e.plan.Trials {
		maps.Copy(from.pooled, e.stored(&e.plan.Trials[i]).pooled)
	}
	document := newDocument(e.plan, e.run.ID(), results.Running, from, e.plan.Rule)
	for i := range e.plan.Trials {
		if document.Trials[i].Verification != nil {
			won = append(won, &e.plan.Trials[i])
		}
	}
	return won
}

// again measures what is still to be measured again of a trial, and stores its verdict with it.
func (e *execution) again(ctx context.Context, service *starter, trial *Trial) error {
	all := e.plan.VerifyJobs(trial)
	jobs := e.unmade(all)
	e.observe(Verifying{trial})
	e.skip(all)
	if len(jobs) > 0 && !e.stopped(ctx) {
		e.index, e.total = 0, len(jobs)
		if err := e.points(ctx, service, trial, jobs); err != nil {
			return err
		}
	}
	if len(jobs) == 0 && e.verified[trial.ID] {
		return nil
	}
	from := e.stored(trial)
	rows := trialRows(e.run.ID(), trial, judgeTrial(trial, from, e.plan.Rule), stageSweep)
	return e.run.WriteTrial(trial.ID, append(rows, trialRows(e.run.ID(), trial, judgeAgain(trial, from, e.plan.Rule), stageVerify)...))
}

// verify says of each winner that meets the limits how it did when it was measured again. By a rule that is not the run's own another trial may
// win, which was not measured again: its verdict says so.
func (d *Document) verify(plan *Plan, from stored, rule results.Rule) {
	own := reflect.DeepEqual(rule, plan.Rule)
	for _, w := range d.winners() {
		if w.TrialID == nil {
			continue
		}
		at := slices.IndexFunc(d.Trials, func(v selector.Verdict) bool { return v.TrialID == *w.TrialID })
		if at >= len(plan.Trials) {
			d.Trials[at].Notes = append(d.Trials[at].Notes, "It is not measured again: it is an earlier run's.")
			continue
		}
		trial, verdict := &plan.Trials[at], &d.Trials[at]
		again := judgeAgain(trial, from, rule)
		measured := slices.ContainsFunc(again.Points, func(p selector.Judged) bool { return len(p.Repeats) > 0 })
		switch {
		case !verdict.Feasible:
			verdict.Notes = append(verdict.Notes, "It is not measured again: only a winner that meets the limits is verified.")
		case !own && !measured:
			verdict.Notes = append(verdict.Notes, "It was not measured again: by the run's own rule another trial was verified.")
		default:
			made := selector.Verify(*verdict, again)
			verdict.Verification = &made
		}
	}
}
