package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// stream reads events up to [DONE], a failure or the end of the body, and stamps the end. Behind [DONE] it reads on for a little, up to the body's
// end, so that the connection can be used again.
func (e *exchange) stream(ctx context.Context, body body) *failure {
	e.ctx, e.body = ctx, body
	body.each(e)
	e.ctx, e.body = nil, nil
	return e.failed
}

// read reads once, and takes what has arrived. It is true where there is nothing more to read.
func (e *exchange) read(buf []byte) (ended bool) {
	e.parser.lend(buf)
	defer e.parser.takeBack(buf)
	n, err := e.body.Read(e.parser.free())
	switch {
	case e.done:
	case n > 0 && e.arrived(n, e.body.arrived()):
		if e.done && err == nil {
			e.body.linger()
			return false
		}
		ended = true
	case err != nil:
		e.record.Ended = e.now()
		e.failed = e.bodyEnd(e.ctx, err, e.body.arrived())
	}
	e.whole = err == io.EOF
	return ended || err != nil
}

// arrived takes what was read to the parser's free space. It is true where the response has ended with it.
func (e *exchange) arrived(n int, at clock.Instant) bool {
	e.parser.filled(n)
	e.failed = e.events(at)
	if e.failed == nil && !e.done {
		return false
	}
	e.record.Ended = at
	return true
}

// events takes the events that are complete, all of which arrived at the same time.
func (e *exchange) events(arrived clock.Instant) *failure {
	for {
		next, ok, err := e.parser.next()
		if err != nil {
			return &failure{measure.StreamError, err.Error()}
		}
		if !ok {
			return nil
		}
		if failed := e.event(next, arrived); failed != nil {
			return failed
		}
		if e.done {
			return e.verdict(nil)
		}
	}
}

// bodyEnd is how a response ended that no event ended; what arrived last did so at that time.
func (e *exchange) bodyEnd(ctx context.Context, err error, arrived clock.Instant) *failure {
	if err != io.EOF {
		return e.interrupted(ctx, e.verdict(err))
	}
	if failed := e.lastEvent(arrived); failed != nil {
		return failed
	}
	return e.verdict(nil)
}

// lastEvent takes an event that lacks nothing but its blank line. One that was cut before is none.
func (e *exchange) lastEvent(arrived clock.Instant) *failure {
	last, ok := e.parser.last()
	if !ok || !last.failure && !isDone(last.data) && !json.Valid(last.data) {
		return nil
	}
	return e.event(last, arrived)
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// event takes one event, which arrived at that time.
func (e *exchange) event(next event, arrived clock.Instant) *failure {
	if !e.begun {
		e.begun, e.record.FirstEvent = true, arrived
	}
	if !next.failure {
		if f, ok := e.alike.read(next.data); ok {
			return e.token(&f, arrived)
		}
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
	d := e.client.decoders.Get().(*decoder)
	defer e.client.decoders.Put(d)
	if err := d.decode(next.data, &e.usage); err != nil {
		return &failure{measure.StreamError, fmt.Sprintf("an event can't be decoded: %v: %s", err, start(next.data))}
	}
	return e.frame(d, arrived)
}

// frame takes what an event's data says.
func (e *exchange) frame(d *decoder, arrived clock.Instant) *failure {
	f := &d.frame
	if f.failure != nil {
		return &failure{measure.StreamError, "the service sent an error: " + message(f.failure)}
	}
	if f.finish != nil {
		reason := e.client.excerpt(string(appendText(nil, f.finish)), maxReason)
		e.record.FinishReason = &reason
	}
	if !f.token() {
		return nil
	}
	e.alike.learn(d)
	return e.token(f, arrived)
}

// token takes an event that carries output.
func (e *exchange) token(f *frame, arrived clock.Instant) *failure {
	if e.offsets == nil {
		e.offsets = make([]int64, 0, min(max(e.asked, 16), 128))
		e.record.FirstToken = arrived
		if f.output.n > 0 {
			e.record.FirstEventTokens = f.output.pointer()
		}
		e.firstToken()
	}
	if !e.visible && f.visible() {
		e.visible, e.record.FirstOutput = true, arrived
	}
	e.last, e.offsets = arrived, append(e.offsets, int64(arrived.Sub(e.sent)))
	return e.output.add(f)
}

// verdict is the failure of a response that ended by itself, cut off where cut is not nil; nil where it is ok.
func (e *exchange) verdict(cut error) *failure {
	ended, tokens := e.done || e.record.FinishReason != nil, e.usage.output
	switch {
	case !ended && cut != nil:
		return &failure{measure.Truncated, fmt.Sprintf("the response broke off: %v: %s", cut, e.progress())}
	case !ended:
		return &failure{measure.Truncated, "the response ended with neither [DONE] nor a finish reason: " + e.progress()}
	case e.offsets != nil && tokens.given && tokens.n == 0:
		return &failure{measure.StreamError, "usage says 0 output tokens, yet " + e.progress()}
	case e.offsets == nil:
		return &failure{measure.Empty, "the response ended well without a token"}
	}
	return nil
}

// progress says how far the response came.
func (e *exchange) progress() string {
	switch {
	case e.record.HTTPStatus == nil:
		return "no response had begun"
	case !e.begun:
		return "no event had arrived"
	case len(e.offsets) == 1:
		return "1 event with a token had arrived"
	}
	return fmt.Sprintf("%d events with a token had arrived", len(e.offsets))
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
	r.Chunks, r.LastToken = e.offsets, e.last
	if e.offsets != nil {
		distinct, sample := int64(len(e.output.hashes)), e.client.excerpt(string(e.output.start), maxSample)
		r.DistinctChunks, r.Sample = &distinct, &sample
	}
	e.record, e.firstToken, e.trace, e.offsets = nil, nil, nil, nil
	return workload.Answer{Text: string(e.output.whole), Hidden: e.output.hidden}
}
