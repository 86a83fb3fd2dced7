package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// childConfig is what the child is told, as JSON on its standard input.
type childConfig struct {
	Model     string           `json:"model"`
	Simulator schema.Simulator `json:"simulator"`
	Paced     *simulator.Paced `json:"paced,omitempty"`
	Truth     string           `json:"truth,omitempty"`
}

// childReady is what it answers, as one line of JSON on its standard output.
type childReady struct {
	URL string `json:"url"`
}

// readyTimeout bounds the wait for a child to be ready: it has nothing to load.
const readyTimeout = 20 * time.Second

// ServeChild is the simulated service as a child process: it reads its configuration from stdin, listens on a free port of the loopback
// interface, writes its URL to stdout, and serves until stdin ends or ctx does. So it ends with the process that holds the other end of stdin,
// even where that one is killed. Reading stdin goes on until stdin ends.
func ServeChild(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	input := json.NewDecoder(stdin)
	var config childConfig
	if err := input.Decode(&config); err != nil {
		return fmt.Errorf("reading the simulated service's configuration: %w", err)
	}
	options := simulator.Options{Model: config.Model, Clock: clock.New(), Paced: config.Paced}
	if config.Truth != "" {
		truth, err := os.OpenFile(config.Truth, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("making the simulated service's log: %w", err)
		}
		defer func() { err = errors.Join(err, truth.Close()) }()
		options.Log = truth
	}
	server, err := simulator.New(config.Simulator, options)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, server.Close())
	}
	ready, err := json.Marshal(childReady{URL: "http://" + listener.Addr().String() + "/v1"})
	if err == nil {
		_, err = stdout.Write(append(ready, '\n'))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the simulated service's URL: %w", err), listener.Close(), server.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, stdin)
	}()
	return server.Serve(ctx, listener)
}

// The waits of a simulated service's end.
const (
	childGrace = 4 * time.Second
	childHaste = time.Second
)

// startChild starts self as a simulated service and waits until it is ready.
func startChild(ctx context.Context, config childConfig, self []string, out *output) (*process, string, error) {
	first := make(chan []byte, 1)
	told := false
	stdout := &lines{each: func(line []byte) {
		if !told {
			told = true
			first <- line
			return
		}
		_, _ = out.Write(append(line, '\n'))
	}}
	child, err := newProcess(self, out, stdout)
	if err == nil {
		child.grace, child.haste = childGrace, childHaste
		err = child.start()
	}
	if err != nil {
		out.close()
		return nil, "", err
	}
	written := child.tell(config)
	url, err := awaitReady(ctx, child, first)
	if err != nil {
		_ = child.stop(ctx)
		<-written // the child has ended, and with it the pipe
		return nil, "", err
	}
	if err := <-written; err != nil {
		return nil, "", errors.Join(fmt.Errorf("telling the child its configuration: %w", err), child.stop(ctx))
	}
	return child, url, nil
}

// tell writes what as JSON to the child's standard input. What comes of it is sent to the channel, once: at the latest when the child has ended.
func (p *process) tell(what any) <-chan error {
	told := make(chan error, 1)
	go func() { told <- json.NewEncoder(p.stdin).Encode(what) }()
	return told
}

func awaitReady(ctx context.Context, child *process, line <-chan []byte) (string, error) {
	timer := time.NewTimer(readyTimeout)
	defer timer.Stop()
	select {
	case text := <-line:
		var ready childReady
		if err := json.Unmarshal(text, &ready); err != nil || ready.URL == "" {
			return "", fmt.Errorf("%s wrote %q in the place of its URL", child.command.Path, text)
		}
		return ready.URL, nil
	case <-child.done:
		return "", child.death()
	case <-timer.C:
		return "", fmt.Errorf("process %d was not ready after %v: %s", child.pid(), readyTimeout, child.output)
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for process %d to be ready: %w", child.pid(), context.Cause(ctx))
	}
}
