package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/presets"
	"sweetspot/runner"
	"sweetspot/runner/clock"
	"sweetspot/runner/service"
	"sweetspot/schema"
)

// runCmd drives a preset.
type runCmd struct {
	presetArgs
	storeFlag
	requireFlag
	yesFlag
	Resume *string `placeholder:"RUN" help:"Run what is not complete in that run of the same preset, given with the same changes."`
	Quiet  bool    `short:"q" help:"No progress."`
	JSON   bool    `help:"Print the result as JSON."`
	Strict bool    `help:"Exit with 3 if the winner does not meet the limits."`
}

// Help is the command's manual.
func (runCmd) Help() string {
	return `Each trial's points are driven one after the other, each drained before the next; a point that fails is kept with its reason and the run goes on.
Results are stored below the store as they come. The first interrupt ends the point after what is in flight, and stores it; the second ends at once.

Exit codes: 0; 1 a point is incomplete or has no ok request, there is no winner, or a service may not be down; 2 usage, or an invalid preset;
3 a --require is not met, or with --strict, the winner does not meet the limits; 130 interrupted.

A preset can have sweetspot start commands with your rights (service: process; validate and plan show them) and send requests anywhere, with the
values of environment variables that it names: read one from elsewhere as you would a Makefile.`
}

// Run is the command.
func (c *runCmd) Run(ctx context.Context, p *process) error {
	requirements, err := c.requireFlag.read()
	if err != nil {
		return err
	}
	preset, text, err := c.presetArgs.read(p)
	if err != nil {
		return err
	}
	plan, err := planOf(preset)
	if err != nil {
		return err
	}
	secrets, err := secretsOf(p, preset)
	if err != nil {
		return exit{exitUsage, err}
	}
	writer, err := c.open(p, preset, plan, text, secrets)
	if err != nil {
		return err
	}
	document, err := c.drive(ctx, p, plan, writer, secrets)
	if err := errors.Join(err, writer.Close()); err != nil {
		return err
	}
	document.Require(requirements)
	if err := p.printResult(document, c.JSON); err != nil {
		return err
	}
	return leftExit(verdictExit(document, c.Strict), writer.Manifest().Executions)
}

// leftExit is the error of a command of whose services something may be left, which a script must see: it may go on costing money. An interrupt counts more.
func leftExit(err error, executions []results.Execution) error {
	left := executions[len(executions)-1].Left
	var e exit
	if len(left) == 0 || errors.As(err, &e) && e.code == exitInterrupted {
		return err
	}
	return exit{exitFailed, fmt.Errorf("something of a service may be left, which may go on costing money: %s", strings.Join(left, "; "))}
}

// secretsOf are what must not reach any text: the values that the preset names, and what of the environment its commands inherit.
func secretsOf(p *process, preset *schema.Preset) (service.Secrets, error) {
	sent, passed := pipeline.Environment(preset)
	secrets, err := service.NewSecrets(sent, passed, p.lookupEnv)
	if err == nil && pipeline.StartsCommands(preset) {
		secrets = secrets.Inheriting(p.environ())
	}
	return secrets, err
}

// open makes the run's directory, or takes up that of an earlier run of the same plan.
func (c *runCmd) open(p *process, preset *schema.Preset, plan *pipeline.Plan, text []byte, secrets service.Secrets) (*results.Writer, error) {
	if c.Resume == nil {
		sources, err := c.bring(p, preset.Previous, plan)
		if err != nil {
			return nil, err
		}
		given := results.Given{Filename: filepath.Base(c.File), Text: string(text), Overrides: c.overrides()}
		manifest, err := pipeline.NewManifest(preset, plan, given, secrets.Redact)
		if err != nil {
			return nil, err
		}
		if err := c.mayTakeName(p, preset.Name); err != nil {
			return nil, err
		}
		writer, err := results.Create(c.Store, manifest)
		if err != nil {
			return nil, err
		}
		return copyPrevious(writer, plan, func(id string) (*results.Run, error) { return sources[id], nil })
	}
	run, err := c.find(p, *c.Resume)
	if err != nil {
		return nil, err
	}
	earlier, err := pipeline.PlanOf(run)
	if err != nil {
		return nil, err
	}
	if err := pipeline.SamePlan(earlier, plan); err != nil {
		if flags := run.Manifest().Given.Overrides; len(flags) > 0 {
			err = fmt.Errorf("%w (it was begun with --set %s)", err, strings.Join(flags, " --set "))
		}
		return nil, exit{exitUsage, fmt.Errorf("resuming run %s: %w", run.ID(), err)}
	}
	plan.Previous = earlier.Previous
	writer, err := results.Resume(run.Dir())
	if err != nil {
		return nil, err
	}
	return copyPrevious(writer, plan, func(id string) (*results.Run, error) { return c.find(p, id) })
}

