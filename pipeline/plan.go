package pipeline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Plan is what a run will measure, in order: each trial's points once, then again for each repeat, then the next trial.
type Plan struct {
	SchemaVersion int          `json:"schema_version"`
	Name          string       `json:"name"`
	Rule          results.Rule `json:"rule"`
	Trials        []Trial      `json:"trials"`
	Verify        bool         `json:"verify,omitempty"`   // the winner is measured again after all trials
	Previous      []Trial      `json:"previous,omitempty"` // of earlier runs, in the comparison; not measured
}

// Trial is one configuration of everything but the load.
type Trial struct {
	ID           string          `json:"trial_id"`
	Name         string          `json:"trial_name"`
	Axes         []schema.Axis   `json:"axes,omitempty"`
	Spec         schema.Spec     `json:"-"`              // may hold secrets; the preset is stored redacted, beside the plan
	Workload     string          `json:"workload"`       // equal where the workloads are: JSON of it
	From         *selector.From  `json:"from,omitempty"` // the run that it was copied from
	Repeats      int64           `json:"repeats"`
	DrainTimeout schema.Duration `json:"drain_timeout"`
	Seed         int64           `json:"seed"`
	schema.Course
	Points []Point `json:"points"`           // of a search: those that it has come to, none before it runs
	Search *Search `json:"search,omitempty"` // in the place of listed points
}

// Point is one load of a trial.
type Point struct {
	ID string `json:"point_id"`
	schema.PointLoad
	Requests       *int64           `json:"requests"` // measured requests; null where Duration alone bounds the measured phase
	Duration       *schema.Duration `json:"duration"` // of the measured phase, the most beside Requests; null where they alone bound it
	WarmupRequests int64            `json:"warmup_requests"`

	arrivals *schema.Duration // in which Requests arrive; nil where the service decides how long they take
}

// The stages of a measurement: what the ladder asks for, and what is measured again to see whether the winner reproduces.
const (
	stageSweep  = "sweep"
	stageVerify = "verify"
)

// Job is one measurement to make: a point can be run from it alone, on any machine that reaches the service and has the environment variables that it names.
type Job struct {
	measure.Keys
	Spec           schema.Spec      `json:"spec"`
	Load           schema.PointLoad `json:"load"`
	Requests       *int64           `json:"requests"` // measured requests; null where Duration alone bounds the measured phase
	Duration       *schema.Duration `json:"duration"` // of the measured phase, the most beside Requests; null where they alone bound it
	WarmupRequests int64            `json:"warmup_requests"`
	DrainTimeout   schema.Duration  `json:"drain_timeout"`
	Seed           int64            `json:"seed"`
	schema.Course
	Limits schema.Limits `json:"limits"` // min_context_length asks for a probe; goodput is held against the others
}

// of is the repeat that the job is a try at.
func (j *Job) of() results.PointRepeat { return results.MeasurementOf(j.Keys).Of() }

// LoadKey names the load of a job: it is equal for the same point of every trial, so that lengths and arrivals are.
func (j Job) LoadKey() string {
	var set []string
	for name, n := range map[string]*int64{
		"concurrency": j.Load.Concurrency, "request_concurrency": j.Load.RequestConcurrency, "prefill_concurrency": j.Load.PrefillConcurrency,
		"warmup_request_concurrency": j.Load.WarmupRequestConcurrency, "agentic_warmup_request_concurrency": j.Load.AgenticWarmupRequestConcurrency,
	} {
		if n != nil {
			set = append(set, fmt.Sprintf("%s=%d", name, *n))
		}
	}
	if j.Load.RequestRate != nil {
		set = append(set, fmt.Sprintf("request_rate=%g", *j.Load.RequestRate))
	}
	if j.Load.ReplaySpeed != nil {
		set = append(set, fmt.Sprintf("replay_speed=%g", *j.Load.ReplaySpeed))
	}
	slices.Sort(set)
	return strings.Join(set, " ")
}

