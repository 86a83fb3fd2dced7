package pipeline

import (
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Checked is what check says of a run: what its directory holds, and what resuming it would measure.
type Checked struct {
	results.Findings
	ToMeasure []Unmeasured `json:"to_measure"` // in the plan's order
	Searching []string     `json:"searching"`  // names of trials whose search has not ended: which loads it comes to is not known before
}

// Unmeasured is a measurement that resuming the run would make, and why it is not there.
type Unmeasured struct {
	TrialName string           `json:"trial_name"`
	PointID   string           `json:"point_id"`
	Load      schema.PointLoad `json:"load"`
	Repeat    int64            `json:"repeat"`
	Stage     string           `json:"stage"`
	Why       string           `json:"why"`
}

// Check looks through the directory of a run, which may be running or broken, and changes nothing. An error is that dir is no run's.
func Check(dir string) (*Checked, error) {
	found, err := results.Check(dir)
	if err != nil {
		return nil, err
	}
	checked := &Checked{Findings: found, ToMeasure: []Unmeasured{}, Searching: []string{}}
	run, err := results.Open(dir)
	if err != nil { // told among what is broken
		return checked, nil
	}
	plan, err := PlanOf(run)
	if err != nil {
		checked.Broken, checked.Whole = append(checked.Broken, results.Broken{File: "manifest.json", Why: err.Error()}), false
		return checked, nil
	}
	if run.Manifest().Imported == nil {
		checked.unmeasured(plan, run)
	}
	return checked, nil
}

// unmeasured asks an execution that never begins what it would measure.
func (c *Checked) unmeasured(plan *Plan, run *results.Run) {
	e := &execution{plan: plan, run: &results.Writer{Run: run}, deps: Deps{Redact: schema.RedactText},
		pools: map[results.PointRepeat]*measure.Pool{}, ended: map[string]bool{}, next: map[results.PointRepeat]int64{}}
	e.lookAround()
	done, _ := run.Completed() // what is broken is told already
	e.keepWhole(done)
	document, _, err := Read(run, nil)
	if err != nil {
		return
	}
	for i := range plan.Trials {
		trial := &plan.Trials[i]
		if trial.Search != nil {
			e.ended[trial.ID] = document.Trials[i].Search.Ended
			if !e.ended[trial.ID] {
				c.Searching = append(c.Searching, trial.Name)
			}
			continue
		}
		c.add(e, e.pending(trial))
	}
	for _, trial := range e.toVerify() {
		c.add(e, e.unmade(plan.VerifyJobs(trial)))
	}
}

func (c *Checked) add(e *execution, jobs []Job) {
	for _, job := range jobs {
		c.ToMeasure = append(c.ToMeasure, Unmeasured{job.TrialName, job.PointID, job.Load, job.Repeat, job.Stage, c.why(e, &job)})
	}
}

// why says what kept a measurement from counting as made.
func (c *Checked) why(e *execution, job *Job) string {
	if row, there := e.rows[job.of()]; there {
		if row.Reason != nil {
			return string(row.Status) + ": " + *row.Reason
		}
		return string(row.Status)
	}
	m := results.MeasurementOf(job.Keys)
	if slices.ContainsFunc(c.Partial, func(p results.Ended) bool { return p.PointID == m.PointID && p.Repeat == m.Repeat }) {
		return "cut short"
	}
	if slices.ContainsFunc(c.Broken, func(b results.Broken) bool { return results.IsOf(b.File, m.Of()) }) {
		return "its files are not whole"
	}
	return "not measured"
}
