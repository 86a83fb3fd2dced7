package bench

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/service"
)

// The tools that are compared.
const (
	Engine = "engine" // the load engine
	Reader = "reader" // the floor: one goroutine for each socket
	Epoll  = "epoll"  // one thread for all sockets; Linux only
)

// task is what a tool's process is told on its standard input, as JSON.
type task struct {
	Tool      string `json:"tool"`
	URL       string `json:"url"` // base of the service's API
	Load      Load   `json:"load"`
	Exchanges string `json:"exchanges"` // file for what it saw
	Profile   string `json:"profile"`   // file for its CPU profile; empty: none
}

// usage is what it answers on its standard output, as JSON.
type usage struct {
	StartCPU   time.Duration `json:"start_cpu_ns"` // before the load
	CPU        time.Duration `json:"cpu_ns"`       // of the load
	IdleBytes  *int64        `json:"idle_bytes"`
	PeakBytes  *int64        `json:"peak_bytes"`
	GOMAXPROCS int           `json:"gomaxprocs"`
}

// The kinds of process that [child] can be.
const (
	childService = "service"
	childTool    = "tool"
)

// childArgument makes a command one of the processes that it starts.
const childArgument = "child"

// Main runs a command that measures with processes of its own program, and gives its exit code: it is either one of these or compare, to which self is the
// command line of one without its kind.
func Main(name string, args []string, stdin io.Reader, stdout, stderr io.Writer, compare func(ctx context.Context, self, args []string) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	self, err := os.Executable()
	switch {
	case len(args) == 2 && args[0] == childArgument:
		err = child(ctx, args[1], stdin, stdout)
	case err == nil:
		err = compare(ctx, []string{self, childArgument}, args)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// child is one of the processes that [Measure] starts: its command line ends in the kind.
func child(ctx context.Context, kind string, stdin io.Reader, stdout io.Writer) error {
	switch kind {
	case childService:
		return service.ServeChild(ctx, stdin, stdout)
	case childTool:
		var t task
		if err := json.NewDecoder(stdin).Decode(&t); err != nil {
			return fmt.Errorf("reading the task: %w", err)
		}
		used, err := t.run(ctx)
		if err != nil {
			return fmt.Errorf("running %s: %w", t.Tool, err)
		}
		return json.NewEncoder(stdout).Encode(used)
	}
	return fmt.Errorf("there is no process of the kind %q", kind)
}

// run drives the load and stores what the tool saw.
func (t task) run(ctx context.Context) (used usage, err error) {
	stop, err := startProfile(t.Profile)
	if err != nil {
		return usage{}, err
	}
	used.GOMAXPROCS, used.IdleBytes, used.StartCPU = runtime.GOMAXPROCS(0), memory("VmRSS"), clock.Processor()
	finish, err := t.drive(ctx)
	if err != nil {
		return usage{}, errors.Join(err, stop())
	}
	used.CPU, used.PeakBytes = clock.Processor()-used.StartCPU, memory("VmHWM")
	seen, err := finish()
	if err := errors.Join(err, stop()); err != nil {
		return usage{}, err
	}
	return used, writeExchanges(t.Exchanges, seen)
}

// drive runs the tool. The function that it returns gives what the tool saw, at a cost that is not the tool's.
func (t task) drive(ctx context.Context) (func() ([]Exchange, error), error) {
	if t.Tool == Engine {
		outcome, err := runEngine(ctx, t.URL, t.Load)
		return func() ([]Exchange, error) { return exchangesOf(outcome) }, err
	}
	tool := runReader
	if t.Tool == Epoll {
		tool = runEpoll
	}
	base, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	s, err := newScript(base.Host, t.Load)
	if err != nil {
		return nil, err
	}
	seen, err := tool(ctx, s, t.Load)
	return func() ([]Exchange, error) { return seen, nil }, err
}

// startProfile starts a CPU profile; the function that it returns ends it.
func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

func writeExchanges(path string, seen []Exchange) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(file).Encode(seen), file.Close())
}

func readExchanges(path string) ([]Exchange, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var seen []Exchange
	if err := gob.NewDecoder(file).Decode(&seen); err != nil {
		return nil, fmt.Errorf("reading what the tool saw: %w", err)
	}
	return seen, nil
}
