package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/service"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// simulateCmd serves the simulated service.
type simulateCmd struct {
	Listen  string `default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Address to listen at (${default}); port 0 takes a free one."`
	Model   string `default:"simulated" help:"Name of the model that is served (${default})."`
	Profile string `default:"small-gpu" help:"What is simulated: ${profiles}."`
	Seed    int64  `help:"Seed of the answers' text and of faults."`

	MaxNumSeqs *int64 `placeholder:"N" help:"Most requests in one batch; the profile's where it is left out."`

	Truth string `placeholder:"FILE" help:"Write what was read and written, and when, to a new file, as JSON lines."`

	PacedFirst    time.Duration `placeholder:"TIME" help:"Answer at a fixed rate in the place of the model, whatever the load: the first token after this time. For benchmarks of clients."`
	PacedInterval time.Duration `placeholder:"TIME" help:"With --paced-first: then one token every such time."`

	Child bool `hidden:"" help:"Be configured on standard input, and end with it."`
}

// Run is the command.
func (c *simulateCmd) Run(ctx context.Context, p *process) error {
	if c.Child {
		return service.ServeChild(ctx, p.stdin, p.stdout)
	}
	options := simulator.Options{Model: c.Model, Clock: clock.New()}
	if c.PacedFirst > 0 {
		options.Paced = &simulator.Paced{FirstToken: c.PacedFirst, Interval: c.PacedInterval}
	}
	if c.Truth != "" {
		file, err := os.OpenFile(c.Truth, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("making the log: %w", err)
		}
		defer file.Close()
		options.Log = file
	}
	server, err := simulator.New(schema.Simulator{Profile: c.Profile, Seed: c.Seed, MaxNumSeqs: c.MaxNumSeqs}, options)
	if err != nil {
		return exit{exitUsage, err}
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Fprintf(p.stdout, "the simulated service (profile %s) serves model %s at http://%s/v1; interrupt to end it\n", c.Profile, c.Model, listener.Addr())
	ctx, interrupted, done := p.untilInterrupted(ctx)
	defer done()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-interrupted:
			stop()
		case <-serving.Done():
		}
	}()
	return server.Serve(serving, listener)
}

// profileNames lists what can be simulated.
func profileNames() string {
	var names []string
	for _, profile := range simulator.Profiles() {
		names = append(names, profile.Name)
	}
	return strings.Join(names, ", ")
}
