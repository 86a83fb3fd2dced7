package pipeline

import (
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/gate"
)

// Document is what run --json, select --json and show --json print: a run judged by a rule. Its JSON is described in docs/reference/results.md.
type Document struct {
	SchemaVersion int                `json:"schema_version"`
	RunID         string             `json:"run_id"`
	Status        results.Status     `json:"status"`
	Trials        []selector.Verdict `json:"trials"`                 // in the order of the preset, then those of earlier runs
	Winner        *string            `json:"winner"`                 // trial_id; null where there is none, or where trials ask for different workloads
	Requirements  []gate.Required    `json:"requirements,omitempty"` // see [Document.Require]

	Across selector.Winner  `json:"-"` // how the trials compare, and in words
	Fronts []selector.Front `json:"-"` // of the points of all trials; their sides are places in Trials
}

// Read judges what is stored of a run, by rule or, where that is nil, by the run's own. Files that are not whole are named in broken; what they held counts
// as not measured. An error is that the run's plan can't be read.
func Read(run *results.Run, rule *results.Rule) (document *Document, broken []error, err error) {
	plan, err := PlanOf(run)
	if err != nil {
		return nil, nil, err
	}
	if rule == nil {
		rule = &plan.Rule
	}
	from, broken := readStored(run)
	return newDocument(plan, run.ID(), run.Status(), from, *rule), broken, nil
}

// readStored reads what a run is judged by. What the requests of several repeats give as one sample was stored when the trial was judged.
func readStored(run *results.Run) (from stored, broken []error) {
	from = stored{map[results.PointRepeat]measure.Point{}, map[sample]measure.Pooled{}}
	points, broken := run.Points()
	for _, row := range points {
		from.rows[results.MeasurementOf(row.Keys).Of()] = row
	}
	trials, unread := run.Trials()
	for _, row := range trials {
		from.pooled[sample{row.PointID, row.Stage}] = measure.Pooled{Issued: row.Issued - row.Cancelled, TTFT: row.TTFTAll, TPOT: row.TPOTAll, TotalTime: row.TotalTimeAll}
	}
	if lost := run.Lost(); lost != nil {
		unread = append(unread, lost)
	}
	return from, append(broken, unread...)
}

func newDocument(plan *Plan, id string, status results.Status, from stored, rule results.Rule) *Document {
	d := &Document{SchemaVersion: results.SchemaVersion, RunID: id, Status: status}
	for i := range plan.Trials {
		verdict := judgeTrial(&plan.Trials[i], from, rule)
		verdict.Search = plan.Trials[i].searched(from, plan.Rule)
		if slices.ContainsFunc(verdict.Points, unfinished) || verdict.Search != nil && !verdict.Search.Ended && status != results.Failed {
			verdict.Status = selector.StatusIncomplete
		}
		d.Trials = append(d.Trials, verdict)
	}
	for i := range plan.Previous {
		d.Trials = append(d.Trials, judgeTrial(&plan.Previous[i], from, rule))
	}
	d.Fronts = selector.MarkFronts(d.Trials)
	d.Across = selector.Across(d.Trials, selector.Rule(rule))
	d.Winner = d.Across.TrialID
	if plan.Verify {
		d.verify(plan, from, rule)
	}
	return d
}

// Require holds requirements against the selected point of the winner, or where trials ask for different workloads of each winner. Where there is no
// winner none is met.
func (d *Document) Require(requirements []gate.Require) {
	for _, w := range d.winners() {
		var trial string
		var point *measure.Point
		for i := range d.Trials {
			if v := &d.Trials[i]; w.TrialID != nil && v.TrialID == *w.TrialID {
				trial, point = v.TrialName, &v.Winner().Medians
			}
		}
		for _, r := range requirements {
			held := r.Hold(point)
			held.Trial = trial
			d.Requirements = append(d.Requirements, held)
		}
	}
}

// winners are the rankings that have a winner each: one, or one for each workload.
func (d *Document) winners() []selector.Winner {
	if len(d.Across.Groups) > 0 {
		return d.Across.Groups
	}
	return []selector.Winner{d.Across}
}

// unfinished reports whether a repeat of the point was not measured to its end.
func unfinished(p selector.Judged) bool {
	return p.Missing > 0 || p.Status == string(measure.PointInterrupted)
}

// The exit statuses of commands that judge a run, in the order in which they are looked for.
const (
	ExitInterrupted = 130 // the person stopped the run
	ExitFailed      = 1   // a point is incomplete or has no ok request, or there is no winner
	ExitInfeasible  = 3   // a requirement is not met; or with strict: the winner does not meet the limits, did not reproduce, or was measured by another tool and can't be checked in full
	ExitGood        = 0
)

