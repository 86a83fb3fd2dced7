package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

	// For the simulated service.
	Self  []string         // command line that runs [ServeChild] on its standard input and output
	Dir   string           // folder for the child's output; it is made with mode 0700. Empty: only the tail is kept, for errors
	Paced *simulator.Paced // a fixed rate in the place of the model
	Truth string           // file for the simulated service's log of what it read and wrote; it must not exist. Empty: no log
}

// Service is a service that is ready to be driven.
type Service struct {
	URLs   []string // bases of the OpenAI-compatible API, without a slash at the end; they may hold userinfo
	APIKey Secret   // bearer token; zero where there is none

	model  string
	header http.Header
	client *http.Client
	child  *process // nil: the service was already running
}

// askTimeout bounds each request that is made here.
const askTimeout = 10 * time.Second

// Start gives the service that spec names. A simulated one is started as a child process, which is ready when Start returns; ctx ends the
// waiting for it and not the child: the caller stops it.
func Start(ctx context.Context, spec schema.Service, o Options) (*Service, error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	switch {
	case spec.Endpoint != nil:
		return attach(*spec.Endpoint, o)
	case spec.Simulator != nil:
		return simulate(ctx, *spec.Simulator, o)
	default:
		return nil, errors.New("the service must be an endpoint or the simulator")
	}
}

func newService(o Options, verifyTLS bool, urls ...string) *Service {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: !verifyTLS}, DisableKeepAlives: true}
	return &Service{URLs: urls, model: o.Model, header: o.Header, client: &http.Client{Transport: transport, Timeout: askTimeout}}
}

func attach(e schema.Endpoint, o Options) (*Service, error) {
	s := newService(o, e.VerifyTLS, strings.TrimRight(e.URL, "/"))
	if e.APIKeyEnv == "" {
		return s, nil
	}
	key, _ := o.LookupEnv(e.APIKeyEnv)
	if key == "" {
		return nil, fmt.Errorf("environment variable %s, which service.endpoint.api_key_env names, is not set", e.APIKeyEnv)
	}
	if unfitForHeader(key) {
		return nil, fmt.Errorf("environment variable %s, which service.endpoint.api_key_env names, holds a line break, another control character "+
			"or what is not UTF-8, which no header may", e.APIKeyEnv)
	}
	s.APIKey = NewSecret(key)
	return s, nil
}

func simulate(ctx context.Context, spec schema.Simulator, o Options) (*Service, error) {
	if _, err := simulator.Resolve(spec); err != nil {
		return nil, fmt.Errorf("configuring the simulated service: %w", err)
	}
	child, url, err := startChild(ctx, childConfig{Model: o.Model, Simulator: spec, Paced: o.Paced, Truth: o.Truth}, o.Self, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting the simulated service: %w", err)
	}
	o.Note(fmt.Sprintf("simulated service %s is up at %s (process %d)", spec.Profile, url, child.pid()))
	s := newService(o, true, url)
	s.child = child
	return s, nil
}

// Stop ends what Start started and returns when it has ended: after a second or two, or at once where ctx is done. A child that ended before
// it was told to is an error. It does nothing to a service that was already running, and nothing the second time.
func (s *Service) Stop(ctx context.Context) error {
	if s.child == nil {
		return nil
	}
	return s.child.stop(ctx)
}

// Err says that the service which Start started has ended by itself, with the end of its output; nil while it runs, and after Stop.
func (s *Service) Err() error {
	if s.child == nil {
		return nil
	}
	return s.child.ended()
}
