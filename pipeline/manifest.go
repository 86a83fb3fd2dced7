package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// NewManifest is the manifest of a run that is about to begin: what the preset says, without secrets, and the plan. given is the preset as the person gave it; its
// text and overrides are redacted here.
func NewManifest(preset *schema.Preset, plan *Plan, given results.Given, redact func(string) string) (results.Manifest, error) {
	safe, err := redactPreset(preset, redact)
	if err != nil {
		return results.Manifest{}, err
	}
	planned, err := json.Marshal(plan)
	if err != nil {
		return results.Manifest{}, fmt.Errorf("storing the plan: %w", err)
	}
	sent, passed := Environment(preset)
	given.Overrides = slices.Clone(given.Overrides)
	given.Text = redact(string(schema.Redact(given.Filename, []byte(given.Text))))
	for i, override := range given.Overrides {
		given.Overrides[i] = redact(override)
	}
	return results.Manifest{
		CreatedAt: time.Now().UTC(), Name: preset.Name, Status: results.Running, Given: given, Normalised: safe,
		Environment: slices.Sorted(slices.Values(slices.Concat(sent, passed))), Rule: plan.Rule, Plan: planned,
	}, nil
}

func newExecutionRecord(deps Deps) results.Execution {
	name, _ := os.Hostname() // a host without a name has none in the manifest
	return results.Execution{
		StartedAt: time.Now().UTC(), Status: results.Running, ToolVersion: deps.ToolVersion,
		Host:    results.Host{Name: name, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		ClockID: deps.Clock.ID(), ClockZero: deps.Clock.ZeroUTC(), Notes: []string{},
	}
}

// PlanOf is the plan that a run was begun with. Its trials have no Spec.
func PlanOf(run *results.Run) (*Plan, error) {
	var plan Plan
	if err := json.Unmarshal(run.Manifest().Plan, &plan); err != nil {
		return nil, fmt.Errorf("reading the plan of run %s: %w", run.ID(), err)
	}
	return &plan, nil
}

// SamePlan says why plan can't carry on a run that was begun with another: a run is resumed with the preset that it was begun with. Ids are hashes of
// all that decides what is measured.
func SamePlan(begun, plan *Plan) error {
	if err := sameMeasurements(begun, plan); err != nil {
		return fmt.Errorf("%w; a changed preset starts a new run", err)
	}
	if begun.Verify != plan.Verify {
		return fmt.Errorf("verify is %t in the preset, and the run was begun with %t; a changed preset starts a new run", plan.Verify, begun.Verify)
	}
	before, err := json.Marshal(begun.Rule)
	if err != nil {
		return err
	}
	now, err := json.Marshal(plan.Rule)
	if err != nil {
		return err
	}
	if string(before) != string(now) {
		return errors.New("limits or select are not those that it was begun with; sweetspot select judges a run by others")
	}
	return nil
}

// otherFile says that what a trial asks differs in nothing but the content of its file; nil where it does not.
func otherFile(i int, before, now *Trial) error {
	var begun, given schema.Workload
	if json.Unmarshal([]byte(before.Workload), &begun) != nil || json.Unmarshal([]byte(now.Workload), &given) != nil {
		return nil
	}
	_, was := begun.File()
	_, is := given.File()
	if was == "" || is == "" || was == is {
		return nil
	}
	file, _ := now.Spec.Workload.File()
	return fmt.Errorf("its trial %d, %s, was begun with a file whose SHA-256 is %s, and that of %s is %s: put the file back that it was begun with to carry it on",
		i+1, before.Name, was, file, is)
}

func sameMeasurements(begun, plan *Plan) error {
	if len(begun.Trials) != len(plan.Trials) {
		return fmt.Errorf("it has %d trials, the preset has %d", len(begun.Trials), len(plan.Trials))
	}
	for i, trial := range plan.Trials {
		before := begun.Trials[i]
		switch {
		case before.ID != trial.ID && otherFile(i, &before, &trial) != nil:
			return otherFile(i, &before, &trial)
		case before.ID != trial.ID:
			return fmt.Errorf("its trial %d, %s, has another model, service, workload, request or name than the preset's, %s", i+1, before.Name, trial.Name)
		case before.Repeats != trial.Repeats:
			return fmt.Errorf("it has %d repeats, the preset has %d", before.Repeats, trial.Repeats)
		case trial.Search.same(before.Search, trial.Name) != nil:
			return trial.Search.same(before.Search, trial.Name)
		case len(before.Points) != len(trial.Points):
			return fmt.Errorf("its trial %s has %d points, the preset's has %d", trial.Name, len(before.Points), len(trial.Points))
		}
		for j, point := range trial.Points {
			if before.Points[j].ID != point.ID {
				return fmt.Errorf("point %d of its trial %s has another load than the preset's", j+1, trial.Name)
			}
		}
	}
	return nil
}
