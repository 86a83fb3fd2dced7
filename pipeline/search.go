package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Search is what a trial's points are chosen by while it runs, in the place of a list of them.
type Search struct {
	schema.Search
	First Point `json:"first"` // the point of the lowest load
	Last  Point `json:"last"`  // and of the highest that may be tried

	point func(load int64) (Point, error) // an ordinary point; nil in a plan that was read back
}

func newSearch(trial identity, preset *schema.Preset, spec schema.Spec) (*Search, error) {
	s := &Search{Search: *preset.Load.Search}
	s.point = func(load int64) (Point, error) {
		at := preset.Load.At(load)
		loads, err := at.Points()
		if err != nil {
			return Point{}, err
		}
		one := *preset
		one.Load = at
		return newPoint(trial, &one, loads[0], schema.Trial{Spec: spec})
	}
	var err error
	if s.First, err = s.point(s.From); err != nil {
		return nil, err
	}
	s.Last, err = s.point(s.To)
	return s, err
}

// same says why a search can't carry on one that was begun with another.
func (s *Search) same(begun *Search, trial string) error {
	switch {
	case (s == nil) != (begun == nil):
		return fmt.Errorf("only one of its trial %s and the preset's searches", trial)
	case s == nil:
		return nil
	case s.Search != begun.Search:
		return errors.New("load.search is not the one that it was begun with")
	case s.First.ID != begun.First.ID || s.Last.ID != begun.Last.ID:
		return fmt.Errorf("the points of its trial %s have another load than the preset's", trial)
	}
	return nil
}

// search measures one load after the other, each chosen by what was measured before. What is stored already is taken in its turn, so that a search that
// is carried on makes the decisions that it would have made.
func (e *execution) search(ctx context.Context, service *starter, trial *Trial) error {
	s := &searching{execution: e, trial: trial, service: service, waiting: map[results.PointRepeat]measure.Point{}}
	for of, row := range e.rows {
		if row.TrialID == trial.ID && row.Stage == stageSweep {
			delete(e.rows, of)
			if _, done := e.done[of]; done {
				s.waiting[of] = row
			}
		}
	}
	for more := true; more; {
		var err error
		if more, err = s.step(ctx); err != nil {
			return err
		}
	}
	return e.judge(trial, s.measured)
}

// searching is the search of one trial.
type searching struct {
	*execution
	trial   *Trial
	service *starter
	waiting map[results.PointRepeat]measure.Point // stored by earlier executions, and not come to yet

	given    bool // up: the service can't be driven at all
	measured bool
}

// step takes the next step; it is false after the last.
func (s *searching) step(ctx context.Context) (more bool, err error) {
	verdict := judgeTrial(s.trial, s.stored(s.trial), s.plan.Rule)
	next, _ := selector.NextOf(s.trial.Search.Search, s.trial.Repeats, verdict)
	if next.Load == 0 || s.given {
		s.ended[s.trial.ID] = true
		return false, nil
	}
	point, err := s.trial.pointOf(next.Load)
	if err != nil {
		return false, err
	}
	job := s.plan.job(s.trial, point, next.Repeat)
	if row, there := s.waiting[job.of()]; there {
		delete(s.waiting, job.of())
		s.rows[job.of()] = row
		s.observe(PointSkipped{row})
		return true, nil
	}
	if s.stopped(ctx) {
		return false, nil
	}
	return s.measureNext(ctx, job, next.Why)
}

func (s *searching) measureNext(ctx context.Context, job Job, why string) (more bool, err error) {
	job.RunID, job.Attempt = s.run.ID(), s.next[job.of()]
	s.next[job.of()]++
	if !s.measured {
		s.measured = true
		s.observe(TrialStarted{s.trial})
	}
	running, before, fault := s.service.ready(ctx, s.trial, job)
	if fault != nil && s.stopped(ctx) {
		return false, nil
	}
	s.observe(PointStarted{Job: job, Index: s.index, Total: s.total, AtMost: true, Why: why})
	s.index++
	defer s.service.measured(job)
	s.given = fault != nil && !s.service.mayRecover()
	return true, s.point(ctx, running, before, job, fault)
}

// pointOf is the trial's point of a searched load, which it has from then on.
func (t *Trial) pointOf(load int64) (*Point, error) {
	point, err := t.Search.point(load)
	if err != nil {
		return nil, fmt.Errorf("searching %s: %w", t.Name, err)
	}
	i := slices.IndexFunc(t.Points, func(p Point) bool { return p.ID == point.ID })
	if i < 0 {
		i = len(t.Points)
		t.Points = append(t.Points, point)
	}
	return &t.Points[i], nil
}

// found is the trial with the points that a search has stored, in order of load.
func (t Trial) found(rows map[results.PointRepeat]measure.Point) *Trial {
	if t.Search == nil || len(t.Points) > 0 {
		return &t
	}
	for _, row := range rows {
		if row.TrialID == t.ID && !slices.ContainsFunc(t.Points, func(p Point) bool { return p.ID == row.PointID }) {
			t.Points = append(t.Points, Point{ID: row.PointID, PointLoad: row.PointLoad})
		}
	}
	slices.SortFunc(t.Points, func(a, b Point) int {
		return cmp.Or(selector.CompareLoad(a.PointLoad, b.PointLoad), cmp.Compare(a.ID, b.ID))
	})
	return &t
}

// searched says how the search of a judged trial stands: by the run's own rule, whatever the trial is judged by.
func (t *Trial) searched(from stored, own results.Rule) *selector.Searched {
	if t.Search == nil {
		return nil
	}
	verdict := judgeTrial(t, from, own)
	_, searched := selector.NextOf(t.Search.Search, t.Repeats, verdict)
	if searched.Ended && slices.ContainsFunc(verdict.Points, func(p selector.Judged) bool { return !from.whole(p) }) {
		searched.Ended, searched.Why = false, "not known before the run is carried on: it was stopped before what it measured again was judged"
	}
	return &searched
}

// whole reports whether a point is judged by the requests of all its repeats.
func (from *stored) whole(p selector.Judged) bool {
	pooled, there := from.pooled[sample{p.PointID, stageSweep}]
	return len(p.Repeats) < 2 || there && pooled.Issued == p.Medians.Issued-p.Medians.Cancelled
}

// statusOfTrial is what the measurements of a trial have come to.
func (e *execution) statusOfTrial(trial *Trial) results.Status {
	if trial.Search == nil {
		return e.statusOf(e.plan.Jobs(trial))
	}
	if !e.ended[trial.ID] {
		return results.Interrupted
	}
	status := results.Completed
	for _, row := range e.rows {
		if row.TrialID == trial.ID && row.Stage == stageSweep && row.Status != measure.PointCompleted {
			status = results.Failed
		}
	}
	return status
}

// most is how many measurements a search makes at most.
func (t *Trial) most() int64 { return t.Search.MaxPoints * max(t.Repeats, t.Search.MaxRepeats) }

// estimate is how long a search should take: as long as an earlier one of the same trial or, where there is none, at most as long as all its points
// together by the duration asked for. It is nil where nothing is known.
func (t *Trial) estimate(earlier []measure.Point) *time.Duration {
	var took time.Duration
	for _, row := range earlier {
		if row.TrialID == t.ID && row.Stage == stageSweep {
			took += row.Finished.Sub(row.Started)
		}
	}
	if took == 0 && t.Search.Last.Duration != nil {
		took = time.Duration(*t.Search.Last.Duration) * time.Duration(t.Search.MaxPoints*t.Repeats)
	}
	if took == 0 {
		return nil
	}
	return &took
}
