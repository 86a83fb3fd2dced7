// Command sweetspot finds how hard to drive a GPU service that serves language models.
//
// It reads a preset, drives every point of it against the service, stores what it measured, and selects for each trial the point with the
// highest output throughput whose time to first token meets the limit. This package is the command line alone: each command loads, calls one
// library function and prints. The work is in packages schema, pipeline, runner and selector.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"sweetspot/pipeline/results"
	"sweetspot/runner/heap"
	"sweetspot/schema"
)

// version is the tool's own; results keep it.
const version = "0.1.0"

// cli is the command tree.
type cli struct {
	Run       runCmd       `cmd:"" help:"Drive every point of a preset, store the results and choose a winner."`
	Init      initCmd      `cmd:"" help:"Write a preset to start from."`
	Validate  validateCmd  `cmd:"" help:"Check a preset; nothing is started."`
	Workload  workloadCmd  `cmd:"" help:"Describe what a preset or a trace asks; nothing is started."`
	Plan      planCmd      `cmd:"" help:"Show the trials and points of a preset; nothing is started."`
	Show      showCmd      `cmd:"" help:"Show a stored run with the rule that it was run with."`
	Select    selectCmd    `cmd:"" help:"Choose again from a stored run with another rule; nothing is started."`
	Report    reportCmd    `cmd:"" help:"Write stored runs as one HTML page."`
	Export    exportCmd    `cmd:"" help:"Write tables of stored runs for other tools, or a notebook."`
	Compare   compareCmd   `cmd:"" help:"Hold runs or trials against each other; nothing is started."`
	Check     checkCmd     `cmd:"" help:"Say whether stored runs are whole, and what is still to be measured; nothing is changed."`
	Preset    presetCmd    `cmd:"" help:"List, show, rename, delete and import presets that were run."`
	Schema    schemaCmd    `cmd:"" help:"Print the specification of presets."`
	Simulate  simulateCmd  `cmd:"" help:"Serve the simulated GPU service, for any OpenAI client."`
	Calibrate calibrateCmd `cmd:"" help:"Measure up to which load this machine can be trusted as a client."`

	Supervise superviseCmd `cmd:"" hidden:"" help:"Own a service that run starts."`
	Evaluate  evaluateCmd  `cmd:"" hidden:"" help:"Evaluate a CUE file within bounds."`

	Version kong.VersionFlag `help:"Print the version."`
}

// The exit codes. docs/reference/exit-codes.md is their manual.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInfeasible  = 3
	exitInterrupted = 130
)

// process is what a command may touch of the process it runs in.
type process struct {
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
	lookupEnv  func(name string) (string, bool)
	environ    func() []string // NAME=VALUE: what a service that is started inherits
	executable func() (string, error)
	notify     func(chan<- os.Signal) // has interrupts told to the channel, in the place of their ending the process
}

func main() {
	heap.Start()
	log.SetOutput(io.Discard) // net/http writes of odd responses there; what matters of them is in the results
	os.Exit(run(os.Args[1:], &process{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, environ: os.Environ,
		executable: os.Executable,
		notify:     func(told chan<- os.Signal) { signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) },
	}))
}

// exit is an error that carries an exit code. Its text, when it has one, has not been printed yet.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// run parses args, runs the command they name and gives the process's exit code. A command that could not print what it has to say has failed.
func run(args []string, p *process) int {
	told := *p
	out := &checked{to: p.stdout}
	told.stdout = out
	code, err := codeOf(told.run(args))
	told.tell(err)
	if err != nil && !out.begun && asksJSON(args) {
		_ = printJSON(out, failure{results.SchemaVersion, code, err.Error()}) // out knows what could not be written
	}
	return out.exit(code, p.stderr)
}

func (p *process) run(args []string) error {
	left := false
	parser, err := kong.New(&cli{},
		kong.Name("sweetspot"),
		kong.Description("Finds how hard to drive a GPU service that serves language models."),
		kong.Vars{"version": "sweetspot " + version, "profiles": profileNames(), "importFormats": importFormats()},
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { left = true }), // --help and --version have printed; what Parse says after that is of no interest
		kong.UsageOnError(),
		kong.Bind(p),
	)
	if err != nil {
		panic(err) // a fault of the command tree, found by any test
	}
	parsed, err := parser.Parse(args)
	if left {
		return nil
	}
	if err != nil {
		return exit{exitUsage, fmt.Errorf("%w\nRun \"sweetspot --help\", or \"sweetspot COMMAND --help\", for what there is", err)}
	}
	parsed.BindTo(context.Background(), (*context.Context)(nil))
	return parsed.Run()
}

// codeOf is the exit code of a command that ended with err, 1 for an error that names none, and what is to be said of it.
func codeOf(err error) (int, error) {
	var e exit
	switch {
	case err == nil:
		return exitOK, nil
	case errors.As(err, &e):
		return e.code, e.err
	}
	return exitFailed, err
}

// tell says an error; the faults of a preset, each of which has its place, are a line each.
func (p *process) tell(err error) {
	var problems schema.Problems
	switch {
	case errors.As(err, &problems):
		fmt.Fprintln(p.stderr, problems.Error())
	case err != nil:
		fmt.Fprintf(p.stderr, "sweetspot: %s\n", schema.PrintableLines(err.Error()))
	}
}

// failure is what a command with --json prints where it ends without a document of its own.
type failure struct {
	SchemaVersion int    `json:"schema_version"`
	ExitCode      int    `json:"exit_code"`
	Error         string `json:"error"` // as standard error has it
}

// asksJSON reports whether args ask for JSON, also where they can't be parsed.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}
