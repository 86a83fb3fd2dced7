package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"sweetspot/runner/clock"
)

// http1 carries requests over HTTP/1.1, with TLS or without.
//
// [http.Transport] has two goroutines with their buffers for each connection, which at 20 events a request took a fifth of the CPU and hold nearly half
// the memory of a stream, and reads a chunked body through two locks and a second buffer. Here the goroutine of a request does all, but for
// reading the body, which [loops] do where they can; net/http writes what the heads of all requests have in common, once ([newTarget]), and parses those of
// responses ([http.ReadResponse]). A chunked body is read by [chunks].
type http1 struct {
	dial        dial
	tls         *tls.Config
	clock       clock.Clock
	idleTimeout time.Duration
	loops       loops
	answers     answers

	mu     sync.Mutex
	idle   map[string][]*link // by scheme and address; the last was used last
	closed bool
}

func newHTTP1(config Config) *http1 {
	return &http1{
		dial:  (&net.Dialer{}).DialContext,
		tls:   &tls.Config{InsecureSkipVerify: config.SkipVerifyTLS, NextProtos: []string{"http/1.1"}},
		clock: config.Clock, idleTimeout: config.IdleTimeout, idle: map[string][]*link{},
	}
}

func (h *http1) send(ctx context.Context, c *call) (*http.Response, body, error) {
	l, reused, err := h.link(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	t := &l.tenure
	*t = tenure{http1: h, target: c.target, link: l, last: c.single, release: l.wire.giveUpAt(ctx)}
	c.trace.gotConn(&l.wire, reused)
	t.written = l.send(c)
	response, in, err := l.answer(c.trace, &h.answers)
	if err != nil {
		return nil, nil, t.failed(err)
	}
	t.last = t.last || response.Close
	if isChunked(response) {
		l.chunked = chunkedBody{chunks{link: l}, t}
		return response, &l.chunked, nil
	}
	return response, &otherBody{body: response.Body, in: in, tenure: t}, nil
}

// link finds or makes a connection to the target of a request.
func (h *http1) link(ctx context.Context, c *call) (l *link, reused bool, err error) {
	if l = h.take(c.target.place, c.deadline); l != nil {
		return l, true, nil
	}
	l, err = h.connect(ctx, c)
	return l, false, err
}

// take is the connection to a place that was used last, with a deadline; nil where there is none that can be used.
func (h *http1) take(place string, deadline time.Time) *link {
	for {
		l := h.pop(place)
		if l == nil {
			return nil
		}
		l.conn.SetDeadline(deadline) // before the look at it, which fails behind that of the last request
		if !h.expired(l) && l.alive() {
			return l
		}
		l.conn.Close()
	}
}

func (h *http1) pop(place string) *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	idle := h.idle[place]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	l := idle[last]
	idle[last] = nil
	h.idle[place] = idle[:last]
	return l
}

func (h *http1) expired(l *link) bool { return h.clock.Now().Sub(l.since) >= h.idleTimeout }

// put keeps a connection for the next request, and closes those that have been idle for too long.
func (h *http1) put(place string, l *link) {
	l.since = h.clock.Now()
	for _, unused := range h.push(place, l) {
		unused.conn.Close()
	}
}

// push gives the connections that are to be closed: those that have been idle for too long, or l itself where nothing is kept any more.
func (h *http1) push(place string, l *link) (unused []*link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return []*link{l}
	}
	idle := append(h.idle[place], l)
	fresh := slices.IndexFunc(idle, func(l *link) bool { return !h.expired(l) })
	if fresh < 0 {
		fresh = len(idle)
	}
	unused = slices.Clone(idle[:fresh])
	clear(idle[:fresh])
	h.idle[place] = idle[fresh:]
	return unused
}

// closeIdle closes what is idle now, and what carries a request once that has ended.
func (h *http1) closeIdle() {
	h.loops.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, idle := range h.idle {
		for _, l := range idle {
			l.conn.Close()
		}
	}
	h.idle, h.closed = nil, true
}

// tenure is a link while it carries one request.
type tenure struct {
	http1     *http1
	target    *target
	link      *link
	written   writing
	lingering *time.Timer // nil: it does not
	last      bool        // the request is the connection's last
	release   func() bool // from the request's context; false where that has cut reads and writes short
}

func (h *http1) connect(ctx context.Context, c *call) (*link, error) {
	dialling, cancel := context.Context(until{ctx, c.deadline}), func() {}
	if !c.target.numeric {
		dialling, cancel = c.bounded(ctx)
	}
	conn, err := h.dial(dialling, "tcp", c.target.address)
	cancel()
	if err != nil {
		return nil, err
	}
	l := newLink(conn, &h.loops, h.clock)
	l.wire.SetDeadline(c.deadline)
	if c.target.url.Scheme == "https" {
		config := h.tls.Clone()
		config.ServerName = c.target.url.Hostname()
		encrypted := tls.Client(&l.wire, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			l.wire.Close()
			return nil, err
		}
		l.conn = encrypted
	}
	return l, nil
}

// until is a context for dialling a numeric address, which looks at the deadline. One of [context.WithDeadline], which is done by then too, is entered with its
// parent, and that takes a sixth of the time of dialling in a burst of thousands.
type until struct {
	context.Context
	deadline time.Time // zero: there is none
}

func (u until) Deadline() (time.Time, bool) { return u.deadline, !u.deadline.IsZero() }

// failed ends a tenure without a response. It returns the reason: that of writing, where it failed too.
func (t *tenure) failed(reading error) error {
	defer t.end(false)
	if _, err := t.written.outcome(); err != nil {
		return err
	}
	return reading
}

// end keeps the link for the next request where this one's response was read to its end, and closes it otherwise.
func (t *tenure) end(whole bool) {
	released := t.release() && (t.lingering == nil || t.lingering.Stop()) // else a deadline may be set later
	written, err := t.written.outcome()
	if whole && written && err == nil && released && !t.last {
		t.http1.put(t.target.place, t.link)
	} else {
		t.link.conn.Close()
	}
}

// linger has a timer of its own: the connection's moved to and fro is dear where there are thousands.
func (t *tenure) linger() {
	t.lingering = time.AfterFunc(linger, func() { t.link.conn.SetReadDeadline(time.Unix(1, 0)) })
}

// chunkedBody is the body of a response that comes in chunks.
type chunkedBody struct {
	chunks
	tenure *tenure
}

func (b *chunkedBody) each(r reader) {
	for len(b.link.held) > 0 {
		if r.read(nil) {
			return
		}
	}
	if l := b.link; l.plain() && l.wire.adopted && l.wire.socket.each(r) {
		return
	}
	toTheEnd(r)
}

func (b *chunkedBody) linger() { b.tenure.linger() }

func (b *chunkedBody) Close() error {
	b.tenure.end(b.whole)
	return nil
}

// otherBody is the body of any other response.
type otherBody struct {
	body   io.Reader
	in     *bufio.Reader // of the link, which body reads
	ended  bool
	tenure *tenure
}

func (b *otherBody) arrived() clock.Instant { return clock.Instant(b.tenure.link.wire.arrived.Load()) }

func (b *otherBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.ended = err == io.EOF
	return n, err
}

func (b *otherBody) each(r reader) { toTheEnd(r) }

func (b *otherBody) linger() { b.tenure.linger() }

func (b *otherBody) Close() error {
	b.tenure.end(b.ended && b.in.Buffered() == 0 && len(b.tenure.link.held) == 0)
	return nil
}
