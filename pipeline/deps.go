package pipeline

import (
	"context"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Service is what was started for some trials.
type Service interface {
	// Stop ends what was started, and returns when it has ended: at once where its context is done. It does nothing to a service that was already
	// running.
	Stop(context.Context) error
	// Err says that what was started has ended by itself; nil while it runs.
	Err() error
	// Over is closed when what was started has ended; nil where nothing was.
	Over() <-chan struct{}
}

// Preflight is what was learnt of a service before the first point of a trial.
type Preflight struct {
	Facts         results.Facts // what the service reports of itself
	ContextLength *int64        // that the service reports
	GPUs          *schema.GPUs  // that the machine says the service has; nil where it is not certain, or the preset declares some
	RTT           *float64      // time of a round trip to the service, in seconds
	Notes         []string      // for the person, beside the figures
}

// Deps are what a plan is carried out with.
type Deps struct {
	// StartService starts what a trial's points drive and returns when it is ready. Its context ends when the run is stopped.
	StartService func(context.Context, schema.Service) (Service, error)
	// Preflight sends a trial's request on the real path, before its first point: the first job that is to be measured. An error says what to do about it; each point
	// of the trial is then a failed row with that reason.
	Preflight func(context.Context, Service, Job) (Preflight, error)
	// Measure drives one point. It stops early and drains when stop is closed, and ends at once when its context does. Each request that has ended is
	// handed to ended, which does not wait; it is not changed any more. An error is why the point could not be run.
	Measure func(ctx context.Context, service Service, job Job, stop <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error)
	// Stop is closed when the person asks to stop: what is in flight ends, what there is is written, and nothing new is begun.
	Stop <-chan struct{}
	// Redact takes secrets out of what is stored and observed; nil: [schema.RedactText].
	Redact func(string) string
	// Observe is told how the run goes, from one goroutine; nil: nobody watches.
	Observe     func(Event)
	Clock       clock.Clock
	ToolVersion string
}

// Event is one of the types below.
type Event any

// ServiceStarting is that a service is about to be started, for the trials named, of which there is one at least.
type ServiceStarting struct {
	Trials []*Trial
	Again  bool // it ran before: it ended by itself, or is to be fresh
}

// ServiceStarted is that a service which was started is ready, in a line for the person.
type ServiceStarted struct{ Text string }

// TrialStarted is that the points of a trial are about to be measured.
type TrialStarted struct{ Trial *Trial }

// PointStarted is that a measurement is about to begin: the Index-th of Total that this execution makes, from 0; those that verify are counted by
// themselves.
type PointStarted struct {
	Job          Job
	Index, Total int
	AtMost       bool   // Total is the most that there may be: a search may need fewer
	Why          string // why a search measures it next; empty for a point that was listed
}

// PointDone is that a measurement is stored.
type PointDone struct {
	Job   Job
	Point measure.Point
}

// PointSkipped is that a measurement need not be made again.
type PointSkipped struct{ Point measure.Point }

// Verifying is that the points of a trial, which won, are about to be measured again.
type Verifying struct{ Trial *Trial }

// Note is something the person should know beside the figures.
type Note struct{ Text string }
