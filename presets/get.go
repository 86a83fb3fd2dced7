package presets

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Got is a run with its final points: what preset get --json prints.
type Got struct {
	SchemaVersion int       `json:"schema_version"`
	ID            string    `json:"id" doc:"of the run"`
	Name          string    `json:"name" doc:"of the preset, or as the run was renamed"`
	CreatedAt     time.Time `json:"created_at"`
	Status        string    `json:"status" doc:"running, interrupted, killed, failed, completed or verified"`
	TrialsDone    int       `json:"trials_done" doc:"every point of them was measured to its end"`
	TrialsPlanned int       `json:"trials_planned"`
	Winner        *string   `json:"winner" doc:"trial_id; null before the run has ended, where there is none, or where trials ask for different workloads"`
	Reproduced    *bool     `json:"reproduced" doc:"whether the winner did when it was measured again; null where it was not, or not to its end"`

	Benchmarks []Entry  `json:"benchmarks" doc:"all final points of all trials, of each those that were measured again where they were; empty before the run has ended"`
	Benchmark  *Entry   `json:"benchmark" doc:"the selected one; null where there is none"`
	Reasons    []string `json:"reasons" doc:"why there is none, or why the winner did not reproduce"`

	Rule selector.Rule `json:"rule" doc:"limits and select: what the run is judged by"`

	Document *pipeline.Document `json:"-"` // the whole run
	Final    []string           `json:"-"` // trial_ids of the winner, or of those of each workload; empty before the run has ended
	Brief    Brief              `json:"-"`
}

// Entry is one point.
type Entry struct {
	TrialID   string   `json:"trial_id"`
	TrialName string   `json:"trial_name"`
	PointID   string   `json:"point_id"`
	Stage     string   `json:"stage" doc:"sweep, or verify: measured again"`
	Status    string   `json:"status" doc:"completed, failed or interrupted"`
	Eligible  bool     `json:"eligible" doc:"every repeat of the point was completed and can be trusted"`
	Feasible  bool     `json:"feasible" doc:"eligible, and every declared limit is met"`
	Selected  bool     `json:"selected" doc:"the point chosen for the trial"`
	Reasons   []string `json:"reasons" doc:"why the point is not eligible or not feasible, each with figure and limit"`
	Unchecked []string `json:"unchecked" doc:"what nothing is known of because another tool measured the point"`
	Workload  Workload `json:"workload"`
	Metrics   Metrics  `json:"metrics"`
}

// Workload is what was asked at a point, and how hard.
type Workload struct {
	Data      string          `json:"data" doc:"label of the workload, such as random"`
	Asked     json.RawMessage `json:"asked" doc:"the workload as the preset has it, defaults filled in"`
	Model     string          `json:"model"`
	API       string          `json:"api" doc:"chat or completions"`
	Cache     string          `json:"cache" doc:"isolated: no prompt shares a prefix with another; shared: prompts as they are"`
	IgnoreEOS bool            `json:"ignore_eos" doc:"the service was asked to go on until the wanted output length"`
	Repeats   int64           `json:"repeats" doc:"measurements of the point that the metrics are medians of"`
	schema.PointLoad
}

// Metrics are the figures of a point under the names of the points table: medians over its repeats, sums of counts.
type Metrics measure.Point

// notMetrics are the columns that say what was measured and not what came of it.
func notMetrics() []string {
	names := []string{"status", "reason", "workload", "model", "started_ns", "finished_ns", "started_at", "clock_id", "steady_start_ns", "steady_end_ns", "cache", "ignore_eos"}
	for _, row := range []reflect.Type{reflect.TypeFor[measure.Keys](), reflect.TypeFor[schema.PointLoad]()} {
		for _, column := range measure.Columns(row) {
			names = append(names, column.Name)
		}
	}
	return names
}

// MarshalJSON writes the figures as results do.
func (m Metrics) MarshalJSON() ([]byte, error) {
	return measure.MarshalRow(measure.Point(m), notMetrics()...)
}

