package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// stored is "stored ID PRESET FIGURES [CREATED STATUS]": it stores a run of a preset under an id of its own in ./results, as run does, whose measurements have
// the figures of a file and are sound in all else. Its first line names columns of the points table; trial_name, repeat and stage may be left out. A measurement
// that no line gives was not made. A dash is a figure that is not known.
func stored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 5 {
		ts.Fatalf("usage: stored ID PRESET FIGURES [CREATED STATUS]")
	}
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(args[0][0]) * time.Minute) // runs are as old as their ids are low
	status := results.Completed
	if len(args) == 5 {
		var err error
		at, err = time.Parse(time.RFC3339, args[3])
		ts.Check(err)
		status = results.Status(args[4])
	}
	if err := storeAs(args[0], ts.MkAbs("results"), ts.MkAbs(args[1]), ts.ReadFile(args[2]), at, status); err != nil {
		ts.Fatalf("storing run %s: %v", args[0], err)
	}
}

// store stores a completed run in the store dir.
func store(id, dir, file, figures string) error {
	return storeAs(id, dir, file, figures, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), results.Completed)
}

func storeAs(id, dir, file, figures string, at time.Time, status results.Status) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	preset, err := schema.Read(filepath.Base(file), text, schema.Options{})
	if err != nil {
		return err
	}
	plan, err := pipeline.NewPlan(preset)
	if err != nil {
		return err
	}
	manifest, err := pipeline.NewManifest(preset, plan, results.Given{Filename: filepath.Base(file), Text: string(text)}, schema.RedactText)
	if err != nil {
		return err
	}
	manifest.CreatedAt = at
	manifest.Executions = []results.Execution{{StartedAt: at, EndedAt: &at, Status: status, ToolVersion: version,
		Host: results.Host{Name: "bench-1", OS: "linux", Arch: "amd64", CPUs: 8}, ClockID: "monotonic:test", ClockZero: at}}
	writer, err := results.Create(dir, manifest)
	if err != nil {
		return err
	}
	if err := writeFigures(writer, plan, figures); err != nil {
		return err
	}
	if err := writer.Update(func(m *results.Manifest) { m.Status, m.RunID = status, id }); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return os.Rename(writer.Dir(), filepath.Join(dir, id))
}

// writeFigures writes a measurement for each line.
func writeFigures(writer *results.Writer, plan *pipeline.Plan, figures string) error {
	lines := strings.Split(strings.TrimSpace(figures), "\n")
	names := strings.Fields(lines[0])
	seen := map[string]int64{}
	for _, line := range lines[1:] {
		cells := map[string]string{}
		for i, cell := range strings.Fields(line) {
			cells[names[i]] = cell
		}
		job, err := jobOf(plan, cells, seen)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		row, err := rowOf(job, cells)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if err := writer.WritePoint(row, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// jobOf is the measurement that a line is of: the next repeat of its point where it does not say.
func jobOf(plan *pipeline.Plan, cells map[string]string, seen map[string]int64) (pipeline.Job, error) {
	for i := range plan.Trials {
		jobs := plan.Jobs(&plan.Trials[i])
		if cells["stage"] == "verify" {
			jobs = plan.VerifyJobs(&plan.Trials[i])
		}
		for _, job := range jobs {
			if name, given := cells["trial_name"]; given && name != job.TrialName {
				continue
			}
			if cell(job.Load.Concurrency) != cells["concurrency"] || cells["prefill_concurrency"] != "" && cell(job.Load.PrefillConcurrency) != cells["prefill_concurrency"] {
				continue
			}
			if seen[job.PointID] == job.Repeat {
				seen[job.PointID]++
				return job, nil
			}
		}
	}
	return pipeline.Job{}, fmt.Errorf("the preset has no such point")
}

func cell(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// places are the columns that say which measurement a line is of.
var places = []string{"trial_name", "stage", "concurrency", "prefill_concurrency"}

// rowOf is a sound measurement with the figures of a line; in the reason of a failed one underscores are blanks.
func rowOf(job pipeline.Job, cells map[string]string) (measure.Point, error) {
	some := func(v float64) *float64 { return &v }
	n, tokens, slots := int64(100), int64(10000), float64(job.Load.Slots())
	target := job.Load.Slots()
	row := measure.Point{
		Keys: job.Keys, PointLoad: job.Load, Status: measure.PointCompleted, Workload: job.Spec.Workload.Name(), Model: job.Spec.Model,
		StartedAt: "2026-11-30T09:00:00Z", ClockID: "monotonic:test", Started: 1, Finished: 2,
		Counts: measure.Counts{Issued: n, OK: n}, SuccessRate: some(1), ErrorRate: some(0), OutputTokens: &tokens, OutputRatio: some(1), PromptRatio: some(1), PromptOff: some(0), Wall: some(10),
		TargetInFlight: &target, TargetSessions: &target,
		InFlight: measure.InFlight{MeanRequests: &slots, SteadyMeanRequests: &slots, SteadyMeanSessions: &slots},
		TTFT:     measure.Dist{N: n}, TPOT: measure.Dist{N: n}, TotalTime: measure.Dist{N: n},
		Health: measure.Health{LagP99: some(0.001)}, Cache: job.Spec.Request.Cache,
	}
	for _, column := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		text, given := cells[column.Name]
		if !given || slices.Contains(places, column.Name) {
			continue
		}
		if err := setColumn(reflect.ValueOf(&row).Elem().FieldByIndex(column.Index), text); err != nil {
			return row, fmt.Errorf("%s: %w", column.Name, err)
		}
		delete(cells, column.Name)
	}
	for _, known := range places {
		delete(cells, known)
	}
	if len(cells) > 0 {
		return row, fmt.Errorf("these are no columns: %v", cells)
	}
	row.TTFTAll.P50, row.TTFTAll.P99 = cmp.Or(row.TTFTAll.P50, row.TTFT.P50), cmp.Or(row.TTFTAll.P99, row.TTFT.P99)
	if row.Status == measure.PointFailed {
		row.Counts, row.ErrorRate, row.SuccessRate, row.OutputTokens = measure.Counts{Issued: n, ConnectError: n}, some(1), some(0), nil
		row.TTFT, row.TPOT, row.TotalTime = measure.Dist{}, measure.Dist{}, measure.Dist{}
	}
	if row.Reason != nil {
		*row.Reason = strings.ReplaceAll(*row.Reason, "_", " ")
	}
	row.Hardware = measure.HardwareOf(job.Spec.Service.GPUs(), row.OutputTokPerS)
	return row, nil
}

func setColumn(field reflect.Value, text string) error {
	if text == "-" {
		field.SetZero()
		return nil
	}
	var value any = text
	switch field.Interface().(type) {
	case *float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		value = &v
	case *int64, int64:
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		value = v
		if field.Kind() == reflect.Pointer {
			value = &v
		}
	case *string:
		value = &text
	case measure.PointStatus:
		value = measure.PointStatus(text)
	}
	field.Set(reflect.ValueOf(value))
	return nil
}
