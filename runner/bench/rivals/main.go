//go:build linux

// Command rivals prints how sweetspot and other load generators do against the simulated service: the whole commands, each as a process of its
// own against a service of its own, in turn, so many rounds, and the medians. What a tool says is held against the service's log. It is for
// docs/performance.md, and needs the tools installed: see `.ci/python`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sweetspot/runner/bench"
	"sweetspot/runner/service"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

func main() { os.Exit(bench.Main("rivals", os.Args[1:], os.Stdin, os.Stdout, os.Stderr, compare)) }

func compare(ctx context.Context, self, args []string) error {
	var p places
	flags := flag.NewFlagSet("rivals", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often each tool runs")
	cases := flags.String("cases", "500x20,2000x20", "cases of package bench to run")
	names := flags.String("tools", "sweetspot,vllm,aiperf,guidellm", "tools to run")
	flags.StringVar(&p.sweetspot, "sweetspot", "sweetspot", "the command")
	flags.StringVar(&p.vllm, "vllm", "", "folder that `.ci/python vllm` prints; its tokenizer serves the others too")
	flags.StringVar(&p.aiperf, "aiperf", "", "folder that `.ci/python aiperf` prints")
	flags.StringVar(&p.guidellm, "guidellm", "", "folder that `.ci/python guidellm` prints")
	keep := flags.String("keep", "", "folder for what the tools write; empty: it is not kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := comparison{self: self, rounds: *rounds, keep: *keep, out: os.Stdout}
	for _, t := range p.tools() {
		if slices.Contains(strings.Split(*names, ","), t.name) {
			c.tools = append(c.tools, t)
		}
	}
	fmt.Fprint(c.out, header)
	for _, load := range bench.Cases() {
		if slices.Contains(strings.Split(*cases, ","), load.Name()) {
			if err := c.load(ctx, load); err != nil {
				return fmt.Errorf("%s: %w", load.Name(), err)
			}
		}
	}
	return nil
}

type comparison struct {
	self   []string
	tools  []tool
	rounds int
	keep   string
	out    io.Writer
}

// load runs every tool so many rounds. What a tool takes for two requests, one after the other, is its idle cost.
func (c comparison) load(ctx context.Context, load bench.Load) error {
	one := load
	one.Streams, one.Requests = 1, 2
	idle, results := map[string]result{}, map[string][]result{}
	for round := range c.rounds {
		for _, t := range c.tools {
			if round == 0 {
				r, err := c.measure(ctx, t, one)
				if err != nil {
					return fmt.Errorf("two requests: %w", err)
				}
				idle[t.name] = r
			}
			r, err := c.measure(ctx, t, load)
			if err != nil {
				return err
			}
			results[t.name] = append(results[t.name], r)
		}
		floor, err := bench.Measure(ctx, bench.Config{Tool: bench.Reader, Load: load, Self: c.self})
		if err != nil {
			return err
		}
		results[bench.Reader] = append(results[bench.Reader], floorResult(floor))
	}
	floor := median(results[bench.Reader])
	fmt.Fprint(c.out, row(load, bench.Reader, floor, result{}, floor))
	for _, t := range c.tools {
		fmt.Fprint(c.out, row(load, t.name, median(results[t.name]), idle[t.name], floor))
	}
	return nil
}

// measure runs a tool once against a service of its own.
func (c comparison) measure(ctx context.Context, t tool, load bench.Load) (r result, err error) {
	dir, err := os.MkdirTemp(c.keep, "rivals-"+t.name+"-")
	if err != nil {
		return result{}, err
	}
	if c.keep == "" {
		defer func() {
			if err == nil {
				err = os.RemoveAll(dir)
			}
		}()
	}
	log := filepath.Join(dir, "truth.jsonl")
	paced := &simulator.Paced{FirstToken: load.FirstToken, Interval: load.Interval, Tokens: int(load.Tokens)}
	s, err := service.Start(ctx, schema.Service{Simulator: &schema.Simulator{Profile: "large-gpu"}}, service.Options{
		Model: modelName, Self: append(slices.Clone(c.self), "service"), Paced: paced, Truth: log,
	})
	if err != nil {
		return result{}, err
	}
	u, says, err := t.run(ctx, job{strings.TrimSuffix(s.URLs[0], "/v1"), dir, load})
	if err := errors.Join(err, s.Stop(ctx)); err != nil {
		return result{}, err
	}
	held, err := readTruth(log, load.Streams)
	if err != nil {
		return result{}, fmt.Errorf("holding %s against the service's log: %w", t.name, err)
	}
	return resultOf(u, says, held), nil
}

func (t tool) run(ctx context.Context, j job) (used, said, error) {
	argv, env, err := t.command(j)
	if err != nil {
		return used{}, said{}, err
	}
	u, err := runWhole(ctx, j.dir, argv, env)
	var exit *exec.ExitError
	if judged := t.judges && errors.As(err, &exit) && exit.ExitCode() == 1; err != nil && !judged {
		return used{}, said{}, err
	}
	says, err := t.read(j.dir)
	return u, says, err
}

func readTruth(path string, streams int64) (truth, error) {
	file, err := os.Open(path)
	if err != nil {
		return truth{}, err
	}
	defer file.Close()
	log, err := simulator.ReadLog(file)
	if err != nil {
		return truth{}, err
	}
	return truthOf(log, streams)
}
