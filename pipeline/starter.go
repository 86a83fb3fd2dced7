package pipeline

import (
	"context"
	"errors"
	"fmt"

	"sweetspot/runner/measure"
)

// starter keeps the service of some trials: it starts it when the first of their points needs it, and anew where it ended by itself or where the
// preset asks for a fresh one.
type starter struct {
	*execution
	trials  []*Trial
	service Service // nil: it does not run
	err     error   // why it is not tried any more

	looked   *Trial // the preflight since the last start was of this trial
	before   Preflight
	refused  error
	last     *Job // that was measured since the last start
	crashes  int  // in a row, without a completed point between them
	restarts bool
}

// mostCrashes is how often in a row a service may end by itself before it is given up.
const mostCrashes = 3

// ready gives the service, started and looked at, for a job that comes next. An error is why the job can't be measured.
func (s *starter) ready(ctx context.Context, trial *Trial, job Job) (Service, Preflight, error) {
	if s.service != nil && s.service.Err() != nil {
		s.crashed(ctx) // between two points
	}
	if s.service != nil && s.last != nil && renewed(*s.last, job) {
		s.end(ctx)
	}
	if s.err == nil && s.service == nil {
		s.start(ctx)
	}
	if s.err != nil {
		return nil, Preflight{}, s.err
	}
	if s.looked != trial {
		s.looked = trial
		s.before, s.refused = s.preflight(ctx, s.service, trial, job)
	}
	if s.refused != nil && s.service.Err() != nil {
		s.refused = s.service.Err()
		err := s.refused
		s.crashed(ctx)
		return nil, Preflight{}, err
	}
	return s.service, s.before, s.refused
}

// mayRecover reports whether the service, which could not be had, is tried again for the next job.
func (s *starter) mayRecover() bool { return s.err == nil && s.service == nil }

// renewed reports whether the preset has a fresh service for the next job after the last.
func renewed(last, next Job) bool {
	process := next.Spec.Service.Process
	if process == nil {
		return false
	}
	switch process.Restart {
	case "point":
		return true
	case "repeat":
		return next.TrialID != last.TrialID || next.Repeat != last.Repeat
	case "trial":
		return next.TrialID != last.TrialID
	}
	return false
}

func (s *starter) start(ctx context.Context) {
	s.observe(ServiceStarting{s.trials, s.restarts})
	s.restarts, s.looked, s.last = true, nil, nil
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	service, err := guarded(func() (Service, error) { return s.deps.StartService(ctx, s.trials[0].Spec.Service) })
	if err != nil {
		s.err = fmt.Errorf("starting the service: %w", err)
		return
	}
	s.service = service
}

// measured takes note of a job that was measured, and of a service that ended meanwhile.
func (s *starter) measured(job Job) {
	s.last = &job
	if row, there := s.rows[job.of()]; there && row.Status == measure.PointCompleted {
		s.crashes = 0
	}
}

// crashed clears up after a service that ended by itself.
func (s *starter) crashed(ctx context.Context) {
	err := s.service.Err()
	_, stopped := guarded(func() (Service, error) { return nil, s.service.Stop(ctx) }) // it says the same
	s.mayBeLeft(stopped)
	s.service = nil
	if s.crashes++; s.crashes == mostCrashes {
		s.err = fmt.Errorf("the service is not started again: it ended by itself %d times in a row: %w", s.crashes, err)
	}
}

// mayBeLeft takes note of a service of which, by the error of its start or stop, something may be left: it may go on costing money.
func (s *starter) mayBeLeft(err error) {
	var left interface {
		error
		MayBeLeft()
	}
	if errors.As(err, &left) {
		s.note("stopping the service: " + left.Error())
		s.left = append(s.left, left.Error())
	}
}

// stop ends the service, if it runs. That it does not end well is told and fails no point: they are measured.
func (s *starter) stop(ctx context.Context) error {
	if s.service != nil && s.service.Err() != nil {
		s.crashed(ctx) // its point says so
	}
	s.end(ctx)
	return nil
}

func (s *starter) end(ctx context.Context) {
	if s.service == nil {
		return
	}
	before := len(s.left)
	_, err := guarded(func() (Service, error) { return nil, s.service.Stop(ctx) })
	if s.mayBeLeft(err); err != nil && len(s.left) == before {
		s.note(fmt.Sprintf("stopping the service: %v", err))
	}
	s.service = nil
}
