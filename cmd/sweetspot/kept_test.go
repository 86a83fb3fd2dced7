package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// keep puts a run with known figures into the store ./results, so that what is printed of it is known to the letter:
//
//	keep ID CREATED STATUS PRESET POINTS
//
// POINTS has a line for each measurement: the trial's name and figures such as "baseline c=16 tok=780 ttft=0.258 user=109"; see [pointFields].
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: keep ID CREATED STATUS PRESET POINTS")
	}
	id, created, status := args[0], args[1], results.Status(args[2])
	text := ts.ReadFile(args[3])
	preset, err := schema.Read(args[3], []byte(text), schema.Options{})
	ts.Check(err)
	plan, err := pipeline.NewPlan(preset)
	ts.Check(err)
	manifest, err := pipeline.NewManifest(preset, plan, results.Given{Filename: args[3], Text: text}, schema.RedactText)
	ts.Check(err)
	manifest.CreatedAt, err = time.Parse(time.RFC3339, created)
	ts.Check(err)
	manifest.Status = status
	store := ts.MkAbs("results")
	run, err := results.Create(store, manifest)
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[4])) {
		row, err := pointOf(plan, strings.Fields(line))
		ts.Check(err)
		ts.Check(run.WritePoint(row, nil, nil))
	}
	ts.Check(run.Close())
	ts.Check(moveRun(run, filepath.Join(store, id)))
}

// moveRun gives a run an id that a script knows.
func moveRun(run *results.Writer, dir string) error {
	path := filepath.Join(run.Dir(), "manifest.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var manifest map[string]json.RawMessage
	if err := json.Unmarshal(text, &manifest); err != nil {
		return err
	}
	manifest["run_id"] = json.RawMessage(strconv.Quote(filepath.Base(dir)))
	if text, err = json.Marshal(manifest); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Rename(run.Dir(), dir)
}

// pointOf is a sound measurement with the given figures.
func pointOf(plan *pipeline.Plan, words []string) (measure.Point, error) {
	figures := map[string]string{"stage": "sweep"}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		figures[name] = value
	}
	level, err := strconv.ParseInt(figures["c"], 10, 64)
	if err != nil {
		return measure.Point{}, err
	}
	for i := range plan.Trials {
		jobs := plan.Jobs(&plan.Trials[i])
		if figures["stage"] == "verify" {
			jobs = plan.VerifyJobs(&plan.Trials[i])
		}
		for _, job := range jobs {
			if job.TrialName == words[0] && *job.Load.Concurrency == level {
				return figured(soundPoint(job), figures)
			}
		}
	}
	return measure.Point{}, fmt.Errorf("no point %v in the plan", words)
}

func soundPoint(job pipeline.Job) measure.Point {
	n, level := int64(100), float64(*job.Load.Concurrency)
	whole, none, lag := 1.0, 0.0, 0.0001
	return measure.Point{
		Keys: job.Keys, PointLoad: job.Load, Status: measure.PointCompleted, Workload: job.Spec.Workload.Name(), Model: job.Spec.Model, Cache: job.Spec.Request.Cache,
		Counts: measure.Counts{Issued: n, OK: n}, SuccessRate: &whole, ErrorRate: &none, OutputTokens: &n, PromptRatio: &whole, PromptOff: &none, OutputRatio: &whole,
		TargetInFlight: job.Load.Concurrency, TargetSessions: job.Load.Concurrency,
		InFlight: measure.InFlight{MeanRequests: &level, MeanSessions: &level, SteadyMeanRequests: &level, SteadyMeanSessions: &level},
		TTFT:     measure.Dist{N: n}, TPOT: measure.Dist{N: n}, TotalTime: measure.Dist{N: n}, Health: measure.Health{LagP99: &lag},
	}
}

// pointFields set what a word of a line stands for.
var pointFields = map[string]func(p *measure.Point, text string, v float64){
	"c":     func(*measure.Point, string, float64) {},
	"stage": func(*measure.Point, string, float64) {},
	"tok":   func(p *measure.Point, _ string, v float64) { p.OutputTokPerS, p.SteadyOutputTokPS = &v, &v },
	"ttft":  func(p *measure.Point, _ string, v float64) { p.TTFT.P50, p.TTFTAll.P50 = &v, &v },
	"p99":   func(p *measure.Point, _ string, v float64) { p.TTFT.P99, p.TTFTAll.P99 = &v, &v },
	"user":  func(p *measure.Point, _ string, v float64) { p.OutputTokPerSUser = &v },
	"lag":   func(p *measure.Point, _ string, v float64) { p.LagP99 = &v },
	"ctx": func(p *measure.Point, _ string, v float64) {
		n, source := int64(v), "probe"
		p.ContextLength, p.ContextLengthSource = &n, &source
	},
	"reported": func(p *measure.Point, _ string, v float64) {
		n, source := int64(v), "reported"
		p.ContextLength, p.ContextLengthSource = &n, &source
	},
	"failed": func(p *measure.Point, text string, _ float64) {
		reason, all := strings.ReplaceAll(text, "_", " "), 1.0
		p.Status, p.Reason, p.ErrorRate = measure.PointFailed, &reason, &all
		p.Counts = measure.Counts{Issued: 100, ConnectError: 100}
		p.OutputTokens, p.TTFT, p.TPOT, p.TotalTime = nil, measure.Dist{}, measure.Dist{}, measure.Dist{}
	},
}

func figured(p measure.Point, figures map[string]string) (measure.Point, error) {
	for name, text := range figures {
		set, known := pointFields[name]
		if !known {
			return p, fmt.Errorf("a measurement has no %s", name)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && name != "failed" && name != "stage" {
			return p, err
		}
		set(&p, text, v)
	}
	return p, nil
}
