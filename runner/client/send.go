package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
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

	errTimeout = errors.New("timeout")
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

	client     *Client
	base       *base
	record     *measure.Record
	firstToken func()
	trace      *trace
	usage      usage
	asked      int64 // output tokens asked for
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
	e.visible, e.begun, e.done = false, false, false
	e.trace = &trace{clock: e.client.config.Clock, shared: e.client.config.HTTP2}
	e.parser.reset()
	e.output.reset(request.WantText)
}

// run sends, reads and stamps the end. It returns why the request failed, nil where it is ok.
func (e *exchange) run(ctx context.Context, prompt []byte) *failure {
	ctx, cancel := e.client.bounded(ctx)
	defer cancel()
	response, err := e.client.way().RoundTrip(e.request(ctx, prompt))
	if err != nil {
		e.record.Ended = e.now()
		return e.interrupted(ctx, &failure{measure.ConnectError, e.connectText(err)})
	}
	defer response.Body.Close()
	status := int64(response.StatusCode)
	e.record.HTTPStatus = &status
	body := e.bodyOf(response)
	failed := refusal(response, body)
	if failed != nil {
		e.record.Ended = e.now()
		if failed.status == measure.HTTPError {
			return failed // whatever cut its reading short
		}
		return e.interrupted(ctx, failed)
	}
	failed = e.stream(ctx, body)
	if e.done {
		wait := time.AfterFunc(linger, cancel)
		io.Copy(io.Discard, body) // where that fails the connection is closed; the response has ended all the same
		if !wait.Stop() {
			e.client.keptOpen.Add(1)
		}
	}
	return failed
}

// source is a response's body, and says when what was read of it last had arrived.
type source interface {
	io.Reader
	arrived() clock.Instant
}

// transportBody is a body that net/http reads.
type transportBody struct {
	io.Reader
	trace *trace
}

func (b transportBody) arrived() clock.Instant { return b.trace.arrived() }

func (e *exchange) bodyOf(response *http.Response) source {
	if body, ok := response.Body.(source); ok {
		return body
	}
	return transportBody{response.Body, e.trace}
}

// bounded is ctx with the time-out of a request.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.config.Timeout > 0 {
		return context.WithTimeoutCause(ctx, c.config.Timeout, errTimeout)
	}
	return context.WithCancel(ctx)
}

// request is made by hand: [http.NewRequest] would give it a body that can be read again, and with that [http.Transport] may send it again.
func (e *exchange) request(ctx context.Context, body []byte) *http.Request {
	header := e.client.headerOf(e.base, e.record.Index)
	request := &http.Request{
		Method:        http.MethodPost,
		URL:           e.base.completion,
		Host:          header.Get("Host"),
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Close:         e.client.single,
	}
	return request.WithContext(httptrace.WithClientTrace(ctx, e.trace.hooks()))
}

func (e *exchange) now() clock.Instant { return e.client.config.Clock.Now() }

// interrupted is the failure of an exchange that was cut short: by the context, where that is done, otherwise by what failed says.
func (e *exchange) interrupted(ctx context.Context, failed *failure) *failure {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return failed
	case errors.Is(cause, errTimeout):
		return &failure{measure.Timeout, fmt.Sprintf("no end within %v: %s", e.client.config.Timeout, e.progress())}
	case errors.Is(cause, ErrCancelled):
		return &failure{measure.Cancelled, ErrCancelled.Error() + ": " + e.progress()}
	default:
		return &failure{measure.Truncated, cause.Error() + ": " + e.progress()}
	}
}

// connectText explains why no response began.
func (e *exchange) connectText(err error) string {
	if e.trace.reused.Load() && e.trace.firstByte.Load() == 0 && !e.trace.shared {
		return "the service closed the connection, which had been used before, without a response: " + err.Error()
	}
	if e.trace.connected.Load() != 0 {
		return "the connection broke before the response: " + err.Error()
	}
	return err.Error() + exhausted(err)
}