// NewPlan expands a preset. An error, which a preset that was loaded does not give, says which combinations of the load no point can have.
func NewPlan(preset *schema.Preset) (*Plan, error) {
	loads, err := preset.Load.Points()
	if err != nil {
		return nil, fmt.Errorf("planning %s: %w", preset.Name, err)
	}
	plan := &Plan{SchemaVersion: results.SchemaVersion, Name: preset.Name, Rule: results.Rule{Limits: preset.Limits, Select: preset.Select}, Verify: preset.Verify}
	for _, t := range preset.Trials {
		trial, err := newTrial(preset, t, loads)
		if err != nil {
			return nil, fmt.Errorf("planning trial %s: %w", t.Name, err)
		}
		plan.Trials = append(plan.Trials, trial)
	}
	return plan, nil
}

func newTrial(preset *schema.Preset, t schema.Trial, loads []schema.PointLoad) (Trial, error) {
	trial := Trial{
		Name: t.Name, Axes: t.Axes, Spec: t.Spec, Repeats: preset.Load.Repeats, DrainTimeout: preset.Load.DrainTimeout, Seed: preset.Load.Seed,
		Course: preset.Load.Course,
	}
	workload, err := json.Marshal(t.Spec.Workload.Content())
	if err != nil {
		return trial, err
	}
	trial.Workload = string(workload)
	hashed, err := newIdentity(t)
	if err != nil {
		return trial, err
	}
	if trial.ID, err = hashed.trial(); err != nil {
		return trial, err
	}
	if preset.Load.Search != nil {
		trial.Search, err = newSearch(hashed, preset, t.Spec)
		return trial, err
	}
	for _, load := range loads {
		point, err := newPoint(hashed, preset, load, t)
		if err != nil {
			return trial, err
		}
		trial.Points = append(trial.Points, point)
	}
	return trial, nil
}

func newPoint(trial identity, preset *schema.Preset, load schema.PointLoad, of schema.Trial) (Point, error) {
	point := Point{PointLoad: load, Duration: preset.Load.Duration, WarmupRequests: warmupRequests(load)}
	if preset.Load.WarmupRequests != nil {
		point.WarmupRequests = *preset.Load.WarmupRequests
	}
	if point.Duration == nil {
		n := measuredRequests(preset.Load, preset.Limits, slotsKeptFull(load))
		if load.ReplaySpeed != nil && preset.Load.Requests == nil && of.Extent.Requests > 0 {
			n = of.Extent.Requests // all of the trace
		}
		point.Requests, point.Duration = &n, preset.Load.MaxDuration
		if load.RequestRate != nil && of.Spec.Workload.Single() {
			point.arrivals = arrivals(n, *load.RequestRate, point.Duration)
		}
	}
	id, err := trial.point(preset.Load, load)
	point.ID = id
	return point, err
}

// arrivals is the time in which n requests arrive at a rate, at most as long as they are let.
func arrivals(n int64, perSecond float64, most *schema.Duration) *schema.Duration {
	took := schema.Duration(min(float64(n)/perSecond*float64(time.Second), math.MaxInt64/2))
	if most != nil {
		took = min(took, *most)
	}
	return &took
}

// warmupRequests is how many requests a point is warmed up with where the preset does not say: one for each lane, or those of a second of an open
// loop, whose service takes as many as come, or a few of a trace.
func warmupRequests(load schema.PointLoad) int64 {
	const ofTrace = 8
	switch {
	case load.RequestRate != nil:
		return int64(math.Ceil(*load.RequestRate))
	case load.ReplaySpeed != nil:
		return ofTrace
	}
	return load.Lanes()
}

// slotsKeptFull is how many slots the load keeps full: none in an open loop, whose caps are limits that it should seldom reach.
func slotsKeptFull(load schema.PointLoad) int64 {
	if load.Open() {
		return 0
	}
	return load.Slots()
}

