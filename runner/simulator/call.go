package simulator

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// call is one completion request on its way through the service.
type call struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // ends when the client goes, or the service stops
	kind    api
	entry   LogRequest
	trouble trouble
	request *request
	job     *job
	layout  layout
	sent    int // tokens that are written
	*desk
}

// desk is what a call works with and leaves to the next: buffers.
type desk struct {
	body    []byte
	encoder encoder
	out     eventWriter
}

var desks = sync.Pool{New: func() any { return &desk{} }}

// The outcomes of a call, as the log has them.
const (
	outcomeOK       = "ok"
	outcomeRejected = "rejected"
	outcomeAborted  = "aborted"
	outcomeFault    = "fault"
)

var (
	errGone  = errors.New("the client has gone or the service stops")
	errFault = errors.New("a fault ended the request")
)

// complete serves a completion request.
func (s *Server) complete(kind api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		inFlight, ok := s.gate.enter()
		if !ok {
			writeError(w, &apiError{Message: "the service is stopping", Type: "ServiceUnavailable", Code: http.StatusServiceUnavailable})
			return
		}
		defer s.gate.leave()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		c := &call{s: s, w: w, r: r, ctx: ctx, kind: kind, desk: desks.Get().(*desk)}
		c.entry = LogRequest{ID: r.Header.Get("X-Request-Id"), Ordinal: s.ordinal.Add(1)}
		if c.entry.ID == "" {
			c.entry.ID = strconv.FormatInt(c.entry.Ordinal, 10)
		}
		c.trouble = troubleFor(s.cfg.Faults, s.cfg.Seed, c.entry.Ordinal, inFlight)
		c.entry.Faults = c.trouble.kinds
		s.log.begin()
		c.run()
	}
}

// run serves the request and logs what became of it. A fault that ends the connection is a panic with [http.ErrAbortHandler], as net/http wants
// it.
func (c *call) run() {
	c.out = eventWriter{clock: c.s.clock, to: c.w, events: c.out.events[:0], flush: http.NewResponseController(c.w).Flush}
	if c.trouble.split {
		c.out.split = &splitter{seed: mix(uint64(c.s.cfg.Seed)) + uint64(c.entry.Ordinal)}
	}
	err := c.serve()
	c.entry.Ended = c.s.clock.Now()
	c.entry.Events = c.out.events
	for _, e := range c.out.events {
		c.entry.OutputTokens += e.Tokens
	}
	if err == nil && c.job != nil && c.caches() {
		c.entry.CachedTokens = c.job.cached
	}
	switch {
	case errors.Is(err, errFault):
		c.entry.Outcome = outcomeFault
	case err != nil:
		c.entry.Outcome = outcomeAborted
	case c.entry.Outcome == "":
		c.entry.Outcome = outcomeOK
	}
	c.s.log.end(&c.entry)
	cut := c.trouble.refuse || c.trouble.cut && err != nil
	c.release()
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// release puts the desk back, without what belonged to the call, and without a body of unusual size.
func (c *call) release() {
	c.out = eventWriter{events: c.out.events}
	if cap(c.body) > 1<<20 {
		c.body = nil
	}
	desks.Put(c.desk)
}

func (c *call) serve() error {
	if err := c.read(); err != nil {
		return c.reject(err)
	}
	if c.trouble.refuse {
		return errFault
	}
	if c.trouble.slowHeaders > 0 && !c.pause(c.trouble.slowHeaders) {
		return errGone
	}
	if c.trouble.status != 0 {
		c.answerError(&apiError{Message: "a fault that was asked for", Type: http.StatusText(c.trouble.status), Code: c.trouble.status})
		return errFault
	}
	request, bad := decodeRequest(c.body, c.kind, c.s.model, c.s.cfg.MaxModelLen)
	if bad != nil {
		return c.reject(bad)
	}
	c.begin(request)
	defer c.s.backend.end(c.job)
	if request.stream {
		return c.stream()
	}
	return c.whole()
}

// read reads the body, and stamps that it has.
func (c *call) read() *apiError {
	var bad *apiError
	c.body, bad = readBody(c.w, c.r, c.s.mostBody, c.body[:0])
	if bad == nil {
		c.entry.Read = c.s.clock.Now()
	}
	return bad
}

// readBody appends the body of a request, of at most most bytes, to buf.
func readBody(w http.ResponseWriter, r *http.Request, most int64, buf []byte) ([]byte, *apiError) {
	to := bytes.NewBuffer(buf)
	_, err := to.ReadFrom(http.MaxBytesReader(w, r.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return to.Bytes(), &apiError{Message: err.Error(), Type: "BadRequestError", Code: http.StatusRequestEntityTooLarge}
	case err != nil:
		return to.Bytes(), badRequest("body", "reading the request: %v", err)
	}
	return to.Bytes(), nil
}

// reject answers a request that can't be served.
func (c *call) reject(bad *apiError) error {
	c.entry.Outcome = outcomeRejected
	c.answerError(bad)
	return nil
}

func (c *call) answerError(e *apiError) {
	c.entry.HTTPStatus = e.Code
	writeError(c.w, e)
}

// begin hands the request to what makes its tokens.
func (c *call) begin(r *request) {
	c.request = r
	c.entry.Stream, c.entry.PromptTokens = r.stream, len(r.prompt)
	total := r.maxTokens
	if p := c.s.paced; p != nil && p.Tokens > 0 && p.Tokens < total {
		total, r.named = p.Tokens, false
	}
	c.layout = layoutOf(c.s.cfg, c.kind, total)
	c.job = newJob(c.entry.Read, r, answerOf(c.s.cfg.Seed, r.prompt), c.layout)
	if c.trouble.empty {
		c.job.most = 1 // the model says at once that it is done
	}
	c.encoder.reset(c.kind, c.layout, c.job.answer, r.stream, c.entry.ID, c.s.model, time.Now().Unix())
	c.s.backend.start(c.ctx, c.job)
}

// pause waits, and is false where the request ended before the time was up.
func (c *call) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// usage is what the service says it used after sent tokens.
func (c *call) usage() usage {
	if c.trouble.zeroUsage {
		return usage{}
	}
	return usage{prompt: len(c.request.prompt), completion: c.sent, reasoning: min(c.sent, c.layout.reasoning)}
}

// brief is the usage that every event carries, nil where that is not asked for.
func (c *call) brief() *usage {
	if !c.request.continuousUsage {
		return nil
	}
	u := c.usage()
	return &u
}

// final is the usage of the whole answer, with what the prefix cache had where there is one.
func (c *call) final() usage {
	u := c.usage()
	if c.caches() && !c.trouble.zeroUsage {
		u.cached = &c.job.cached
	}
	return u
}

// caches reports whether there is a prefix cache.
func (c *call) caches() bool { return c.s.cfg.EnablePrefixCaching && c.s.paced == nil }
