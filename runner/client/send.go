package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// The causes that a caller of Send cancels its context with.
var (
	// ErrCancelled makes a request cancelled: the preset says that it is.
	ErrCancelled = errors.New("cancelled because the preset says so")
	// ErrDrained makes a request truncated: it had not ended at the drain deadline.
	ErrDrained = errors.New("cut at the drain deadline")
)

// linger is how long after [DONE] the end of the body may take, so that the connection can be used again. Services write it at once, though often
// on its own; the slot of the request stays taken meanwhile, so one that takes longer is not waited for and the connection closed.
const linger = 5 * time.Millisecond

// exchange is one request and what came back. It is used again and again, for one request at a time.
//
// What each event needs stands together, since with thousands of streams little else of an exchange is in the processor's caches.
type exchange struct {
	parser  parser
	alike   alike
	output  output
	offsets []int64       // of the events that carried output, from sent
	sent    clock.Instant // the request was dispatched
	last    clock.Instant // the newest such event arrived
	visible bool          // one of them was no reasoning
	begun   bool          // an event came
	done    bool          // [DONE] came
	whole   bool          // the end of the body came
	body    body          // that is read
	ctx     context.Context

	client     *Client
	base       *base
	record     *measure.Record
	firstToken func()
	failed     *failure // of the stream
	trace      *trace
	usage      usage
	asked      int64     // output tokens asked for
	deadline   time.Time // zero: there is none
}

// Send sends request and reads the response to its end. It fills in r from Connected on; the runner has filled in what stands before, and has
// stamped r.Dispatched just now. Output of every request leaves a sample: the runner clears those it does not keep. firstToken is called once, at
// the first token, and not at all where none came; it must not block.
//
// The request is sent once, whatever happens: nothing is retried and no redirect followed. If the service closes an idle connection while the
// request is on its way there, that is a connect_error with conn_reused set. A context cancelled with [ErrCancelled] makes a request cancelled;
// with [ErrDrained], as with any other cause, truncated. When Send returns, the connection is free for the next request, or closed, and r is no
// longer touched.
func (c *Client) Send(ctx context.Context, request workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	return c.sendTo(ctx, c.baseOf(r.Session), request, r, firstToken)
}

func (c *Client) sendTo(ctx context.Context, to *base, request workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	e := c.exchanges.Get().(*exchange)
	e.begin(to, request, r, firstToken)
	failed := e.run(ctx, request.Body)
	answer := e.finish(failed)
	c.exchanges.Put(e)
	return answer
}

func (e *exchange) begin(to *base, request workload.Request, r *measure.Record, firstToken func()) {
	r.URLIndex = &to.index
	e.base, e.record, e.firstToken, e.asked = to, r, firstToken, request.OutputTokens
	e.usage, e.offsets, e.sent, e.last = usage{}, nil, r.Dispatched, 0
	e.visible, e.begun, e.done, e.whole, e.failed = false, false, false, false, nil
	e.trace = &trace{clock: e.client.config.Clock}
	e.deadline = time.Time{}
	if timeout := e.client.config.Timeout; timeout > 0 {
		e.deadline = time.Now().Add(timeout)
	}
	e.parser.reset()
	e.output.reset(request.WantText)
}

// run sends, reads and stamps the end. It returns why the request failed, nil where it is ok.
func (e *exchange) run(ctx context.Context, prompt []byte) *failure {
	response, body, err := e.client.way.send(ctx, e.call(prompt))
	if err != nil {
		e.record.Ended = e.now()
		return e.interrupted(ctx, &failure{measure.ConnectError, e.connectText(err)})
	}
	defer body.Close()
	status := int64(response.StatusCode)
	e.record.HTTPStatus = &status
	failed := refusal(response, body)
	if failed != nil {
		e.record.Ended = e.now()
		if failed.status == measure.HTTPError {
			return failed // whatever cut its reading short
		}
		return e.interrupted(ctx, failed)
	}
	failed = e.stream(ctx, body)
	if e.done && !e.whole {
		e.client.keptOpen.Add(1) // the connection is closed; the response has ended all the same
	}
	return failed
}

func (e *exchange) call(prompt []byte) *call {
	return &call{
		target: &e.base.completion, id: e.client.config.RequestID + "-" + strconv.FormatInt(e.record.Index, 10), body: prompt,
		single: e.client.single, deadline: e.deadline, trace: e.trace,
	}
}

func (e *exchange) now() clock.Instant { return e.client.config.Clock.Now() }

// interrupted is the failure of an exchange that was cut short: by the context, where that is done, or the deadline; otherwise by what failed says.
func (e *exchange) interrupted(ctx context.Context, failed *failure) *failure {
	switch cause := context.Cause(ctx); {
	case cause == nil && !e.deadline.IsZero() && !time.Now().Before(e.deadline):
		return &failure{measure.Timeout, fmt.Sprintf("no end within %v: %s", e.client.config.Timeout, e.progress())}
	case cause == nil:
		return failed
	case errors.Is(cause, ErrCancelled):
		return &failure{measure.Cancelled, ErrCancelled.Error() + ": " + e.progress()}
	default:
		return &failure{measure.Truncated, cause.Error() + ": " + e.progress()}
	}
}

// connectText explains why no response began.
func (e *exchange) connectText(err error) string {
	if e.trace.reused.Load() && e.trace.firstByte.Load() == 0 && !e.client.config.HTTP2 {
		return "the service closed the connection, which had been used before, without a response: " + err.Error()
	}
	if e.trace.connected.Load() != 0 && !errors.Is(err, errNotHTTP2) {
		return "the connection broke before the response: " + err.Error()
	}
	return err.Error() + exhausted(err)
}
