package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// Options are what a service is started with beside its specification.
type Options struct {
	Model     string                           // that will be asked for; the simulated service serves it
	LookupEnv func(name string) (string, bool) // reads environment variables
	Note      func(text string)                // is told what was started, in one line without secrets; nil: nobody is
	Header    http.Header                      // sent with what is asked of the service here; nil: nothing

	// For a service that is started.
	Log    string              // file that its output is added to; its folder is made with mode 0700. Empty: only the end is kept, for errors
	Redact func(string) string // takes secrets out of its output; nil: nothing is taken out
	Said   func(line string)   // is told of each line of its output, from another goroutine; nil: nobody is

	// For one that commands start.
	Supervisor []string       // command line that runs [Supervise] on its standard input, output and error output
	Environ    []string       // NAME=VALUE: what the commands have beside what their specification names
	Request    schema.Request // how the completion is asked for that shows that the service is ready

	// For the simulated service.
	Self  []string         // command line that runs [ServeChild] on its standard input and output
	Paced *simulator.Paced // a fixed rate in the place of the model
	Truth string           // file for the simulated service's log of what it read and wrote; it must not exist. Empty: no log
}

// Service is a service that is ready to be driven.
type Service struct {
	URLs   []string // bases of the OpenAI-compatible API, without a slash at the end; they may hold userinfo
	APIKey Secret   // bearer token; zero where there is none

	model   string
	header  http.Header
	request schema.Request
	client  *http.Client
	child   child // nil: the service was already running
	facts   map[string]string
	known   []Identity // of each URL, when it was first asked; nil: not yet
}

// child is what was started for a service.
type child interface {
	stop(context.Context) error
	ended() error          // nil while it runs, and after it was stopped
	over() <-chan struct{} // closed when it has ended
}

// askTimeout bounds each request that is made here.
const askTimeout = 10 * time.Second

// Start gives the service that spec names. One that is started is ready when Start returns; ctx ends the waiting for it and not the service: the
// caller stops it. Where Start fails, what it started has ended.
func Start(ctx context.Context, spec schema.Service, o Options) (*Service, error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	switch {
	case spec.Endpoint != nil:
		return attach(*spec.Endpoint, o)
	case spec.Simulator != nil:
		return simulate(ctx, *spec.Simulator, o)
	case spec.Process != nil:
		return launch(ctx, spec.Process, o)
	default:
		return nil, errors.New("the service must be an endpoint, a process or the simulator")
	}
}

func newService(o Options, verifyTLS bool, urls ...string) *Service {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: !verifyTLS}, DisableKeepAlives: true}
	return &Service{URLs: urls, model: o.Model, header: o.Header, request: o.Request, facts: map[string]string{}, client: &http.Client{Transport: transport, Timeout: askTimeout}}
}

func attach(e schema.Endpoint, o Options) (*Service, error) {
	urls := []string{strings.TrimRight(e.URL, "/")}
	for _, url := range e.Replicas {
		urls = append(urls, strings.TrimRight(url, "/"))
	}
	s := newService(o, e.VerifyTLS, urls...)
	return s, s.takeKey(e.APIKeyEnv, "service.endpoint.api_key_env", o)
}

// takeKey reads the bearer token from the environment variable that a field of the preset names; where that is empty there is none.
func (s *Service) takeKey(name, field string, o Options) error {
	if name == "" {
		return nil
	}
	key, _ := o.LookupEnv(name)
	if key == "" {
		return fmt.Errorf("environment variable %s, which %s names, is not set", name, field)
	}
	if unfitForHeader(key) {
		return fmt.Errorf("environment variable %s, which %s names, holds a line break, another control character "+
			"or what is not UTF-8, which no header may", name, field)
	}
	s.APIKey = NewSecret(key)
	return nil
}

func simulate(ctx context.Context, spec schema.Simulator, o Options) (*Service, error) {
	if _, err := simulator.Resolve(spec); err != nil {
		return nil, fmt.Errorf("configuring the simulated service: %w", err)
	}
	out, err := openOutput(o.Log, o.Redact, o.Said)
	if err != nil {
		return nil, fmt.Errorf("starting the simulated service: %w", err)
	}
	child, url, err := startChild(ctx, childConfig{Model: o.Model, Simulator: spec, Paced: o.Paced, Truth: o.Truth}, o.Self, out)
	if err != nil {
		return nil, fmt.Errorf("starting the simulated service: %w", err)
	}
	o.Note(fmt.Sprintf("simulated service %s is up at %s (process %d)", spec.Profile, url, child.pid()))
	s := newService(o, true, url)
	s.child = child
	return s, nil
}

// Stop ends what Start started, all of it, and returns when it has ended: at once where ctx is done, or after the grace that its specification
// gives it. A service that ended before it was told to is an error. It does nothing to a service that was already running, and nothing the second
// time.
func (s *Service) Stop(ctx context.Context) error {
	if s.child == nil {
		return nil
	}
	return s.child.stop(ctx)
}

// Err says that the service which Start started has ended by itself, with the end of its output; nil while it runs, and after Stop. A service that a
// command brought up elsewhere is not watched.
func (s *Service) Err() error {
	if s.child == nil {
		return nil
	}
	return s.child.ended()
}

// Over is closed when the service which Start started has ended; nil where it was already running.
func (s *Service) Over() <-chan struct{} {
	if s.child == nil {
		return nil
	}
	return s.child.over()
}

// Facts are what is to be kept of the start, by name: how long it took and what was asked until the service was ready. They are the caller's.
func (s *Service) Facts() map[string]string { return maps.Clone(s.facts) }
