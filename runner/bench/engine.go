package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweetspot/runner"
	"sweetspot/runner/client"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// requestID starts the id of every request of a tool; its number follows.
const requestID = "bench"

// drainTimeout is far above any answer: a request that is cut fails the measurement.
const drainTimeout = time.Minute

// runEngine drives a load with the engine as a run does: prompts, three caps, client, hand-over to a writer.
func runEngine(ctx context.Context, url string, l Load) (measure.Outcome, error) {
	c := clock.New()
	sender, err := client.New(client.Config{
		BaseURLs: []string{url}, API: "chat", Timeout: time.Minute, Streams: l.Streams, Clock: c, RequestID: requestID,
	})
	if err != nil {
		return measure.Outcome{}, err
	}
	defer sender.Close()
	source, err := workload.New(l.spec(), workload.Seed{Load: 1, Point: l.Name(), Trial: model, Run: "00000000"}, workload.Calibration{})
	if err != nil {
		return measure.Outcome{}, err
	}
	point := runner.Point{
		Load:     schema.PointLoad{Concurrency: &l.Streams, RequestConcurrency: &l.Streams, PrefillConcurrency: &l.Streams},
		Requests: l.Streams * l.Requests, Duration: schema.Duration(l.Duration), RampUp: schema.Duration(l.Spread),
		DrainTimeout: schema.Duration(drainTimeout), Seed: 1,
	}
	outcome := runner.Run(ctx, point, runner.Deps{Sender: sender, Sessions: source.Session, Clock: c, Ticker: clock.NewTicker, Sink: func(*measure.Record) {}})
	if ctx.Err() != nil {
		return outcome, context.Cause(ctx)
	}
	if outcome.Aborted != "" {
		return outcome, errors.New(outcome.Aborted)
	}
	return outcome, nil
}

// exchangesOf are the requests of an outcome, and an error where one of them was not ok.
func exchangesOf(o measure.Outcome) ([]Exchange, error) {
	all := make([]Exchange, len(o.Records))
	for i := range o.Records {
		r := &o.Records[i]
		if r.Status != measure.OK {
			return nil, fmt.Errorf("request %d: %s: %s", r.Index, r.Status, *r.Error)
		}
		if r.OutputTokens == nil {
			return nil, fmt.Errorf("request %d: the service said no usage", r.Index)
		}
		all[i] = Exchange{
			ID: fmt.Sprintf("%s-%d", requestID, r.Index), Lane: r.Lane, Spread: r.Phase != measure.Measured,
			Ready: r.Scheduled, Dispatched: r.Dispatched, FirstToken: r.FirstToken, Ended: r.Ended, Tokens: *r.OutputTokens, Chunks: r.Chunks,
		}
	}
	return all, nil
}
