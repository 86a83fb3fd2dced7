package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// golden compares v's JSON with a file; UPDATE=1 rewrites it. Nulls are left out of the file, which would be thousands of lines long with them.
func golden(t *testing.T, name string, v any, keepNulls bool) {
	t.Helper()
	whole, err := tree(v)
	if err != nil {
		t.Fatal(err)
	}
	if !keepNulls {
		whole = withoutNulls(whole)
	}
	got, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s: %s", path, cmp.Diff(string(want), string(got)))
	}
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(field)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// measured are the rows of a plan, all driven as [driven] does, on a clock that stands still.
func measured(t *testing.T, plan *Plan) stored {
	t.Helper()
	rows := map[results.PointRepeat]measure.Point{}
	for i := range plan.Trials {
		for _, job := range plan.Jobs(&plan.Trials[i]) {
			row := measure.Summarize(driven(job, func(*measure.Record) {}), job.Load, job.Limits)
			row.Keys, row.Workload, row.Model, row.Cache = job.Keys, "random", "llama", "isolated"
			row.RunID, row.StartedAt, row.ClockID = "0a1b2c3d", "2026-11-30T00:00:01Z", "monotonic:test"
			rows[job.of()] = row
		}
	}
	return stored{rows: rows}
}

func TestTheDocument(t *testing.T) {
	preset := chat()
	preset.Trials = preset.Trials[:1]
	plan := planOf(t, preset)
	golden(t, "document.json", newDocument(plan, "0a1b2c3d", results.Completed, measured(t, plan), plan.Rule), false)
}

func TestTheDocumentOfAPlan(t *testing.T) {
	preset := chat()
	preset.Trials[0].Axes = []schema.Axis{{Path: "request.temperature", Value: "0"}}
	golden(t, "plan.json", planOf(t, preset).Document(nil), true)
}

