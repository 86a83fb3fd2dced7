package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/service"
	"sweetspot/runner/target"
	"sweetspot/schema"
)

// drive carries a plan out with real parts: it is what package pipeline is given.
type drive struct {
	process *process
	plan    *pipeline.Plan
	run     *results.Writer
	secrets service.Secrets
	clock   clock.Clock
	files   *target.Files // that the preset names
	live    *runner.Live

	target *target.Target // of the trial that is measured; nil before the first
}

// deps are the parts that do the work. interrupted is closed at the first interrupt.
func (d *drive) deps(observe func(pipeline.Event), interrupted <-chan struct{}) pipeline.Deps {
	return pipeline.Deps{
		StartService: d.startService, Preflight: d.preflight, Measure: d.measure,
		Stop: interrupted, Redact: d.secrets.Redact, Observe: observe, Clock: d.clock, ToolVersion: version,
	}
}

func (d *drive) startService(ctx context.Context, spec schema.Service) (pipeline.Service, error) {
	self, err := d.process.executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which simulates the service: %w", err)
	}
	return service.Start(ctx, spec, service.Options{
		Model: d.modelOf(spec), LookupEnv: d.process.lookupEnv,
		Self: []string{self, "simulate", "--child"}, Dir: filepath.Join(d.run.Dir(), "service"),
	})
}

// modelOf is the model that the simulated service serves: that of the first trial that drives it.
func (d *drive) modelOf(spec schema.Service) string {
	for _, trial := range d.plan.Trials {
		if reflect.DeepEqual(trial.Spec.Service, spec) {
			return trial.Spec.Model
		}
	}
	return ""
}

func (d *drive) preflight(ctx context.Context, started pipeline.Service, job pipeline.Job) (pipeline.Preflight, error) {
	s := started.(*service.Service)
	made, ready, err := target.Prepare(ctx, target.Config{
		Spec: job.Spec, URLs: s.URLs, Header: target.Header(job.Spec, d.process.lookupEnv), Streams: d.streams(),
		RunID: job.RunID, TrialName: job.TrialName, Seed: job.Seed, Context: job.Limits.MinContextLength,
		Files: d.files, Clock: d.clock, Redact: d.secrets.Redact,
	})
	if err != nil {
		return pipeline.Preflight{}, err
	}
	d.close()
	d.target = made
	facts := results.Facts{}
	if identity, err := s.Identity(ctx); err == nil {
		facts = identity.Facts()
	}
	facts["preflight_requests"] = fmt.Sprint(ready.Spent.Requests)
	facts["preflight_prompt_tokens"] = fmt.Sprint(ready.Spent.PromptTokens)
	facts["preflight_output_tokens"] = fmt.Sprint(ready.Spent.OutputTokens)
	address := ready.Preflight.Addresses[0]
	return pipeline.Preflight{Facts: facts, ContextLength: address.ContextLength, RTT: address.RTT, Notes: ready.Notes}, nil
}

// streams is the most that any point has in flight: what connections and descriptors are made ready for.
func (d *drive) streams() int64 {
	var most int64 = 1
	for _, trial := range d.plan.Trials {
		for _, point := range trial.Points {
			most = max(most, streamsOf(trial.Spec.Workload, point.PointLoad))
		}
		if trial.Search != nil {
			most = max(most, streamsOf(trial.Spec.Workload, trial.Search.Last.PointLoad))
		}
	}
	return most
}

// streamsOf is what a point may have in flight. Where no cap bounds it, that is a guess: what an open loop sends in ten seconds, or eight forks at once of
// each session tree.
func streamsOf(w schema.Workload, load schema.PointLoad) int64 {
	const seconds, forks, most = 10, 8, 10_000
	switch {
	case load.RequestRate != nil && load.Slots() == 0:
		return min(int64(math.Ceil(*load.RequestRate*seconds)), most)
	case w.Forks() && load.RequestConcurrency != nil:
		return *load.RequestConcurrency
	case w.Forks():
		return max(load.Slots(), min(forks*load.Slots(), most))
	}
	return load.Slots()
}

func (d *drive) measure(ctx context.Context, started pipeline.Service, job pipeline.Job, stop <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error) {
	if err := started.(*service.Service).Err(); err != nil {
		return measure.Outcome{}, err
	}
	if path := string(job.Spec.Request.ResetCache); path != "" {
		if err := started.(*service.Service).ResetPrefixCache(ctx, path); err != nil {
			return measure.Outcome{}, err
		}
	}
	point := runner.Point{Load: job.Load, WarmupRequests: job.WarmupRequests, DrainTimeout: job.DrainTimeout}
	if job.Load.RequestRate != nil {
		point.Arrivals.Process = job.Arrivals
	}
	if job.Burstiness != nil {
		point.Arrivals.Burstiness = *job.Burstiness
	}
	if job.RampUp != nil {
		point.RampUp = *job.RampUp
	}
	if job.Cancel != nil {
		point.Cancel = runner.Cancel(*job.Cancel)
	}
	if job.Requests != nil {
		point.Requests = *job.Requests
	}
	if job.Duration != nil {
		point.Duration = *job.Duration
	}
	return d.target.Measure(ctx, target.Job{Point: point, LoadKey: job.LoadKey(), Repeat: job.Repeat, Attempt: job.Attempt},
		target.Watch{Live: d.live, Ended: ended, Stop: stop})
}

func (d *drive) close() {
	if d.target != nil {
		d.target.Close()
	}
}