// bring adds the trials of the earlier runs that the preset names to the plan, and gives those runs by their ids.
func (c *runCmd) bring(p *process, previous []string, plan *pipeline.Plan) (map[string]*results.Run, error) {
	sources := map[string]*results.Run{}
	for _, name := range previous {
		run, err := c.find(p, name)
		if err != nil {
			return nil, err
		}
		if err := plan.Bring(run); err != nil {
			return nil, exit{exitUsage, err}
		}
		sources[run.ID()] = run
	}
	return sources, nil
}

// copyPrevious copies what the plan has of earlier runs. A run into which they can't be copied does not begin.
func copyPrevious(to *results.Writer, plan *pipeline.Plan, open func(id string) (*results.Run, error)) (*results.Writer, error) {
	if err := pipeline.CopyPrevious(to, plan, open); err != nil {
		failed := to.Update(func(m *results.Manifest) { m.Status = results.Failed })
		return nil, errors.Join(err, failed, to.Close())
	}
	return to, nil
}

// mayTakeName asks before a new run takes a name that a person gave to another run. A name that came from a preset moves on to its newest run unasked: nothing of the
// earlier ones is lost, and running a preset again is what people do all day.
func (c *runCmd) mayTakeName(p *process, name string) error {
	entries, _, err := results.Entries(c.Store) // what can't be read has no name to lose
	if err != nil {
		return err
	}
	bearer := results.Bearer(entries, name)
	if bearer == nil || bearer.NamedAt == nil {
		return nil
	}
	return c.ask(p, fmt.Sprintf("the name %s was given to run %s with preset rename; shall it mean the new run", name, bearer.RunID))
}

func (c *runCmd) drive(ctx context.Context, p *process, plan *pipeline.Plan, writer *results.Writer, secrets service.Secrets) (*pipeline.Document, error) {
	ctx, interrupted, done := p.untilInterrupted(ctx)
	defer done()
	d := &drive{process: p, plan: plan, run: writer, secrets: secrets, clock: clock.New(), files: c.files(p), live: &runner.Live{}}
	shown := c.progress(p, d)
	defer d.close()
	p.warnBeyond(c.Store, d.mostAsked())
	_, err := pipeline.Execute(ctx, plan, writer, d.deps(shown.observe, interrupted))
	shown.close()
	if err != nil {
		return nil, err
	}
	stamp := writer.Stamp()
	document, broken, err := pipeline.Read(writer.Run, nil)
	p.warn(broken)
	if err == nil && len(broken) == 0 {
		_ = presets.Keep(writer.Run, stamp, document) // without it, listings read the tables
	}
	return document, err
}

func (c *runCmd) progress(p *process, d *drive) progress {
	switch {
	case c.Quiet:
		return quiet{}
	case p.isTerminal():
		return newTerminal(p.stderr, func() string { return d.standing(p.width()) }, p.width())
	}
	return newPlain(p.stderr, func() string { return d.standing(p.width()) })
}

// untilInterrupted gives a channel that is closed at the first interrupt and a context that ends at the second. done must be called.
func (p *process) untilInterrupted(ctx context.Context) (_ context.Context, interrupted <-chan struct{}, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	first, told := make(chan struct{}), make(chan os.Signal, 2)
	p.notify(told)
	go func() {
		select {
		case <-told:
			fmt.Fprintln(p.stderr, "sweetspot: interrupted: ending what is in flight; once more to end at once")
			close(first)
		case <-ctx.Done():
			return
		}
		select {
		case <-told:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, first, cancel
}
