package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// execution is one process's work on a run.
type execution struct {
	plan *Plan
	run  *results.Writer
	deps Deps

	rows map[results.PointRepeat]measure.Point // the last row of each measurement
	done map[results.PointRepeat]measure.Point // those that need not be made again
	next map[results.PointRepeat]int64         // the attempt that comes next

	pools map[results.PointRepeat]*measure.Pool // what limits are held against, of measurements whose point has several

	ended    map[string]bool // trials whose search has ended
	judged   map[string]bool // trials whose verdict is stored
	verified map[string]bool // those of which it is stored with what was measured again
	index    int             // of the next measurement among total
	total    int
	notes    []string
	left     []string // see [results.Execution]
}

// Execute measures what the run does not have yet, in the plan's order, and stores each measurement when it has ended and each trial's verdict when
// its last point has. Points that fail do not end the run. It returns the status that the run now has.
//
// An error is that results could not be stored or read: then the run stops, and what was stored before stays.
func Execute(ctx context.Context, plan *Plan, run *results.Writer, deps Deps) (results.Status, error) {
	e := &execution{plan: plan, run: run, deps: deps, pools: map[results.PointRepeat]*measure.Pool{}, ended: map[string]bool{}}
	if err := e.begin(); err != nil {
		return results.Failed, err
	}
	err := e.trials(ctx)
	if err == nil {
		err = e.verify(ctx)
	}
	status := e.status()
	if err != nil {
		status = results.Failed
	}
	return status, errors.Join(err, e.end(status))
}

// begin looks at what is there and says in the manifest that the run is running.
func (e *execution) begin() error {
	if e.deps.Redact == nil {
		e.deps.Redact = schema.RedactText
	}
	e.lookAround()
	looked, err := e.run.SetAside()
	if err != nil {
		return err
	}
	e.keepWhole(looked.Done)
	for of, row := range e.rows {
		if pool := looked.Pools[results.MeasurementOf(row.Keys)]; pool != nil {
			e.pools[of] = pool
		}
	}
	for _, b := range looked.Aside {
		e.note(fmt.Sprintf("set aside in damaged/: %s: %s", b.File, b.Why))
	}
	if e.next, err = e.run.NextAttempts(); err != nil {
		return err
	}
	for i := range e.plan.Trials {
		if trial := &e.plan.Trials[i]; trial.Search != nil {
			e.total += int(trial.most())
		} else {
			e.total += len(e.pending(trial))
		}
	}
	return e.run.Update(func(m *results.Manifest) {
		m.Status = results.Running
		m.Executions = append(m.Executions, newExecutionRecord(e.deps))
	})
}

// lookAround finds what earlier executions stored.
func (e *execution) lookAround() {
	e.rows, e.judged, e.verified = map[results.PointRepeat]measure.Point{}, map[string]bool{}, map[string]bool{}
	rows, _ := e.run.Points() // what is broken is told where it is set aside
	for _, row := range rows {
		e.rows[results.MeasurementOf(row.Keys).Of()] = row
	}
	trials, _ := e.run.Trials() // one that is broken is judged again
	for _, row := range trials {
		e.judged[row.TrialID] = true
		e.verified[row.TrialID] = e.verified[row.TrialID] || row.Stage == stageVerify
	}
}

// keepWhole leaves out measurements whose files are not whole, which are made again.
func (e *execution) keepWhole(done map[results.PointRepeat]measure.Point) {
	e.done = done
	for of, row := range e.rows {
		if _, whole := e.done[of]; row.Status == measure.PointCompleted && !whole {
			delete(e.rows, of)
		}
	}
}

func (e *execution) end(status results.Status) error {
	return e.run.Update(func(m *results.Manifest) {
		now := time.Now().UTC()
		last := &m.Executions[len(m.Executions)-1]
		m.Status, last.Status, last.EndedAt, last.Notes, last.Left = status, status, &now, e.notes, e.left
	})
}

// pending are the measurements of a trial that are still to be made.
func (e *execution) pending(trial *Trial) []Job { return e.unmade(e.plan.Jobs(trial)) }

// unmade are those of some measurements that are still to be made.
func (e *execution) unmade(all []Job) []Job {
	var jobs []Job
	for _, job := range all {
		if _, done := e.done[job.of()]; done {
			continue
		}
		job.RunID, job.Attempt = e.run.ID(), e.next[job.of()]
		jobs = append(jobs, job)
	}
	return jobs
}

