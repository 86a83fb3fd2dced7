package report

import (
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/selector"
)

// Bounds of what a page holds of a point.
const (
	mostSteps = 200 // of an ECDF
	mostRows  = 600 // of a timeline
)

// addRequests reads the requests of the point's repeats.
func (p *point) addRequests(r *results.Run, judged *selector.Judged) error {
	var ttft []float64
	for i := range judged.Repeats {
		var drawn *timeline
		if i == 0 {
			drawn = &timeline{Rows: [][]any{}}
		}
		values, err := readRequests(r, results.MeasurementOf(judged.Repeats[i].Keys), drawn)
		if err != nil {
			return err
		}
		ttft = append(ttft, values...)
		if i == 0 {
			p.Timeline = drawn
			if p.Queues, err = readQueues(r, &judged.Repeats[i], drawn.zero); err != nil {
				return err
			}
		}
	}
	slices.Sort(ttft)
	p.ECDF = picked(ttft, mostSteps)
	return nil
}

// readRequests gives the TTFT of the ok requests of a measurement, and adds its requests to a timeline where there is one to draw.
func readRequests(r *results.Run, m results.Measurement, drawn *timeline) (ttft []float64, err error) {
	for row, err := range r.Requests(m) {
		if err != nil {
			return nil, err
		}
		if row.Phase == measure.Measured && row.Status == measure.OK && row.TTFT != nil {
			ttft = append(ttft, *row.TTFT)
		}
		if drawn == nil {
			continue
		}
		if drawn.zero == 0 {
			drawn.zero = row.Scheduled
		}
		zero := drawn.zero
		if drawn.Of++; len(drawn.Rows) < mostRows {
			drawn.Rows = append(drawn.Rows, []any{
				row.Lane, row.Phase, row.Status, row.Scheduled.SecondsSince(zero), row.Dispatched.SecondsSince(zero),
				row.FirstToken.SecondsSince(zero), row.Ended.SecondsSince(zero),
			})
		}
	}
	return ttft, nil
}

// readQueues gives what the service showed of its queue during a measurement, in seconds after zero: when, requests that it ran, and that waited.
func readQueues(r *results.Run, of *measure.Point, zero clock.Instant) (queues [][]*float64, err error) {
	var samples []measure.Sample
	for row, err := range r.ServerMetrics(results.MeasurementOf(of.Keys)) {
		if err != nil {
			return nil, err
		}
		samples = append(samples, row.Sample)
	}
	for _, q := range measure.Queues(samples, len(of.URLIssued)) {
		queues = append(queues, []*float64{q.At.SecondsSince(zero), q.Running, q.Waiting})
	}
	return queues, nil
}

// picked are at most so many of the values, evenly spaced in rank, the least and the greatest among them.
func picked(sorted []float64, most int) []float64 {
	if len(sorted) <= most {
		return append([]float64{}, sorted...)
	}
	values := make([]float64, most)
	for i := range values {
		values[i] = sorted[i*(len(sorted)-1)/(most-1)]
	}
	return values
}
