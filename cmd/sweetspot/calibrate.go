package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"sweetspot/runner/bench"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// calibrateCmd measures this machine as a client.
type calibrateCmd struct {
	storeFlag
	Streams string  `default:"1,8,64,512,4096" placeholder:"SWEEP" help:"Requests in flight at each level (${default})."`
	Seconds float64 `default:"3" placeholder:"N" help:"How long each level is measured, after a second to bring it up (${default})."`
	JSON    bool    `help:"Print the calibration as JSON."`
}

// Help is the command's manual.
func (calibrateCmd) Help() string {
	return `Drives the simulated service, as a process of its own on this machine, at 20 events a second for each request in flight, and holds this client's
stamps against the service's own log: how late first tokens and all events are stamped, what an event costs in CPU time and a request in flight in memory.
A level can be trusted to the millisecond where 99 of 100 first tokens are stamped within 1 ms, and to 5 ms where they and all other events are within
5 ms and a sleeping goroutine is run within 5 ms.

The calibration is stored as calibration.json in the store.`
}

// Run is the command.
func (c *calibrateCmd) Run(ctx context.Context, p *process) error {
	levels, err := schema.ParseSweep(c.Streams)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--streams %w", err)}
	}
	if !(c.Seconds > 0) || c.Seconds > math.MaxInt32 {
		return exit{exitUsage, fmt.Errorf("--seconds must be above 0, not %v", c.Seconds)}
	}
	self, err := p.executable()
	if err != nil {
		return fmt.Errorf("finding this program, which simulates the service: %w", err)
	}
	ctx, stop := p.endedByInterrupt(ctx)
	defer stop()
	calibration, err := bench.Calibrate(ctx, bench.CalibrateConfig{
		Streams: levels, Duration: time.Duration(c.Seconds * float64(time.Second)), Self: []string{self, "simulate", "--child"}, ToolVersion: version,
		Progress: func(l bench.Level) { fmt.Fprintf(p.stderr, "%d streams: measured\n", l.Streams) },
	})
	if ctx.Err() != nil {
		return exit{exitInterrupted, errors.New("interrupted: nothing is stored")}
	}
	if err != nil {
		return err
	}
	path, err := calibration.Save(c.Store)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "stored in %s\n", path)
	if c.JSON {
		return printJSON(p.stdout, calibration)
	}
	return p.printCalibration(calibration)
}

// warnBeyond warns of a plan that has more in flight at once than this machine's calibration, where the store has one, says can be trusted.
func (p *process) warnBeyond(store string, mostInFlight int64) {
	calibration, err := bench.ReadCalibration(store)
	switch {
	case err != nil:
		fmt.Fprintf(p.stderr, "sweetspot: left out: %v\n", err)
	case calibration != nil:
		if warning := bench.Beyond(*calibration, mostInFlight); warning != "" {
			fmt.Fprintf(p.stderr, "sweetspot: %s\n", warning)
		}
	}
}

// endedByInterrupt gives a context that ends at the first interrupt. stop must be called.
func (p *process) endedByInterrupt(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	told := make(chan os.Signal, 1)
	p.notify(told)
	go func() {
		select {
		case <-told:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (p *process) printCalibration(c bench.Calibration) error {
	header := []string{"in flight", "requests", "events/s", "CPU/event", "memory each", "first p50", "p99", "events p50", "p99", "sched p99", "within"}
	var rows [][]string
	var failures []string
	for _, l := range c.Levels {
		if l.Error != nil {
			failures = append(failures, fmt.Sprintf("%d in flight: %s", l.Streams, *l.Error))
			continue
		}
		rows = append(rows, []string{fmt.Sprint(l.Streams), fmt.Sprint(l.Requests), format.Number(l.EventsPerSecond), format.Number(1e6*l.CPUPerEvent) + "µs",
			format.Optional(l.BytesPerStream, kibibytes), lag(l.FirstLagP50), lag(l.FirstLagP99), lag(l.ChunkLagP50), lag(l.ChunkLagP99), lag(l.SchedulingP99), grade(l)})
	}
	aligned := []align{right, right, right, right, right, right, right, right, right, right, right}
	if err := printTable(p.stdout, 2, header, aligned, rows); err != nil {
		return err
	}
	for _, failure := range failures {
		fmt.Fprintln(p.stdout, failure)
	}
	fmt.Fprintf(p.stdout, "\n%s\n", wrap(c.Words(), p.width()))
	return nil
}

func lag(seconds *float64) string { return format.Optional(seconds, format.Seconds) }

func kibibytes(bytes float64) string { return format.Number(bytes/1024) + "KiB" }

// grade is what a level can be trusted to.
func grade(l bench.Level) string {
	switch {
	case l.Exact():
		return "1ms"
	case l.Usable():
		return "5ms"
	}
	return format.None
}
