package client

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// stream reads events up to [DONE], a failure or the end of the body, and stamps the end.
func (e *exchange) stream(ctx context.Context, body io.Reader) *failure {
	for {
		n, err := body.Read(e.parser.free())
		if n > 0 {
			arrived := e.trace.arrived()
			e.parser.filled(n)
			if failed := e.events(arrived); failed != nil || e.done {
				e.record.Ended = arrived
				return failed
			}
		}
		if err != nil {
			e.record.Ended = e.now()
			return e.bodyEnd(ctx, err)
		}
	}
}

// events takes the events that are complete, all of which arrived at the same time.
func (e *exchange) events(arrived clock.Instant) *failure {
	d := e.client.decoders.Get().(*decoder)
	defer e.client.decoders.Put(d)
	for {
		next, ok, err := e.parser.next()
		if err != nil {
			return &failure{measure.StreamError, err.Error()}
		}
		if !ok {
			return nil
		}
		if failed := e.event(d, next, arrived); failed != nil {
			return failed
		}
		if e.done {
			return e.verdict(nil)
		}
	}
}

// bodyEnd is how a response ended that no event ended.
func (e *exchange) bodyEnd(ctx context.Context, err error) *failure {
	if err != io.EOF {
		return e.interrupted(ctx, e.verdict(err))
	}
	if failed := e.lastEvent(); failed != nil {
		return failed
	}
	return e.verdict(nil)
}

// lastEvent takes an event that lacks nothing but its blank line. One that was cut before is none.
func (e *exchange) lastEvent() *failure {
	d := e.client.decoders.Get().(*decoder)
	defer e.client.decoders.Put(d)
	last, ok := e.parser.last()
	if !ok || !last.failure && !isDone(last.data) && d.decode(last.data, &usage{}) != nil {
		return nil
	}
	return e.event(d, last, e.trace.arrived())
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// event takes one event, which arrived at that time.
func (e *exchange) event(d *decoder, next event, arrived clock.Instant) *failure {
	r := e.record
	if !r.FirstEvent.Happened() {
		r.FirstEvent = arrived
	}
	switch {
	case next.failure:
		return &failure{measure.StreamError, "the service sent an error: " + message(next.data)}
	case isDone(next.data):
		e.done = true
		return nil
	case len(bytes.TrimSpace(next.data)) == 0:
		return nil
	}
	if err := d.decode(next.data, &e.usage); err != nil {
		return &failure{measure.StreamError, fmt.Sprintf("an event can't be decoded: %v: %s", err, start(next.data))}
	}
	f := &d.frame
	if f.failure != nil {
		return &failure{measure.StreamError, "the service sent an error: " + message(f.failure)}
	}
	if f.finish != nil {
		reason := e.client.excerpt(string(appendText(nil, f.finish)), maxReason)
		r.FinishReason = &reason
	}
	if !f.token() {
		return nil
	}
	e.token(f, arrived)
	return e.output.add(f)
}

// token stamps an event that carries output.
func (e *exchange) token(f *frame, arrived clock.Instant) {
	r := e.record
	if !r.FirstToken.Happened() {
		r.FirstToken = arrived
		r.Chunks = make([]int64, 0, min(max(e.asked, 16), 128))
		if f.output.n > 0 {
			r.FirstEventTokens = f.output.pointer()
		}
		e.firstToken()
	}
	if f.visible() && !r.FirstOutput.Happened() {
		r.FirstOutput = arrived
	}
	r.LastToken = arrived
	r.Chunks = append(r.Chunks, int64(arrived.Sub(r.Dispatched)))
}

// verdict is the failure of a response that ended by itself, cut off where cut is not nil; nil where it is ok.
func (e *exchange) verdict(cut error) *failure {
	r, tokens := e.record, e.usage.output
	switch {
	case !e.done && r.FinishReason == nil && cut != nil:
		return &failure{measure.Truncated, fmt.Sprintf("the response broke off: %v: %s", cut, e.progress())}
	case !e.done && r.FinishReason == nil:
		return &failure{measure.Truncated, "the response ended with neither [DONE] nor a finish reason: " + e.progress()}
	case r.FirstToken.Happened() && tokens.given && tokens.n == 0:
		return &failure{measure.StreamError, "usage says 0 output tokens, yet " + e.progress()}
	case !r.FirstToken.Happened():
		return &failure{measure.Empty, "the response ended well without a token"}
	}
	return nil
}

// progress says how far the response came.
func (e *exchange) progress() string {
	switch r := e.record; {
	case r.HTTPStatus == nil:
		return "no response had begun"
	case !r.FirstEvent.Happened():
		return "no event had arrived"
	case len(r.Chunks) == 1:
		return "1 event with a token had arrived"
	default:
		return fmt.Sprintf("%d events with a token had arrived", len(r.Chunks))
	}
}

// finish fills in what is known only at the end.
func (e *exchange) finish(failed *failure) workload.Answer {
	r, u := e.record, e.usage
	e.trace.fill(r)
	r.Status = measure.OK
	if failed != nil {
		text := e.client.excerpt(failed.text, maxMessage)
		r.Status, r.Error = failed.status, &text
	}
	r.PromptTokens, r.OutputTokens = u.prompt.pointer(), u.output.pointer()
	r.ReasoningTokens, r.CachedPromptTokens = u.reasoning.pointer(), u.cached.pointer()
	if u.prompt.given || u.output.given {
		source := measure.FromServer
		r.TokenSource = &source
	}
	if len(r.Chunks) > 0 {
		distinct, sample := int64(len(e.output.hashes)), e.client.excerpt(string(e.output.start), maxSample)
		r.DistinctChunks, r.Sample = &distinct, &sample
	}
	e.record, e.firstToken, e.trace = nil, nil, nil
	return workload.Answer{Text: string(e.output.whole)}
}