// Get reads a run from its tables. Tables that can't be read are named in broken.
func Get(run *results.Run) (got *Got, broken []error, err error) {
	document, broken, err := pipeline.Read(run, nil)
	if err != nil {
		return nil, broken, err
	}
	brief, err := briefOf(run, document)
	if err != nil {
		return nil, broken, err
	}
	m := run.Manifest()
	got = &Got{SchemaVersion: results.SchemaVersion, ID: run.ID(), Name: m.Name, CreatedAt: m.CreatedAt, Status: shown(document.Status, brief.Reproduced),
		TrialsDone: brief.TrialsDone, TrialsPlanned: brief.TrialsPlanned, Reproduced: brief.Reproduced,
		Benchmarks: []Entry{}, Reasons: []string{}, Rule: document.Across.Rule, Document: document, Brief: brief}
	if !final(document.Status) {
		reason := fmt.Sprintf("the run is %s: %d of %d trials are done", got.Status, brief.TrialsDone, brief.TrialsPlanned)
		if slices.ContainsFunc(document.Trials, func(v selector.Verdict) bool { return v.Verification != nil && v.Verification.Reproduced == nil }) {
			reason += ", and the winner is not measured again to its end"
		}
		got.Reasons = append(got.Reasons, reason)
		return got, broken, nil
	}
	for i := range document.Trials {
		got.Benchmarks = append(got.Benchmarks, entriesOf(&document.Trials[i], specOf(&m, i))...)
	}
	got.Winner, got.Final = document.Winner, winners(document)
	got.choose()
	return got, broken, nil
}

// final reports whether every point of a run of that status was measured, so that its figures are final.
func final(status results.Status) bool {
	return status == results.Completed || status == results.Failed
}

// winners are the trial_ids of the winner, or of those of each workload.
func winners(d *pipeline.Document) []string {
	var ids []string
	for _, w := range append(slices.Clone(d.Across.Groups), d.Across) {
		if w.TrialID != nil {
			ids = append(ids, *w.TrialID)
		}
	}
	return ids
}

// specOf is what the manifest says of a trial; an empty one where it says nothing.
func specOf(m *results.Manifest, i int) schema.Spec {
	if m.Normalised == nil || i >= len(m.Normalised.Trials) {
		return schema.Spec{}
	}
	return m.Normalised.Trials[i].Spec
}

func entriesOf(v *selector.Verdict, spec schema.Spec) []Entry {
	asked := json.RawMessage(v.Workload)
	if text, err := json.Marshal(spec.Workload); err == nil && string(text) != "{}" {
		asked = text
	}
	points, stage := finalPoints(v)
	var entries []Entry
	for _, p := range points {
		workload := Workload{Data: labelOf(asked), Asked: asked, Model: spec.Model, API: spec.Request.API, Cache: p.Medians.Cache, IgnoreEOS: p.Medians.IgnoreEOS,
			Repeats: int64(len(p.Repeats)), PointLoad: p.Load}
		if workload.Model == "" {
			workload.Model = p.Medians.Model
		}
		entries = append(entries, Entry{TrialID: v.TrialID, TrialName: v.TrialName, PointID: p.PointID, Stage: stage, Status: p.Status, Eligible: p.Eligible,
			Feasible: p.Feasible, Selected: v.Selected != nil && *v.Selected == p.PointID, Reasons: p.Reasons, Unchecked: p.Unchecked, Workload: workload, Metrics: Metrics(p.Medians)})
	}
	return entries
}

// choose picks the selected benchmark, and says why there is none or what is wrong with it.
func (g *Got) choose() {
	for i := range g.Benchmarks {
		if g.Winner != nil && g.Benchmarks[i].TrialID == *g.Winner && g.Benchmarks[i].Selected {
			g.Benchmark = &g.Benchmarks[i]
		}
	}
	for i := range g.Document.Trials {
		trial := &g.Document.Trials[i]
		switch made := trial.Verification; {
		case made != nil && made.Reproduced != nil && !*made.Reproduced:
			g.Reasons = append(g.Reasons, trial.TrialName+" did not reproduce: "+strings.Join(made.Reasons, ", "))
		case g.Benchmark == nil && trial.Selected == nil:
			for _, group := range trial.ByReasons() {
				g.Reasons = append(g.Reasons, fmt.Sprintf("%s: %s: %s", trial.TrialName, group.Loads, strings.Join(group.Reasons, ", ")))
			}
		}
	}
	if n := len(g.Document.Across.Groups); n > 0 {
		g.Reasons = append(g.Reasons, fmt.Sprintf("the trials ask for %d different workloads and are not ranked together", n))
	}
}