// trials goes through the plan, with one start of a service for all trials that share it: they are measured one after the other, wherever they stand in
// the plan.
func (e *execution) trials(ctx context.Context) error {
	groups, err := sharing(e.plan)
	if err != nil {
		return err
	}
	for _, trials := range groups {
		service := &starter{execution: e, trials: trials}
		for _, trial := range trials {
			if err := e.trial(ctx, service, trial); err != nil {
				return errors.Join(err, service.stop(ctx))
			}
		}
		if err := service.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sharing groups trials by their service, in the order in which each first appears.
func sharing(plan *Plan) ([][]*Trial, error) {
	var groups [][]*Trial
	at := map[string]int{}
	for i := range plan.Trials {
		trial := &plan.Trials[i]
		service, err := json.Marshal(trial.Spec.Service)
		if err != nil {
			return nil, fmt.Errorf("grouping trials by their services: %w", err)
		}
		if _, known := at[string(service)]; !known {
			at[string(service)] = len(groups)
			groups = append(groups, nil)
		}
		group := &groups[at[string(service)]]
		*group = append(*group, trial)
	}
	return groups, nil
}

func (e *execution) trial(ctx context.Context, service *starter, trial *Trial) error {
	if trial.Search != nil {
		return e.search(ctx, service, trial)
	}
	jobs := e.pending(trial)
	e.skip(e.plan.Jobs(trial))
	if len(jobs) > 0 && !e.stopped(ctx) {
		e.observe(TrialStarted{trial})
		if err := e.points(ctx, service, trial, jobs); err != nil {
			return err
		}
	}
	return e.judge(trial, len(jobs) > 0)
}

// skip tells the observer of measurements that are there already.
func (e *execution) skip(all []Job) {
	for _, job := range all {
		if row, done := e.done[job.of()]; done {
			e.observe(PointSkipped{row})
		}
	}
}

// points makes a trial's measurements. Where the service does not start or the preflight fails, each of them is a failed row with the reason.
func (e *execution) points(ctx context.Context, service *starter, trial *Trial, jobs []Job) error {
	for _, job := range jobs {
		if e.stopped(ctx) {
			return nil
		}
		running, before, fault := service.ready(ctx, trial, job)
		if e.stopped(ctx) && fault != nil {
			return nil // the point was not begun
		}
		e.observe(PointStarted{Job: job, Index: e.index, Total: e.total})
		e.index++
		if err := e.point(ctx, running, before, job, fault); err != nil {
			return err
		}
		service.measured(job)
	}
	return nil
}

// preflight keeps what the service says of itself.
func (e *execution) preflight(ctx context.Context, service Service, trial *Trial, job Job) (Preflight, error) {
	ctx, cancel := e.untilStopped(ctx)
	defer cancel()
	before, err := guarded(func() (Preflight, error) { return e.deps.Preflight(ctx, service, job) })
	for _, text := range before.Notes {
		e.note(fmt.Sprintf("%s: %s", trial.Name, text))
	}
	if len(before.Facts) == 0 {
		return before, err
	}
	facts := results.Facts{}
	for name, value := range before.Facts {
		facts[name] = e.deps.Redact(value)
	}
	stored := e.run.Update(func(m *results.Manifest) {
		if m.Services == nil {
			m.Services = map[string]results.Facts{}
		}
		m.Services[trial.ID] = facts
	})
	return before, errors.Join(err, stored)
}

// status is what the run has come to: every measurement is there, or was tried, or was not.
func (e *execution) status() results.Status {
	status := results.Completed
	for i := range e.plan.Trials {
		switch e.statusOfTrial(&e.plan.Trials[i]) {
		case results.Interrupted:
			return results.Interrupted
		case results.Failed:
			status = results.Failed
		}
	}
	for _, trial := range e.toVerify() {
		if of := e.statusOf(e.plan.VerifyJobs(trial)); of != results.Completed {
			status = of
		}
		if status == results.Interrupted {
			break
		}
	}
	return status
}

// statusOf is what some measurements have come to.
func (e *execution) statusOf(jobs []Job) results.Status {
	status := results.Completed
	for _, job := range jobs {
		row, tried := e.rows[job.of()]
		switch {
		case !tried || row.Status == measure.PointInterrupted:
			return results.Interrupted
		case row.Status != measure.PointCompleted:
			status = results.Failed
		}
	}
	return status
}

// stopped reports whether the person asked to stop.
func (e *execution) stopped(ctx context.Context) bool {
	select {
	case <-e.deps.Stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// untilStopped is a context that ends when the person asks to stop.
func (e *execution) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-e.deps.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

func (e *execution) note(text string) {
	text = e.deps.Redact(text)
	e.notes = append(e.notes, text)
	e.observe(Note{text})
}

func (e *execution) observe(event Event) {
	if e.deps.Observe != nil {
		e.deps.Observe(event)
	}
}

// guarded turns a panic into an error, so that one point's fault does not end the run.
func guarded[T any](work func() (T, error)) (result T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	return work()
}
