package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	startup startup
	observe func(pipeline.Event)

	said   map[string]bool // notes that are not said again
	target *target.Target  // of the trial that is measured; nil before the first
}

// deps are the parts that do the work. interrupted is closed at the first interrupt.
func (d *drive) deps(observe func(pipeline.Event), interrupted <-chan struct{}) pipeline.Deps {
	d.observe = observe
	return pipeline.Deps{
		StartService: d.startService, Preflight: d.preflight, Measure: d.measure,
		Stop: interrupted, Redact: d.secrets.Redact, Observe: observe, Clock: d.clock, ToolVersion: version,
	}
}

func (d *drive) startService(ctx context.Context, spec schema.Service) (pipeline.Service, error) {
	self, err := d.process.executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which watches the service: %w", err)
	}
	trial, err := d.firstWith(spec)
	if err != nil {
		return nil, err
	}
	d.startup.begin()
	defer d.startup.end()
	note := func(string) {}
	if spec.Process != nil {
		note = func(text string) { d.observe(pipeline.ServiceStarted{Text: text}) }
	}
	return service.Start(ctx, spec, service.Options{
		Model: trial.Spec.Model, Request: trial.Spec.Request, Header: target.Header(trial.Spec, d.process.lookupEnv), Note: note,
		Log: filepath.Join(d.run.Dir(), filepath.FromSlash(logOf(trial))), Redact: d.secrets.Redact, Said: d.startup.said,
		LookupEnv: d.process.lookupEnv, Environ: d.process.environ(),
		Supervisor: []string{self, "supervise"}, Self: []string{self, "simulate", "--child"},
	})
}

// firstWith is the first trial that drives a service: the output is kept as that trial's, and the simulated service serves its model.
func (d *drive) firstWith(spec schema.Service) (*pipeline.Trial, error) {
	for i := range d.plan.Trials {
		if reflect.DeepEqual(d.plan.Trials[i].Spec.Service, spec) {
			return &d.plan.Trials[i], nil
		}
	}
	return nil, errors.New("no trial of the plan has this service")
}

// logOf is the file below the run's directory that has the output of a trial's service.
func logOf(trial *pipeline.Trial) string { return "service/" + trial.ID + ".log" }

// standing says how a service that is being started stands, or else the point that is measured.
func (d *drive) standing(width int) string {
	if text := d.startup.text(width); text != "" {
		return text
	}
	return standing(d.live.Snapshot())
}

func (d *drive) preflight(ctx context.Context, started pipeline.Service, job pipeline.Job) (pipeline.Preflight, error) {
	s := started.(*service.Service)
	made, ready, err := target.Prepare(ctx, target.Config{
		Spec: job.Spec, URLs: s.URLs, Header: target.Header(job.Spec, d.process.lookupEnv), Streams: d.streams(),
		RunID: job.RunID, TrialName: job.TrialName, Seed: job.Seed, Context: job.Limits.MinContextLength,
		Files: d.files, Clock: d.clock, Redact: d.secrets.Redact, ServiceEnv: service.EnvOf(job.Spec.Service, d.process.lookupEnv),
	})
	if err != nil {
		return pipeline.Preflight{}, err
	}
	d.close()
	d.target = made
	facts := results.Facts{}
	if identities, err := s.Identities(ctx); err == nil {
		facts = s.FactsOf(identities)
		ready.Notes = append(ready.Notes, s.Unlike(identities)...)
	}
	maps.Copy(facts, s.Facts())
	if job.Spec.Service.Endpoint == nil {
		if trial, err := d.firstWith(job.Spec.Service); err == nil {
			facts["service_log"] = logOf(trial)
		}
	}
	if gpus := ready.GPUs; gpus != nil {
		facts["gpus"] = fmt.Sprintf("%d × %s, asked of nvidia-smi", gpus.Count, gpus.Name)
	}
	facts["preflight_requests"] = fmt.Sprint(ready.Spent.Requests)
	facts["preflight_prompt_tokens"] = fmt.Sprint(ready.Spent.PromptTokens)
	facts["preflight_output_tokens"] = fmt.Sprint(ready.Spent.OutputTokens)
	address := ready.Preflight.Addresses[0]
	return pipeline.Preflight{
		Facts: facts, ContextLength: address.ContextLength, RTT: address.RTT, GPUs: ready.GPUs, Notes: append(ready.Notes, d.once(ready.Machine)...),
	}, nil
}

// once are those of some notes that were not said before.
func (d *drive) once(notes []string) []string {
	if d.said == nil {
		d.said = map[string]bool{}
	}
	var fresh []string
	for _, note := range notes {
		if !d.said[note] {
			d.said[note] = true
			fresh = append(fresh, note)
		}
	}
	return fresh
}

// streams is the most that any point has in flight: what connections and descriptors are made ready for.
func (d *drive) streams() int64 { return max(1, d.most(streamsOf)) }

// mostAsked is the most that the caps of any point let be in flight; a point that no cap bounds is left out.
func (d *drive) mostAsked() int64 {
	return d.most(func(w schema.Workload, load schema.PointLoad) int64 {
		if w.Forks() && load.RequestConcurrency == nil {
			return 0
		}
		return load.Slots()
	})
}

func (d *drive) most(of func(schema.Workload, schema.PointLoad) int64) int64 {
	var most int64
	for _, trial := range d.plan.Trials {
		for _, point := range trial.Points {
			most = max(most, of(trial.Spec.Workload, point.PointLoad))
		}
		if trial.Search != nil {
			most = max(most, of(trial.Spec.Workload, trial.Search.Last.PointLoad))
		}
	}
	return most
}

// streamsOf is what a point may have in flight. Where no cap bounds it, that is a guess: what an open loop sends in ten seconds, a thousand of a trace, or eight forks at once of
// each session tree.
func streamsOf(w schema.Workload, load schema.PointLoad) int64 {
	const seconds, forks, ofTrace, most = 10, 8, 1_000, 10_000
	switch {
	case load.RequestRate != nil && load.Slots() == 0:
		return min(int64(math.Ceil(*load.RequestRate*seconds)), most)
	case load.ReplaySpeed != nil && load.Slots() == 0:
		return ofTrace
	case w.Forks() && load.RequestConcurrency != nil:
		return *load.RequestConcurrency
	case w.Forks():
		return max(load.Slots(), min(forks*load.Slots(), most))
	}
	return load.Slots()
}

func (d *drive) measure(ctx context.Context, started pipeline.Service, job pipeline.Job, stop <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error) {
	s := started.(*service.Service)
	if err := s.Changed(ctx); err != nil {
		return measure.Outcome{}, err
	}
	if path := string(job.Spec.Request.ResetCache); path != "" {
		if err := s.ResetPrefixCache(ctx, path); err != nil {
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
	outcome, err := d.target.Measure(ctx, target.Job{Point: point, LoadKey: job.LoadKey(), Repeat: job.Repeat, Attempt: job.Attempt},
		target.Watch{Live: d.live, Ended: ended, Stop: stop})
	if err == nil && outcome.Aborted == "" && !outcome.Interrupted {
		if changed := s.Changed(ctx); changed != nil {
			outcome.Aborted = changed.Error()
		}
	}
	return outcome, err
}

func (d *drive) close() {
	if d.target != nil {
		d.target.Close()
	}
}
