package simulator

import (
	"net/http"
	"strconv"
)

// stream sends the answer event by event.
func (c *call) stream() error {
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	c.entry.HTTPStatus = http.StatusOK
	if c.kind == apiChat {
		if err := c.out.write(eventRole, 0, c.encoder.role(c.brief())); err != nil {
			return err
		}
	} else if err := c.out.flush(); err != nil {
		return err
	}
	if err := c.streamTokens(); err != nil {
		c.count(finishAbort)
		return err
	}
	return c.streamEnd()
}

func (c *call) streamTokens() error {
	made := 0
	for c.sent < c.layout.total {
		n := c.layout.chunk(c.sent, c.s.cfg.StreamInterval)
		if made < c.sent+n {
			var ok bool
			if made, ok = c.s.backend.wait(c.ctx, c.job, c.sent+n); !ok {
				return errGone
			}
		}
		if c.sent == 0 {
			c.firstToken()
			if c.trouble.empty {
				break
			}
		}
		if err := c.streamChunk(n); err != nil {
			return err
		}
	}
	return c.strike()
}

func (c *call) streamChunk(n int) error {
	if err := c.strike(); err != nil {
		return err
	}
	from := c.sent
	c.sent += n
	finish := ""
	if c.sent == c.layout.total {
		finish = c.layout.finish(c.request.named)
	}
	kind, _, _ := c.layout.section(from)
	return c.out.write(kind, n, c.encoder.tokens(from, c.sent, finish, c.brief()))
}

func (c *call) streamEnd() error {
	finish := c.layout.finish(c.request.named)
	if c.trouble.empty {
		finish = finishStop
		if err := c.out.write(eventFinish, 0, c.encoder.finish(finish, c.brief())); err != nil {
			return err
		}
	}
	if c.request.includeUsage {
		if err := c.out.write(eventUsage, 0, c.encoder.usage(c.final())); err != nil {
			return err
		}
	}
	c.count(finish)
	if err := c.out.write(eventDone, 0, []byte(doneFrame)); err != nil {
		return err
	}
	return c.out.close()
}

const (
	doneFrame    = "data: [DONE]\n\n"
	errorFrame   = `data: {"error":{"message":"a fault that was asked for","type":"InternalServerError","param":null,"code":500}}` + "\n\n"
	garbageFrame = `data: {"choices":[{"index":0,"delta":{"content":` + "\xff\x00 }\n\n"
)

// strike does what goes wrong at this point of a stream. A fault that asks for more tokens than there are comes after the last.
func (c *call) strike() error {
	t := &c.trouble
	due := func(after int) bool { return c.sent >= min(after, c.layout.total) }
	if t.stall && due(t.stallAfter) {
		t.stall = false
		if !c.pause(t.stallFor) {
			return errGone
		}
	}
	if t.garbage && due(t.garbageAfter) {
		t.garbage = false
		if err := c.out.write(eventGarbage, 0, []byte(garbageFrame)); err != nil {
			return err
		}
	}
	if t.streamError && due(t.errorAfter) {
		return c.streamError()
	}
	if t.cut && due(t.cutAfter) {
		if err := c.out.close(); err != nil {
			return err
		}
		return errFault
	}
	return nil
}

// streamError ends a stream as vLLM does when something breaks in it: an error in a frame of its own, and the usual end.
func (c *call) streamError() error {
	if err := c.out.write(eventError, 0, []byte(errorFrame)); err != nil {
		return err
	}
	if err := c.out.write(eventDone, 0, []byte(doneFrame)); err != nil {
		return err
	}
	if err := c.out.close(); err != nil {
		return err
	}
	return errFault
}

// whole sends the answer in one piece.
func (c *call) whole() error {
	for _, want := range []int{1, c.job.most} {
		if _, ok := c.s.backend.wait(c.ctx, c.job, want); !ok {
			c.count(finishAbort)
			return errGone
		}
		if want == 1 {
			c.firstToken()
		}
	}
	t := &c.trouble
	if t.stall && !c.pause(t.stallFor) {
		return errGone
	}
	if t.streamError {
		c.answerError(&apiError{Message: "a fault that was asked for", Type: "InternalServerError", Code: http.StatusInternalServerError})
		return errFault
	}
	finish := finishStop
	if !t.empty {
		c.sent, finish = c.layout.total, c.layout.finish(c.request.named)
	}
	c.count(finish)
	return c.sendBody(c.encoder.body(finish, c.sent, c.final()))
}

func (c *call) sendBody(body []byte) error {
	c.entry.HTTPStatus = http.StatusOK
	header := c.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	tokens := c.sent
	if c.trouble.garbage {
		for i := range body[len(body)/2:] {
			body[len(body)/2+i] = '!'
		}
	}
	if c.trouble.cut {
		body, tokens = body[:len(body)/2], 0
	}
	if err := c.out.write(eventBody, tokens, body); err != nil {
		return err
	}
	if c.trouble.cut {
		return errFault
	}
	return c.out.close()
}

// firstToken notes for /metrics that the first token is there.
func (c *call) firstToken() {
	c.s.metrics.firstToken.Observe(c.s.clock.Now().Sub(c.job.began).Seconds())
}

// count notes for /metrics how the request ended.
func (c *call) count(reason string) {
	if reason == finishToolCalls {
		reason = finishStop
	}
	c.s.metrics.ended.WithLabelValues(reason).Inc()
}