func TestTheDocumentHasEveryColumn(t *testing.T) {
	plan := planOf(t, chat())
	text, err := json.Marshal(newDocument(plan, "0a1b2c3d", results.Completed, measured(t, plan), plan.Rule))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		SchemaVersion *int    `json:"schema_version"`
		RunID         string  `json:"run_id"`
		Status        string  `json:"status"`
		Winner        *string `json:"winner"`
		Trials        []struct {
			TrialID   string `json:"trial_id"`
			TrialName string `json:"trial_name"`
			Status    string
			Selected  *string
			Feasible  *bool
			Verdict   *string
			Points    []map[string]any
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if *d.SchemaVersion != 1 || d.RunID != "0a1b2c3d" || d.Status != "completed" || *d.Winner != d.Trials[0].TrialID || len(d.Trials) != 2 {
		t.Errorf("document %+v", d)
	}
	for _, trial := range d.Trials {
		if trial.TrialName == "" || trial.Status != "completed" || *trial.Selected == "" || !*trial.Feasible || *trial.Verdict == "" || len(trial.Points) != 2 {
			t.Errorf("trial %+v", trial)
		}
		for _, point := range trial.Points {
			for _, name := range []string{"point_id", "concurrency", "prefill_concurrency", "output_tok_per_s", "ttft_p50_s", "eligible", "feasible", "selected", "reasons"} {
				if _, there := point[name]; !there {
					t.Errorf("a point has no %s", name)
				}
			}
			for _, repeat := range point["repeats"].([]any) {
				for _, c := range measure.Columns(reflect.TypeFor[measure.Point]()) {
					if _, there := repeat.(map[string]any)[c.Name]; !there {
						t.Errorf("a repeat has no %s", c.Name)
					}
				}
			}
		}
	}
}

func TestARunIsJudgedAgainByAnotherRule(t *testing.T) {
	plan, run := newRun(t, chat())
	execute(t, plan, run, newWorld().deps(), results.Completed)
	if d := document(t, run.Run); *d.Trials[0].Winner().Load.Concurrency != 4 || d.Exit(true) != ExitGood {
		t.Errorf("under 500 ms: %+v", d.Trials[0].Winner().Load)
	}
	rule := plan.Rule
	for limit, want := range map[schema.Duration]struct {
		concurrency int64
		exit        int
	}{150e6: {1, ExitGood}, 50e6: {1, ExitInfeasible}} {
		rule.Limits.MaxTTFT = &limit
		d, broken, err := Read(run.Run, &rule)
		if err != nil || len(broken) > 0 {
			t.Fatal(err, broken)
		}
		if got := *d.Trials[0].Winner().Load.Concurrency; got != want.concurrency || d.Exit(true) != want.exit || d.Exit(false) != ExitGood {
			t.Errorf("under %s: concurrency %d, exits %d and %d", limit, got, d.Exit(true), d.Exit(false))
		}
	}
}

func TestExit(t *testing.T) {
	verdict := func(status string, selected, feasible bool) selector.Verdict {
		v := selector.Verdict{TrialID: "t", Points: []selector.Judged{{PointID: "p", Status: status}}, Feasible: feasible}
		if selected {
			v.Selected = ptr("p")
		}
		return v
	}
	for name, c := range map[string]struct {
		run     results.Status
		verdict selector.Verdict
		strict  bool
		want    int
	}{
		"good":                         {results.Completed, verdict("completed", true, true), true, 0},
		"infeasible":                   {results.Completed, verdict("completed", true, false), false, 0},
		"infeasible, strict":           {results.Completed, verdict("completed", true, false), true, 3},
		"no winner":                    {results.Completed, verdict("completed", false, false), false, 1},
		"no winner, strict":            {results.Completed, verdict("completed", false, false), true, 1},
		"a point failed":               {results.Failed, verdict("failed", true, true), false, 1},
		"a point is incomplete":        {results.Killed, verdict("incomplete", true, true), false, 1},
		"interrupted":                  {results.Interrupted, verdict("interrupted", false, false), false, 130},
		"interrupted with a winner":    {results.Interrupted, verdict("completed", true, true), true, 130},
		"a point failed, infeasible":   {results.Failed, verdict("failed", true, false), true, 1},
		"a point was interrupted once": {results.Killed, verdict("interrupted", true, true), false, 1},
	} {
		d := &Document{Status: c.run, Trials: []selector.Verdict{c.verdict}, Across: selector.Across([]selector.Verdict{c.verdict}, selector.Rule{})}
		if got := d.Exit(c.strict); got != c.want {
			t.Errorf("%s: exit %d, want %d", name, got, c.want)
		}
	}
}

func TestTrialsWithOtherWorkloadsEachNeedAWinner(t *testing.T) {
	preset := chat()
	preset.Trials[1].Spec.Workload = schema.Workload{Fixed: &schema.Fixed{PromptTokens: 8, OutputTokens: 20}}
	plan := planOf(t, preset)
	from := measured(t, plan)
	d := newDocument(plan, "0a1b2c3d", results.Completed, from, plan.Rule)
	if d.Winner != nil || d.Exit(true) != ExitGood {
		t.Errorf("winner %v, exit %d", d.Winner, d.Exit(true))
	}
	for of, row := range from.rows {
		if row.TrialName == "second" {
			row.LagP99 = nil // not eligible
			from.rows[of] = row
		}
	}
	if d := newDocument(plan, "0a1b2c3d", results.Completed, from, plan.Rule); d.Exit(false) != ExitFailed {
		t.Errorf("exit %d", d.Exit(false))
	}
}

func TestATrialIsIncompleteWhereARepeatIsMissing(t *testing.T) {
	plan := planOf(t, chat())
	from := measured(t, plan)
	delete(from.rows, results.PointRepeat{PointID: plan.Trials[1].Points[0].ID, Repeat: 1})
	d := newDocument(plan, "0a1b2c3d", results.Running, from, plan.Rule)
	if d.Trials[0].Status != "completed" || d.Trials[1].Status != "incomplete" {
		t.Errorf("trials %s and %s", d.Trials[0].Status, d.Trials[1].Status)
	}
}
