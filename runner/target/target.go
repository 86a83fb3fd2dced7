// Package target makes a service ready to be measured by one trial, and measures points of it.
//
// It joins what the packages below it do apart: a client with the trial's headers, the preflight on the real path, the calibration of prompt
// lengths, and for each point a source of prompts and the load engine. It starts no service (package service does) and stores nothing (package
// pipeline does). A point can be measured from its serialised specification and a running service alone.
package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sweetspot/runner"
	"sweetspot/runner/client"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/service/gpu"
	"sweetspot/runner/service/metrics"
	"sweetspot/runner/tokenizer"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// Config says what a trial asks of a service. All of it belongs to the caller; none is changed.
type Config struct {
	Spec      schema.Spec
	URLs      []string    // of the running service, each the base of its API
	Header    http.Header // with the values of its secrets: see [Header]
	Streams   int64       // most requests that any of the trial's points has in flight
	RunID     string
	TrialName string
	Seed      int64  // load.seed of the preset
	Context   *int64 // limits.min_context_length: the context that the probe fills; nil where there is no probe
	Files     *Files // that the specification may name; nil where it names none
	Clock     clock.Clock
	Redact    func(string) string // takes secrets out of a text

	ServiceEnv func(name string) (string, bool) // reads the environment of a service that was started here
}

// Target is a service that a trial's points can be measured at.
type Target struct {
	config      Config
	client      *client.Client
	calibration workload.Calibration
	contents    *workload.Contents   // of the workload's file; nil where it names none
	tokens      *tokenizer.Tokenizer // counts where the service does not; nil where it does, or the preset names none
	metrics     metrics.Source       // what the service shows of itself; without URLs where it shows nothing
	gpus        *gpu.Watcher         // of the GPUs below the service; nil where nothing is watched
	asked       *schema.GPUs         // that the machine says the service has; nil where it is not certain, or the preset declares some
	lists       bool                 // its first URL answers GET /models
	spent       Spent
}

