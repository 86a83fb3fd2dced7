package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// world is what a plan is carried out against in tests: it writes down what happens, and fails where it is told to.
type world struct {
	log  []string
	stop chan struct{}

	start     func(schema.Service) error
	stopFault error // of every stop
	preflight func(Job) (Preflight, error)
	measure   func(Job, func(*measure.Record)) (measure.Outcome, error) // nil: driven
}

func newWorld() *world { return &world{stop: make(chan struct{})} }

func (w *world) happened(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

type fakeService struct {
	*world
	url string
}

func (s fakeService) Stop(context.Context) error {
	s.happened("stop %s", s.url)
	return s.stopFault
}

func (s fakeService) Err() error            { return nil }
func (s fakeService) Over() <-chan struct{} { return nil }

func (w *world) deps() Deps {
	return Deps{
		StartService: func(_ context.Context, service schema.Service) (Service, error) {
			w.happened("start %s", service.Endpoint.URL)
			if w.start != nil {
				if err := w.start(service); err != nil {
					return nil, err
				}
			}
			return fakeService{w, service.Endpoint.URL}, nil
		},
		Preflight: func(_ context.Context, _ Service, job Job) (Preflight, error) {
			w.happened("preflight %s", job.TrialName)
			if w.preflight != nil {
				return w.preflight(job)
			}
			return Preflight{Facts: results.Facts{"version": "0.32.0"}}, nil
		},
		Measure: func(_ context.Context, _ Service, job Job, _ <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error) {
			w.happened("measure %s c=%d repeat %d attempt %d", job.TrialName, *job.Load.Concurrency, job.Repeat, job.Attempt)
			if w.measure != nil {
				return w.measure(job, ended)
			}
			return driven(job, ended), nil
		},
		Stop: w.stop, Clock: clock.New(), ToolVersion: "0.1.0",
	}
}

// driven is what a service gives whose time to first token is 125 ms per request in flight and which takes 1.5 s for the 16 tokens after it: as many
// requests as the job asks for, in waves two seconds apart. All figures are exact in binary, so that they are the same on every processor.
func driven(job Job, ended func(*measure.Record)) measure.Outcome {
	slots := job.Load.Slots()
	o := measure.Outcome{Started: 1e9, Target: slots, TargetSessions: slots, Health: measure.Health{LagP99: ptr(0.125e-3)}}
	for i := range *job.Requests {
		at := clock.Instant(1e9 + i/slots*2e9)
		first := 125e6 * slots
		last := first + 15e8
		r := measure.Record{Index: i, Session: i, Lane: i % slots, Phase: measure.Measured, Status: measure.OK, Scheduled: at, Dispatched: at,
			FirstToken: at + clock.Instant(first), LastToken: at + clock.Instant(last), Ended: at + 2e9,
			OutputTokens: ptr(int64(17)), PromptTokens: ptr(int64(8)), RequestedPromptTokens: ptr(int64(8)), TokenSource: ptr(measure.FromServer), Chunks: []int64{first, last}}
		o.Records = append(o.Records, r)
		o.Sessions = append(o.Sessions, measure.Span{Start: at, End: r.Ended})
		o.Finished = r.Ended
	}
	for i := range o.Records {
		ended(&o.Records[i])
	}
	return o
}

// begin makes a run of the preset in a store of its own.
func begin(t testing.TB, preset *schema.Preset, store string) (*Plan, *results.Writer) {
	t.Helper()
	plan, err := NewPlan(preset)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := NewManifest(preset, plan, results.Given{Filename: "chat.yaml", Text: "name: chat\n"}, schema.RedactText)
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Create(store, manifest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return plan, run
}

func newRun(t testing.TB, preset *schema.Preset) (*Plan, *results.Writer) {
	t.Helper()
	return begin(t, preset, filepath.Join(t.TempDir(), "store"))
}

func resume(t testing.TB, dir string) *results.Writer {
	t.Helper()
	run, err := results.Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}

// execute carries a plan out and wants it to end with a status.
func execute(t *testing.T, plan *Plan, run *results.Writer, deps Deps, want results.Status) {
	t.Helper()
	got, err := Execute(t.Context(), plan, run, deps)
	if err != nil || got != want {
		t.Errorf("the run ended %s, %v; want %s", got, err, want)
	}
	opened, err := results.Open(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	manifest := opened.Manifest()
	if last := manifest.Executions[len(manifest.Executions)-1]; opened.Status() != want || last.Status != want || last.EndedAt == nil {
		t.Errorf("the manifest says %s and of the execution %+v", opened.Status(), last)
	}
}

// document judges a run and wants all its files whole.
func document(t *testing.T, run *results.Run) *Document {
	t.Helper()
	d, broken, err := Read(run, nil)
	if err != nil || len(broken) > 0 {
		t.Fatal(err, broken)
	}
	return d
}

// kept are the measurements with a row, each with its status, in the order of the plan.
func kept(t *testing.T, plan *Plan, run *results.Run) (lines []string) {
	t.Helper()
	rows, broken := run.Points()
	if len(broken) > 0 {
		t.Fatal(broken)
	}
	for i := range plan.Trials {
		for _, job := range plan.Jobs(&plan.Trials[i]) {
			at := slices.IndexFunc(rows, func(row measure.Point) bool { return results.MeasurementOf(row.Keys).Of() == job.of() })
			if at < 0 {
				continue
			}
			line := fmt.Sprintf("%s c=%d repeat %d attempt %d %s", job.TrialName, *job.Load.Concurrency, job.Repeat, rows[at].Attempt, rows[at].Status)
			if rows[at].Reason != nil {
				line += ": " + *rows[at].Reason
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// once is a function that does nothing from the second call on.
func once(do func()) func() {
	var o sync.Once
	return func() { o.Do(do) }
}
