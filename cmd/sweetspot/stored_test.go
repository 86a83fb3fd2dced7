package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// stored is "stored ID PRESET FIGURES": it stores a run of a preset under an id of its own in ./results, as run does, whose measurements have the figures of
// a file and are sound in all else. Its first line names columns of the points table; trial_name and repeat may be left out. A measurement that no line
// gives was not made. A dash is a figure that is not known.
func stored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stored ID PRESET FIGURES")
	}
	if err := store(args[0], ts.MkAbs("results"), ts.MkAbs(args[1]), ts.ReadFile(args[2])); err != nil {
		ts.Fatalf("storing run %s: %v", args[0], err)
	}
}

func store(id, dir, file, figures string) error {
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
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(id[0]) * time.Minute) // runs are as old as their ids are low
	manifest.CreatedAt = at
	manifest.Executions = []results.Execution{{StartedAt: at, EndedAt: &at, Status: results.Completed, ToolVersion: version,
		Host: results.Host{Name: "bench-1", OS: "linux", Arch: "amd64", CPUs: 8}, ClockID: "monotonic:test", ClockZero: at}}
	writer, err := results.Create(dir, manifest)
	if err != nil {
		return err
	}
	if err := writeFigures(writer, plan, figures); err != nil {
		return err
	}
	if err := writer.Update(func(m *results.Manifest) { m.Status, m.RunID = results.Completed, id }); err != nil {
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
		for _, job := range plan.Jobs(&plan.Trials[i]) {
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

// rowOf is a sound measurement with the figures of a line.
func rowOf(job pipeline.Job, cells map[string]string) (measure.Point, error) {
	some := func(v float64) *float64 { return &v }
	n, tokens, slots := int64(100), int64(10000), float64(job.Load.Slots())
	target := job.Load.Slots()
	row := measure.Point{
		Keys: job.Keys, PointLoad: job.Load, Status: measure.PointCompleted, Workload: job.Spec.Workload.Name(), Model: job.Spec.Model,
		StartedAt: "2026-11-30T09:00:00Z", ClockID: "monotonic:test", Started: 1, Finished: 2,
		Counts: measure.Counts{Issued: n, OK: n}, SuccessRate: some(1), ErrorRate: some(0), OutputTokens: &tokens, OutputRatio: some(1), PromptRatio: some(1), Wall: some(10),
		TargetInFlight: &target, TargetSessions: &target,
		InFlight: measure.InFlight{MeanRequests: &slots, SteadyMeanRequests: &slots, SteadyMeanSessions: &slots},
		TTFT:     measure.Dist{N: n}, TPOT: measure.Dist{N: n}, TotalTime: measure.Dist{N: n},
		Health: measure.Health{LagP99: some(0.001)}, Cache: job.Spec.Request.Cache,
	}
	for _, column := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		text, given := cells[column.Name]
		if !given || column.Name == "trial_name" || column.Name == "concurrency" || column.Name == "prefill_concurrency" {
			continue
		}
		if err := setColumn(reflect.ValueOf(&row).Elem().FieldByIndex(column.Index), text); err != nil {
			return row, fmt.Errorf("%s: %w", column.Name, err)
		}
		delete(cells, column.Name)
	}
	for _, known := range []string{"trial_name", "concurrency", "prefill_concurrency"} {
		delete(cells, known)
	}
	if len(cells) > 0 {
		return row, fmt.Errorf("these are no columns: %v", cells)
	}
	if row.TTFTAll.P50 == nil {
		row.TTFTAll.P50 = row.TTFT.P50
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