// Spent is what was sent before the first point, to look at the service and to calibrate prompts. It is in none of the tables.
type Spent struct {
	Requests     int64 `json:"requests"`
	PromptTokens int64 `json:"prompt_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Ready is what was learnt of a service before its first point.
type Ready struct {
	Preflight   client.Report
	Calibration workload.Calibration
	Spent       Spent
	Notes       []string     // for the person: what is not as asked for, but can be measured
	GPUs        *schema.GPUs // that the machine says the service has; nil where it is not certain, or the preset declares some
	Machine     []string     // the same of the machine below the service, which trials share: to be said once
}

// Header is the header of each request of a trial: the bearer token and the preset's own fields, with the values of the environment variables that
// the preset names. All of them must be set.
func Header(spec schema.Spec, lookupEnv func(string) (string, bool)) http.Header {
	header := http.Header{}
	if name := spec.Service.APIKeyEnv(); name != "" {
		key, _ := lookupEnv(name)
		header.Set("Authorization", "Bearer "+key)
	}
	for name, field := range spec.Request.Headers {
		value := field.Value
		if field.Env != "" {
			value, _ = lookupEnv(field.Env)
		}
		header.Set(name, value)
	}
	return header
}

// Prepare looks at the service on the real path and calibrates the lengths of prompts there, with a few requests one after the other.
//
// An error says why no point can be measured and what to do about it, one line a reason.
func Prepare(ctx context.Context, config Config) (*Target, Ready, error) {
	contents, err := config.Files.planned(config.Spec.Workload)
	if err != nil {
		return nil, Ready{}, err
	}
	made, err := client.New(client.Config{
		BaseURLs: config.URLs, API: config.Spec.Request.API, Header: config.Header,
		Timeout: time.Duration(config.Spec.Request.Timeout), IdleTimeout: time.Duration(config.Spec.Request.IdleTimeout),
		Streams: config.Streams, HTTP2: config.Spec.Request.HTTP == "2", SkipVerifyTLS: !config.Spec.Service.VerifyTLS(),
		Clock: config.Clock, Redact: config.Redact,
	})
	if err != nil {
		return nil, Ready{}, err
	}
	t := &Target{config: config, client: made, contents: contents}
	ready, err := t.ready(ctx)
	if err != nil {
		made.Close()
		return nil, ready, err
	}
	return t, ready, nil
}

func (t *Target) ready(ctx context.Context) (Ready, error) {
	report, problems, err := t.preflight(ctx)
	ready := Ready{Preflight: report}
	if err != nil {
		return ready, err
	}
	t.lists = report.Addresses[0].Models != nil
	var fatal []error
	for _, p := range problems {
		if p.Fatal {
			fatal = append(fatal, errors.New(p.Message))
		} else {
			ready.Notes = append(ready.Notes, p.Message)
		}
	}
	if len(fatal) > 0 {
		return ready, errors.Join(fatal...)
	}
	if err := t.countLocally(report); err != nil {
		return ready, err
	}
	ready.Notes = append(ready.Notes, t.contents.Notes()...)
	t.calibration, err = workload.CalibrateFrom(ctx, t.contents, t.config.Spec, t.seed(Job{}), t.probePrompt(), t.count)
	if err != nil {
		return ready, fmt.Errorf("finding prompts of the wanted length: %w", err)
	}
	ready.Calibration, ready.Spent = t.calibration, t.spent
	ready.Notes = append(ready.Notes, t.config.Files.Notes(t.config.Spec.Workload, 0)...)
	notes, err := t.lookAtMetrics(ctx)
	ready.Notes = append(ready.Notes, notes...)
	if err == nil {
		ready.Machine = t.watchGPUs(ctx)
		ready.GPUs = t.asked
	}
	return ready, err
}

// lookAtMetrics finds out which of the URLs show metrics, and says which do not.
func (t *Target) lookAtMetrics(ctx context.Context) (notes []string, err error) {
	endpoint := t.config.Spec.Service.Endpoint
	source := metrics.Source{Client: metrics.NewClient(endpoint != nil && !endpoint.VerifyTLS), Header: t.config.Header, Clock: t.config.Clock}
	for _, base := range t.config.URLs {
		address, err := metrics.Address(base)
		if err != nil {
			return nil, fmt.Errorf("finding the service's metrics: %w", err)
		}
		source.URLs = append(source.URLs, address)
	}
	t.metrics, notes = source.Look(ctx)
	for i, note := range notes {
		notes[i] = t.config.Redact(note)
	}
	return notes, nil
}

// countLocally has the preset's tokenizer count where the service was seen not to.
func (t *Target) countLocally(report client.Report) error {
	request := t.config.Spec.Request
	for _, address := range report.Addresses {
		if asked := address.Request; request.Tokenizer != "" && asked != nil && (asked.OutputTokens == nil || asked.PromptTokens == nil) {
			made, err := t.config.Files.tokenizer(request)
			t.tokens = made
			return err
		}
	}
	return nil
}

func (t *Target) preflight(ctx context.Context) (client.Report, []client.Problem, error) {
	source, err := t.source(Job{})
	if err != nil {
		return client.Report{}, nil, err
	}
	prompt, _ := t.config.Spec.Workload.Tokens()
	longest := max(t.config.Spec.Workload.Longest(), t.contents.Longest())
	if t.config.Context != nil {
		longest = max(longest, *t.config.Context)
	}
	config := client.PreflightConfig{
		Request:       func(outputTokens int64) (workload.Request, error) { return source.Probe(prompt, outputTokens), nil },
		Model:         t.config.Spec.Model,
		ContextTokens: longest,
		Skip:          []client.Check{client.CheckPrompt}, // lengths are calibrated afterwards
		APIKeyEnv:     t.config.Spec.Service.APIKeyEnv(),
	}
	if t.config.Spec.Request.Tokenizer != "" {
		config.Skip = append(config.Skip, client.CheckUsage)
	}
	for _, name := range t.config.Spec.Request.SkipChecks {
		config.Skip = append(config.Skip, client.Check(name))
	}
	var report client.Report
	var problems []client.Problem
	patiently(ctx, func() bool {
		report, problems, err = client.Preflight(ctx, t.client, config)
		again := false
		for _, address := range report.Addresses {
			if address.Request != nil {
				t.spend(address.Request)
				again = again || passing(address.Request) || t.cut(address.Request)
			}
		}
		return again
	})
	return report, problems, err
}

// tries is how often a request before the first point is made where the service says that it can't answer now, or does not answer to the end: one such
// answer must not cost a whole trial. Measured requests are made once.
const (
	tries = 3
	pause = time.Second // between them
)

// passing reports whether a request failed in a way that may pass: too many requests, or a fault of the server's own.
func passing(r *measure.Record) bool {
	return r != nil && r.HTTPStatus != nil && (*r.HTTPStatus == http.StatusTooManyRequests || *r.HTTPStatus >= http.StatusInternalServerError)
}

// cut reports whether a response did not come, though a connection was had, or ended before it had said a token and how many there were: one may, and if
// all do it is said.
func (t *Target) cut(r *measure.Record) bool {
	switch r.Status {
	case measure.StreamError, measure.Truncated, measure.Empty:
		return true
	case measure.ConnectError:
		return r.Connected.Happened()
	}
	return r.Status == measure.OK && r.OutputTokens == nil && t.config.Spec.Request.Tokenizer == ""
}

// patiently calls try, which reports whether to try again, up to tries times. It stops early when ctx is done.
func patiently(ctx context.Context, try func() (again bool)) {
	for n := 1; try() && n < tries; n++ {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// count asks the service how many tokens a prompt has, with a request of one output token. Any answer without the count is asked for again, a few times:
// one that fails, or that is cut before its usage, must not cost a whole trial.
func (t *Target) count(ctx context.Context, request workload.Request) (int64, error) {
	var r measure.Record
	patiently(ctx, func() bool {
		now := t.config.Clock.Now()
		r = measure.Record{Index: -1, Phase: measure.Probe, Scheduled: now, Dispatched: now}
		t.client.Send(ctx, request, &r, func() {})
		t.spend(&r)
		return r.PromptTokens == nil && (r.Status != measure.OK || t.tokens == nil)
	})
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case r.PromptTokens != nil:
		return *r.PromptTokens, nil
	case r.Status == measure.OK && t.tokens != nil:
		return promptTokens(t.tokens, request.Body)
	case r.Error != nil:
		return 0, fmt.Errorf("%s: %s", r.Status, *r.Error)
	}
	return 0, fmt.Errorf("the answer (%s) says no usage.prompt_tokens", r.Status)
}

func (t *Target) spend(r *measure.Record) {
	t.spent.Requests++
	if r.PromptTokens != nil {
		t.spent.PromptTokens += *r.PromptTokens
	}
	if r.OutputTokens != nil {
		t.spent.OutputTokens += *r.OutputTokens
	}
}

// probeOutput is how many tokens the context probe asks to be answered: as many as the workload does, but at most half of the context.
func (t *Target) probeOutput() int64 {
	_, output := t.config.Spec.Workload.Tokens()
	return max(1, min(output, *t.config.Context/2))
}

// probePrompt is the prompt length of the context probe; 0 where there is none.
func (t *Target) probePrompt() int64 {
	if t.config.Context == nil {
		return 0
	}
	return *t.config.Context - t.probeOutput()
}

func (t *Target) seed(job Job) workload.Seed {
	return workload.Seed{
		Load: t.config.Seed, Point: job.LoadKey, Repeat: job.Repeat, Trial: t.config.TrialName, Run: t.config.RunID, Attempt: job.Attempt,
	}
}

// source makes the sessions of a job.
func (t *Target) source(job Job) (*workload.Source, error) {
	return workload.NewFrom(t.contents, t.config.Spec, t.seed(job), t.calibration)
}

// Job is one measurement of a point. The seed of its arrivals and cancellations is made here, and so are the length of the probe and how lanes start,
// which the trial's specification says.
type Job struct {
	runner.Point
	LoadKey         string // names the load: equal for the same point of every trial, so that lengths and arrivals are
	Repeat, Attempt int64  // their prompts differ
}

// Watch is who looks on while a point is measured. Each field may be nil.
type Watch struct {
	Live  *runner.Live
	Ended func(*measure.Record) // each request when it has ended
	Stop  <-chan struct{}       // closed: start nothing new, and drain
}

// Measure drives one point and returns when its last request has ended. It is an error if the workload's file has changed since it was read.
func (t *Target) Measure(ctx context.Context, job Job, watch Watch) (measure.Outcome, error) {
	if err := t.contents.Unchanged(); err != nil {
		return measure.Outcome{}, err
	}
	source, err := t.source(job)
	if err != nil {
		return measure.Outcome{}, err
	}
	if speed := job.Load.ReplaySpeed; speed != nil {
		source.SetSpeed(*speed)
	}
	job.Seed = t.seed(job).Arrivals()
	job.Agentic = t.config.Spec.Workload.Agentic()
	if t.config.Context != nil {
		job.ProbeTokens = *t.config.Context
	}
	deps := runner.Deps{
		Sender:   t.client,
		Sessions: source.Session,
		Due:      source.Due,
		Probe:    func() (workload.Request, error) { return source.Probe(t.probePrompt(), t.probeOutput()), nil },
		Clock:    t.config.Clock,
		Ticker:   clock.NewTicker,
		Live:     watch.Live, Sink: watch.Ended, Stop: watch.Stop,
	}
	before := t.roundTrip(ctx)
	finish, seen, keptOpen := t.metrics.Watch(ctx), t.measureGPUs(), t.client.KeptOpen()
	outcome := t.drive(ctx, job.Point, deps)
	outcome.KeptOpen = t.client.KeptOpen() - keptOpen
	outcome.Samples, outcome.GPUs, outcome.URLs = finish(), seen(), len(t.config.URLs)
	outcome.HTTPRTT = lesser(before, t.roundTrip(ctx))
	for i := range outcome.Samples {
		outcome.Samples[i].URL = t.config.Redact(outcome.Samples[i].URL)
	}
	return outcome, nil
}

// drive runs the load engine. Where the service counts no tokens, the preset's tokenizer does, after the last request has ended.
func (t *Target) drive(ctx context.Context, point runner.Point, deps runner.Deps) measure.Outcome {
	if t.tokens == nil {
		return runner.Run(ctx, point, deps)
	}
	counter := &counting{sender: t.client, tokens: t.tokens, kept: map[int64]exchanged{}}
	deps.Sender = counter
	outcome := runner.Run(ctx, point, deps)
	counter.fill(outcome.Records)
	return outcome
}

// Close ends the target's connections, and what watches GPUs for it.
func (t *Target) Close() {
	t.client.Close()
	if t.gpus != nil {
		t.gpus.Close()
	}
}
