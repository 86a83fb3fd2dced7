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
// the memory of a stream, and reads a chunked body through two locks and a second buffer. Here the goroutine of a request does all; net/http writes what the heads of
// all requests have in common, once ([newTarget]), and parses those of responses ([http.ReadResponse]). A chunked body is read by [chunks].
type http1 struct {
	dial        dial
	tls         *tls.Config
	clock       clock.Clock
	idleTimeout time.Duration

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
	t := &tenure{http1: h, target: c.target, last: c.single}
	if err := t.begin(ctx, c); err != nil {
		return nil, nil, err
	}
	t.written = t.link.send(c)
	response, in, err := t.link.answer(c.trace)
	if err != nil {
		return nil, nil, t.failed(err)
	}
	t.last = t.last || response.Close
	if isChunked(response) {
		return response, &chunkedBody{chunks{link: t.link}, t}, nil
	}
	return response, &otherBody{body: response.Body, in: in, tenure: t}, nil
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
	http1   *http1
	target  *target
	link    *link
	written writing
	last    bool        // the request is the connection's last
	release func() bool // from the request's context, which cuts reads and writes short when it is done; false where it did
}

// begin finds a link to the target.
func (t *tenure) begin(ctx context.Context, c *call) (err error) {
	t.link = t.http1.take(t.target.place, c.deadline)
	reused := t.link != nil
	if !reused {
		if t.link, err = t.http1.connect(ctx, c); err != nil {
			return err
		}
	}
	l := t.link
	t.release = context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })
	c.trace.gotConn(l.wire, reused)
	return nil
}

func (h *http1) connect(ctx context.Context, c *call) (*link, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	conn, err := h.dial(ctx, "tcp", c.target.address)
	if err != nil {
		return nil, err
	}
	l := &link{wire: newWire(conn, h.clock)}
	l.conn = l.wire
	if c.target.url.Scheme == "https" {
		config := h.tls.Clone()
		config.ServerName = c.target.url.Hostname()
		encrypted := tls.Client(l.wire, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		l.conn = encrypted
	}
	l.conn.SetDeadline(c.deadline)
	return l, nil
}

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
	released := t.release()
	written, err := t.written.outcome()
	if whole && written && err == nil && released && !t.last {
		t.http1.put(t.target.place, t.link)
	} else {
		t.link.conn.Close()
	}
}

// rest reads what follows of a body. A deadline would move the connection's timer to and fro, which is dear where there are thousands.
func (t *tenure) rest(of io.Reader) bool {
	wait := time.AfterFunc(linger, func() { t.link.conn.SetReadDeadline(time.Unix(1, 0)) })
	io.Copy(io.Discard, of)
	inTime := wait.Stop()
	t.last = t.last || !inTime // what the timer does may still be to come
	return inTime
}

// chunkedBody is the body of a response that comes in chunks.
type chunkedBody struct {
	chunks
	tenure *tenure
}

func (b *chunkedBody) rest() bool { return b.err == io.EOF || b.tenure.rest(&b.chunks) }

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

func (b *otherBody) rest() bool { return b.tenure.rest(b) }

func (b *otherBody) Close() error {
	b.tenure.end(b.ended && b.in.Buffered() == 0 && len(b.tenure.link.held) == 0)
	return nil
}
