package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// point makes one measurement and stores it. fault is why it can't be made; it is then a row all the same. An error is that it could not be stored.
func (e *execution) point(ctx context.Context, service Service, before Preflight, job Job, fault error) error {
	outcome := notMeasured(e.deps.Clock.Now(), fault)
	var stream streamed
	if fault == nil {
		outcome, stream = e.measure(ctx, service, job)
		outcome = e.withCrash(ctx, service, outcome)
	}
	for i := range outcome.Records {
		outcome.Records[i] = e.redactRecord(outcome.Records[i])
	}
	row := e.row(outcome, before, job)
	if stream.lag != nil {
		row.WriterLag = stream.lag
	}
	if err := e.run.WritePoint(row, outcome.Records, outcome.Samples, outcome.GPUs...); err != nil {
		return err
	}
	e.rows[job.of()] = row
	e.keep(job, outcome.Records)
	e.observe(PointDone{job, row})
	return nil
}

// notMeasured is the outcome of a point that was not driven.
func notMeasured(now clock.Instant, fault error) measure.Outcome {
	outcome := measure.Outcome{Started: now, Finished: now}
	if fault != nil {
		outcome.Aborted = fault.Error()
	}
	return outcome
}

// streamed is what the stream of ended requests says of itself.
type streamed struct{ lag *float64 }

// measure drives a point while its ended requests are kept on disk. If driving it panics, those are what is left of it.
func (e *execution) measure(ctx context.Context, service Service, job Job) (measure.Outcome, streamed) {
	stream, err := e.run.Stream(job.Keys, e.deps.Clock.Now)
	if err != nil {
		e.note(fmt.Sprintf("a kill would lose the point's requests: %v", err))
	}
	ended := func(r *measure.Record) {
		if stream != nil {
			stream.Add(e.redactRecord(*r))
		}
	}
	ctx, cancel := untilOver(ctx, service)
	defer cancel()
	started := e.deps.Clock.Now()
	outcome, err := guarded(func() (measure.Outcome, error) { return e.deps.Measure(ctx, service, job, e.deps.Stop, ended) })
	said := e.endStream(stream)
	if err != nil {
		outcome = notMeasured(e.deps.Clock.Now(), err)
		outcome.Started, outcome.Records = started, e.streamedRecords(job.Keys)
	}
	return outcome, said
}

func (e *execution) endStream(stream *results.Stream) streamed {
	if stream == nil {
		return streamed{}
	}
	if err := stream.Close(); err != nil {
		e.note(err.Error())
	}
	if n := stream.Dropped(); n > 0 {
		e.note(fmt.Sprintf("%d requests ended faster than they could be written ahead; they are in the results all the same", n))
	}
	lag := stream.Lag().Seconds()
	return streamed{&lag}
}

// streamedRecords are the requests of a point whose outcome was lost.
func (e *execution) streamedRecords(keys measure.Keys) []measure.Record {
	var records []measure.Record
	for row, err := range e.run.PartialRequests(results.MeasurementOf(keys)) {
		if err != nil {
			e.note(err.Error())
			break
		}
		records = append(records, row.Record)
	}
	return records
}

// row summarises a point and adds what only the pipeline knows.
func (e *execution) row(outcome measure.Outcome, before Preflight, job Job) measure.Point {
	row := measure.Summarize(outcome, job.Load, job.Limits)
	row.Keys, row.Planned = job.Keys, job.Requests
	row.Workload, row.Model = job.Spec.Workload.Name(), job.Spec.Model
	row.Cache, row.IgnoreEOS = job.Spec.Request.Cache, job.Spec.Request.IgnoreEOS
	row.SharedPrefix = job.Spec.Workload.SharedPrefix(row.Cache)
	gpus := cmp.Or(job.Spec.Service.GPUs(), before.GPUs)
	row.Hardware = measure.HardwareOf(gpus, row.OutputTokPerS)
	row.Telemetry = row.Telemetry.Over(gpus)
	row.StartedAt = e.deps.Clock.ZeroUTC().Add(time.Duration(row.Started)).Format(time.RFC3339Nano)
	row.ClockID, row.RTT = e.deps.Clock.ID(), before.RTT
	row.Reason, row.ErrorExample = textOf(e.deps.Redact, row.Reason), textOf(e.deps.Redact, row.ErrorExample)
	if row.ContextLength == nil && before.ContextLength != nil && job.Limits.MinContextLength == nil {
		reported := "reported"
		row.ContextLength, row.ContextLengthSource = before.ContextLength, &reported
	}
	return row
}

// redactRecord is r without secrets that a service may have sent back.
func (e *execution) redactRecord(r measure.Record) measure.Record {
	r.Error, r.Sample = textOf(e.deps.Redact, r.Error), textOf(e.deps.Redact, r.Sample)
	return r
}
