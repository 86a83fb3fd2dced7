package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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

// startChild starts self as a simulated service and waits until it is ready.
func startChild(ctx context.Context, config childConfig, self []string, dir string) (*process, string, error) {
	output, closeLog, err := openOutput(dir)
	if err != nil {
		return nil, "", err
	}
	stdout := &firstLine{line: make(chan []byte, 1), to: output}
	child, err := startProcess(self, output, stdout, closeLog)
	if err != nil {
		closeLog()
		return nil, "", err
	}
	told := make(chan error, 1)
	go func() { told <- json.NewEncoder(child.stdin).Encode(config) }()
	url, err := awaitReady(ctx, child, stdout.line)
	if err != nil {
		_ = child.stop(ctx)
		<-told // the child has ended, and with it the pipe
		return nil, "", err
	}
	if err := <-told; err != nil {
		return nil, "", errors.Join(fmt.Errorf("telling the child its configuration: %w", err), child.stop(ctx))
	}
	return child, url, nil
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

// openOutput opens the file for a child's output in dir, behind what stands there.
func openOutput(dir string) (*tail, func(), error) {
	if dir == "" {
		return &tail{}, func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the folder for the service's output: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "service.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the file for the service's output: %w", err)
	}
	return &tail{to: file}, func() { _ = file.Close() }, nil
}