// measuredRequests is how many requests a point needs: as many as asked for, else enough for each slot, and for each statistic that it will be
// judged by.
func measuredRequests(load schema.Load, limits schema.Limits, slots int64) int64 {
	if load.Requests != nil {
		return *load.Requests
	}
	n := max(load.MinRequests, schema.MinSamples(limits.TTFTStat))
	if limits.MaxTPOT != nil {
		n = max(n, schema.MinSamples(limits.TPOTStat))
	}
	if limits.MaxTotalTime != nil {
		n = max(n, schema.MinSamples(limits.TotalTimeStat))
	}
	if slots > 0 && load.RequestsPerSlot > math.MaxInt64/slots {
		return math.MaxInt64
	}
	return max(n, load.RequestsPerSlot*slots)
}

// Jobs are the measurements of a trial in order: the whole ladder, then again.
func (p *Plan) Jobs(trial *Trial) []Job {
	var jobs []Job
	for repeat := range trial.Repeats {
		for i := range trial.Points {
			jobs = append(jobs, p.job(trial, &trial.Points[i], repeat))
		}
	}
	return jobs
}

func (p *Plan) job(trial *Trial, point *Point, repeat int64) Job {
	return Job{
		Keys: measure.Keys{TrialID: trial.ID, TrialName: trial.Name, PointID: point.ID, Repeat: repeat, Stage: stageSweep},
		Spec: trial.Spec, Load: point.PointLoad, Requests: point.Requests, Duration: point.Duration, WarmupRequests: point.WarmupRequests,
		DrainTimeout: trial.DrainTimeout, Seed: trial.Seed, Course: trial.Course, Limits: p.Rule.Limits,
	}
}

// VerifyJobs are the measurements that verify a trial: the same once more. Their repeats are numbered on from those of the sweep, so that their
// requests are drawn anew and nothing that a service has cached helps.
func (p *Plan) VerifyJobs(trial *Trial) []Job {
	jobs := p.Jobs(trial)
	first, _ := trial.repeatsOf(stageVerify)
	for i := range jobs {
		jobs[i].Stage = stageVerify
		jobs[i].Repeat += first
	}
	return jobs
}

// repeatsOf are the numbers of a stage's repeats: from first on, and below after.
func (t *Trial) repeatsOf(stage string) (first, after int64) {
	most := t.Repeats
	if t.Search != nil {
		most = max(most, t.Search.MaxRepeats) // of a point that is too close to call
	}
	if stage == stageVerify {
		return most, most + t.Repeats
	}
	return 0, most
}

// Estimate is how long a measurement of the point should take, nil where nothing is known: the median of what earlier completed measurements
// of the same point took, else the duration asked for or that in which the requests of an open loop arrive, which leave out warmup and drain.
func (p *Point) Estimate(earlier []measure.Point) *time.Duration {
	var took []time.Duration
	for _, row := range earlier {
		if row.PointID == p.ID && row.Status == measure.PointCompleted {
			took = append(took, row.Finished.Sub(row.Started))
		}
	}
	if len(took) == 0 && p.Requests == nil {
		return (*time.Duration)(p.Duration)
	}
	if len(took) == 0 {
		return (*time.Duration)(p.arrivals)
	}
	slices.Sort(took)
	middle := (took[(len(took)-1)/2] + took[len(took)/2]) / 2
	return &middle
}

// Estimate is how long the plan should take, nil where it is not known for every point.
func (p *Plan) Estimate(earlier []measure.Point) *time.Duration {
	var sum time.Duration
	for i := range p.Trials {
		trial := &p.Trials[i]
		if trial.Search != nil {
			one := trial.estimate(earlier)
			if one == nil {
				return nil
			}
			sum += *one
		}
		for j := range trial.Points {
			one := trial.Points[j].Estimate(earlier)
			if one == nil {
				return nil
			}
			sum += *one * time.Duration(trial.Repeats)
		}
	}
	return &sum
}