// Exit is the exit status that says how the run went. Single failed requests leave it at 0. Where trials ask for different workloads, each of them
// needs a winner.
func (d *Document) Exit(strict bool) int {
	if d.Status == results.Interrupted {
		return ExitInterrupted
	}
	for _, trial := range d.Trials {
		if trial.From != nil {
			continue // it is what it was
		}
		points := trial.Points
		if trial.Verification != nil {
			points = slices.Concat(points, trial.Verification.Points)
		}
		unended := trial.Search != nil && !trial.Search.Ended
		if unended || slices.ContainsFunc(points, func(p selector.Judged) bool { return p.Status != string(measure.PointCompleted) }) {
			return ExitFailed
		}
	}
	winners := d.winners()
	if slices.ContainsFunc(winners, func(w selector.Winner) bool { return w.TrialID == nil }) {
		return ExitFailed
	}
	if strict && slices.ContainsFunc(winners, func(w selector.Winner) bool { return !w.Feasible || w.Ranking[0].Unchecked }) {
		return ExitInfeasible
	}
	if strict && slices.ContainsFunc(d.Trials, func(v selector.Verdict) bool { return v.Verification != nil && !*v.Verification.Reproduced }) {
		return ExitInfeasible
	}
	if slices.ContainsFunc(d.Requirements, func(r gate.Required) bool { return !r.Met }) {
		return ExitInfeasible
	}
	return ExitGood
}

// PlanDocument is what plan --json prints: the tree of [Document] with what is known before a run.
type PlanDocument struct {
	SchemaVersion int            `json:"schema_version"`
	RunID         *string        `json:"run_id"` // null
	Status        string         `json:"status"` // "planned"
	Trials        []PlannedTrial `json:"trials"`
	Winner        *string        `json:"winner"` // null
}

// PlannedTrial is a trial before a run.
type PlannedTrial struct {
	ID       string         `json:"trial_id"`
	Name     string         `json:"trial_name"`
	Status   string         `json:"status"` // "planned"
	Axes     []schema.Axis  `json:"axes"`
	Points   []PlannedPoint `json:"points"`
	Search   *PlannedSearch `json:"search"`   // in the place of points; null where these are listed
	Selected *string        `json:"selected"` // null, as the two below
	Feasible *bool          `json:"feasible"`
	Verdict  *string        `json:"verdict"`
}

// PlannedSearch is a search before a run: its bounds, and their points.
type PlannedSearch struct {
	schema.Search
	First    PlannedPoint `json:"first"`
	Last     PlannedPoint `json:"last"`
	Estimate *float64     `json:"estimate_s"` // as long as an earlier search took, or at most that by the duration asked for; null where nothing is known
}

// PlannedPoint is a point before a run.
type PlannedPoint struct {
	ID string `json:"point_id"`
	schema.PointLoad
	Requests       *int64          `json:"requests"`   // measured requests of one repeat; null where a duration alone bounds it
	Duration       *float64        `json:"duration_s"` // of the measured phase, the most beside requests; null where they alone bound it
	WarmupRequests int64           `json:"warmup_requests"`
	Estimate       *float64        `json:"estimate_s"` // of one repeat; null where nothing is known
	Repeats        []PlannedRepeat `json:"repeats"`
}

// PlannedRepeat is a repeat before a run.
type PlannedRepeat struct {
	Repeat int64  `json:"repeat"`
	Status string `json:"status"` // "planned"
}

const statusPlanned = "planned"

// Document is the plan as a document. Times are estimated from earlier measurements of the same points, and from the durations asked for.
func (p *Plan) Document(earlier []measure.Point) *PlanDocument {
	d := &PlanDocument{SchemaVersion: p.SchemaVersion, Status: statusPlanned}
	for i := range p.Trials {
		trial := &p.Trials[i]
		planned := PlannedTrial{ID: trial.ID, Name: trial.Name, Status: statusPlanned, Axes: append([]schema.Axis{}, trial.Axes...), Points: []PlannedPoint{}}
		planned.Search = trial.planned(earlier)
		for j := range trial.Points {
			planned.Points = append(planned.Points, trial.Points[j].planned(trial.Repeats, earlier))
		}
		d.Trials = append(d.Trials, planned)
	}
	return d
}

func (t *Trial) planned(earlier []measure.Point) *PlannedSearch {
	if t.Search == nil {
		return nil
	}
	planned := &PlannedSearch{Search: t.Search.Search, First: t.Search.First.planned(t.Repeats, earlier), Last: t.Search.Last.planned(t.Repeats, earlier)}
	if estimate := t.estimate(earlier); estimate != nil {
		seconds := estimate.Seconds()
		planned.Estimate = &seconds
	}
	return planned
}

func (p *Point) planned(repeats int64, earlier []measure.Point) PlannedPoint {
	planned := PlannedPoint{ID: p.ID, PointLoad: p.PointLoad, Requests: p.Requests, WarmupRequests: p.WarmupRequests}
	if p.Duration != nil {
		seconds := p.Duration.Seconds()
		planned.Duration = &seconds
	}
	if estimate := p.Estimate(earlier); estimate != nil {
		seconds := estimate.Seconds()
		planned.Estimate = &seconds
	}
	for repeat := range repeats {
		planned.Repeats = append(planned.Repeats, PlannedRepeat{repeat, statusPlanned})
	}
	return planned
}
