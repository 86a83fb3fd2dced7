package presets

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
)

// briefVersion is the version of [Brief]: one of another version is made again from the tables.
const briefVersion = 3

// Brief is a run in short, judged by its own rule: what a listing says of it.
type Brief struct {
	TrialsDone    int          `json:"trials_done"` // every point of them was measured to its end
	TrialsPlanned int          `json:"trials_planned"`
	Constraints   Constraints  `json:"constraints"`
	Winner        *string      `json:"winner"`     // trial_id; null where there is none, or where trials ask for different workloads
	Benchmark     *Benchmark   `json:"benchmark"`  // of the winner
	Reproduced    *bool        `json:"reproduced"` // whether the winner did when it was measured again; null where it was not, or not to its end
	Trials        []TrialBrief `json:"trials"`     // in the order of the preset
}

// TrialBrief is a trial in short.
type TrialBrief struct {
	TrialID   string     `json:"trial_id"`
	TrialName string     `json:"trial_name"`
	Status    string     `json:"status"`    // "completed", "failed" where no point is feasible, or "incomplete"
	Benchmark *Benchmark `json:"benchmark"` // null where no point could be selected
}

// Constraints are what was asked for.
type Constraints struct {
	Data []string `json:"data"` // labels of the workloads, each once: "random", "dag:agents.jsonl"
	Load []Range  `json:"load"` // of each cap or rate that is set
}

// Range is the least and the most of a cap or rate over the points of a run.
type Range struct {
	Name string  `json:"name"` // such as "concurrency"
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// keptBrief is a brief as the store keeps it.
type keptBrief struct {
	Version int `json:"version"`
	Brief
}

// Keep stores what listings say of a run, made of a document of it by its own rule. stamp is what the run's directory was before the document was read.
func Keep(run *results.Run, stamp results.Stamp, document *pipeline.Document) error {
	brief, err := briefOf(run, document)
	if err != nil {
		return err
	}
	text, err := encodeBrief(brief)
	if err != nil {
		return fmt.Errorf("summing up run %s: %w", run.ID(), err)
	}
	return run.WriteSummary(stamp, text)
}

func encodeBrief(brief Brief) ([]byte, error) { return json.Marshal(keptBrief{briefVersion, brief}) }

// kept reads what [Keep] stored; false where it is of another version.
func kept(body []byte) (Brief, bool) {
	var read keptBrief
	if body == nil || jsonv2.Unmarshal(body, &read) != nil || read.Version != briefVersion {
		return Brief{}, false
	}
	return read.Brief, true
}

// read makes the brief of a run from its tables, and keeps it for the next time. Tables that can't be read are named in broken; then nothing is kept.
func read(dir string) (brief Brief, broken []error, err error) {
	run, err := results.Open(dir)
	if err != nil {
		return brief, nil, err
	}
	stamp := run.Stamp()
	document, broken, err := pipeline.Read(run, nil)
	if err != nil {
		return brief, broken, err
	}
	if len(broken) == 0 && document.Status != results.Running {
		_ = Keep(run, stamp, document) // a store that can't be written is listed all the same
	}
	brief, err = briefOf(run, document)
	return brief, broken, err
}

func briefOf(run *results.Run, d *pipeline.Document) (Brief, error) {
	plan, err := pipeline.PlanOf(run)
	if err != nil {
		return Brief{}, err
	}
	if len(plan.Trials)+len(plan.Previous) != len(d.Trials) {
		return Brief{}, errors.New("the plan and the document are not of one run")
	}
	brief := Brief{TrialsPlanned: len(plan.Trials), Winner: d.Winner, Constraints: constraintsOf(run, plan), Trials: []TrialBrief{}}
	for i := range d.Trials {
		trial := &d.Trials[i]
		benchmark := benchmarkOf(trial)
		brief.Trials = append(brief.Trials, TrialBrief{trial.TrialID, trial.TrialName, trial.Status, benchmark})
		if trial.Status != "incomplete" && i < len(plan.Trials) { // not those of earlier runs
			brief.TrialsDone++
		}
		if d.Winner != nil && trial.TrialID == *d.Winner {
			brief.Benchmark = benchmark
		}
	}
	brief.Reproduced = reproduced(d.Trials)
	return brief, nil
}

// reproduced is whether every winner did that was measured again; nil where one was not to its end, or where none was measured again.
func reproduced(trials []selector.Verdict) *bool {
	var all *bool
	for i := range trials {
		made := trials[i].Verification
		switch {
		case made == nil:
		case made.Reproduced == nil:
			return nil
		case all == nil || *all:
			all = made.Reproduced
		}
	}
	return all
}

func constraintsOf(run *results.Run, plan *pipeline.Plan) Constraints {
	made := Constraints{Data: []string{}, Load: []Range{}}
	preset := run.Manifest().Normalised
	for i, trial := range plan.Trials {
		workload := json.RawMessage(trial.Workload)
		if preset != nil && i < len(preset.Trials) {
			if text, err := json.Marshal(preset.Trials[i].Spec.Workload); err == nil {
				workload = text
			}
		}
		if label := labelOf(workload); !slices.Contains(made.Data, label) {
			made.Data = append(made.Data, label)
		}
		for _, point := range trial.Points {
			made.take(point.PointLoad)
		}
		if search := trial.Search; search != nil { // its bounds
			made.take(search.First.PointLoad)
			made.take(search.Last.PointLoad)
		}
	}
	return made
}

// take widens the ranges by the caps and the rate or speed that a point was asked for.
func (c *Constraints) take(load schema.PointLoad) {
	asked := func(own, asked *int64) *float64 {
		if asked != nil {
			own = asked
		}
		if own == nil {
			return nil
		}
		v := float64(*own)
		return &v
	}
	c.widen("concurrency", asked(load.Concurrency, nil))
	c.widen("request_concurrency", asked(load.RequestConcurrency, load.AskedRequestConcurrency))
	c.widen("prefill_concurrency", asked(load.PrefillConcurrency, load.AskedPrefillConcurrency))
	c.widen("request_rate", load.RequestRate)
	c.widen("replay_speed", load.ReplaySpeed)
}

func (c *Constraints) widen(name string, value *float64) {
	if value == nil {
		return
	}
	i := slices.IndexFunc(c.Load, func(r Range) bool { return r.Name == name })
	if i < 0 {
		c.Load = append(c.Load, Range{name, *value, *value})
		return
	}
	c.Load[i].Min, c.Load[i].Max = min(c.Load[i].Min, *value), max(c.Load[i].Max, *value)
}

// labelOf names a workload, given as a preset has it: its key and, where it reads a file, the file's name.
func labelOf(workload json.RawMessage) string {
	var kinds map[string]json.RawMessage
	if json.Unmarshal(workload, &kinds) != nil || len(kinds) != 1 {
		return "unknown"
	}
	var label string
	for kind, content := range kinds {
		var of struct {
			File string `json:"file"`
		}
		label = kind
		if json.Unmarshal(content, &of) == nil && of.File != "" {
			label += ":" + filepath.Base(of.File)
		}
	}
	return strings.ReplaceAll(label, " ", "_") // a blank would end it where it is printed
}
