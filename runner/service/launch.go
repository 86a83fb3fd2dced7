package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweetspot/schema"
)

// launch starts the commands of a service and waits until it answers.
func launch(ctx context.Context, spec *schema.Process, o Options) (*Service, error) {
	s := newService(o, spec.VerifyTLS)
	if err := s.takeKey(spec.APIKeyEnv, "service.process.api_key_env", o); err != nil {
		return nil, err
	}
	port, err := portFor(spec)
	if err != nil {
		return nil, err
	}
	what, err := ordersFor(spec, port, o)
	if err != nil {
		return nil, err
	}
	out, err := openOutput(o.Log, o.Redact, o.Said)
	if err != nil {
		return nil, err
	}
	out.head(spec.Commands()[0])
	began := time.Now()
	running, err := supervise(o.Supervisor, what, out)
	if err != nil {
		return nil, fmt.Errorf("starting the service's supervisor: %w", err)
	}
	s.child = running
	if err := s.comeUp(ctx, spec, running, port); err != nil {
		var left *Left // what else there is to say of it is said
		if errors.As(running.stop(ctx), &left) {
			err = fmt.Errorf("%w; %w", err, left)
		}
		return nil, err
	}
	took := time.Since(began)
	s.facts["service_started_in_s"] = strconv.FormatFloat(took.Seconds(), 'f', 1, 64)
	s.facts["service_command"] = spec.Commands()[0]
	o.Note(fmt.Sprintf("the service is up at %s after %v (process %d)", safe(s.URLs[0]), took.Round(100*time.Millisecond), running.group))
	if !adopts {
		o.Note("on this system a process that leaves the service's process group is not found when the service is ended")
	}
	return s, nil
}

// comeUp waits until the service answers, for no longer than its time.
func (s *Service) comeUp(ctx context.Context, spec *schema.Process, running *supervised, port string) error {
	limit := time.Duration(spec.Ready.Timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	waiting := running.started
	if spec.Start != nil {
		waiting = running.back
	}
	why := "its command did not return"
	select {
	case <-waiting:
		base, err := baseOf(spec, port, running.returned)
		if err != nil {
			return err
		}
		s.URLs = []string{base}
		if why = s.awaitAnswer(ctx, spec.Ready.Path, running.over()); why == "" {
			return nil
		}
	case <-running.over():
	case <-ctx.Done():
	}
	switch err := running.ended(); {
	case err != nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err := fmt.Errorf("it was not ready after %v: %s", limit, why)
		if said := running.command.String(); said != "" {
			err = fmt.Errorf("%w; it wrote last: %s", err, said)
		}
		return err
	}
	return fmt.Errorf("waiting for it to be ready: %w", context.Cause(ctx))
}

// portFor is the port that the service is to listen at.
func portFor(spec *schema.Process) (string, error) {
	at := "127.0.0.1:0"
	if spec.Port != nil {
		at = fmt.Sprintf("127.0.0.1:%d", *spec.Port)
	}
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return "", fmt.Errorf("%s is taken, or may not be used: set another service.process.port, or leave it out for a free one (%w)", at, err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}

// ordersFor is what a supervisor is told to start.
func ordersFor(spec *schema.Process, port string, o Options) (orders, error) {
	environ, err := environFor(spec, port, o)
	if err != nil {
		return orders{}, err
	}
	what := orders{Returns: spec.Start != nil, Env: environ, Signal: spec.Stop.Signal, Grace: int64(spec.Stop.Grace)}
	for _, one := range []struct {
		into  *line
		words []string
	}{{&what.Command, spec.Line()}, {&what.Log, spec.Log}, {&what.Stop, spec.Stop.Command}} {
		if len(one.words) == 0 {
			continue
		}
		if one.into.Path, err = exec.LookPath(one.words[0]); err != nil {
			return orders{}, fmt.Errorf("looking for the command %s: %w", one.words[0], errors.Unwrap(err))
		}
		for _, word := range one.words {
			one.into.Words = append(one.into.Words, strings.ReplaceAll(word, schema.PortPlace, port))
		}
	}
	return what, nil
}

// EnvOf reads the environment that the commands of a service have: lookupEnv's, and over it what the specification names.
func EnvOf(spec schema.Service, lookupEnv func(string) (string, bool)) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if spec.Process == nil {
			return lookupEnv(name)
		}
		variable, named := spec.Process.Env[name]
		switch {
		case !named:
			return lookupEnv(name)
		case variable.Env != "":
			return lookupEnv(variable.Env)
		}
		return variable.Value, true
	}
}

// environFor is the environment of the service's commands: sweetspot's own, and over it what the specification names.
func environFor(spec *schema.Process, port string, o Options) ([]string, error) {
	environ := slices.Clone(o.Environ)
	for name, variable := range spec.Env {
		value := strings.ReplaceAll(variable.Value, schema.PortPlace, port)
		if variable.Env != "" {
			found := false
			if value, found = o.LookupEnv(variable.Env); !found {
				return nil, fmt.Errorf("environment variable %s, which service.process.env.%s names, is not set", variable.Env, name)
			}
		}
		environ = slices.DeleteFunc(environ, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		environ = append(environ, name+"="+value)
	}
	slices.Sort(environ)
	return environ, nil
}

// baseOf is the base of the service's API. returned is what the command wrote that brought it up.
func baseOf(spec *schema.Process, port, returned string) (string, error) {
	match := ""
	if spec.URLPattern != "" {
		pattern, err := regexp.Compile(spec.URLPattern)
		if err != nil {
			return "", fmt.Errorf("reading service.process.url_pattern: %w", err)
		}
		found := pattern.FindStringSubmatch(returned)
		if found == nil {
			return "", fmt.Errorf("service.process.url_pattern %q is not in what its command wrote, which ends with %q", spec.URLPattern, lastLine(returned))
		}
		match = found[min(1, len(found)-1)]
	}
	base := strings.NewReplacer(schema.PortPlace, port, schema.MatchPlace, match).Replace(spec.Base())
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", fmt.Errorf("its URL is to begin with http:// or https:// and a host, and is %q", safe(base))
	}
	return strings.TrimRight(base, "/"), nil
}
