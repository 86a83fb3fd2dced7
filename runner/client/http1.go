package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"

	"sweetspot/runner/clock"
)

// http1 carries requests over HTTP/1.1, with TLS or without. It calls the hooks of [httptrace] that trace has.
//
// [http.Transport] has two goroutines with their buffers for each connection, which at 20 events a request took a fifth of the CPU and hold nearly half
// the memory of a stream, and reads a chunked body through two locks and a second buffer. Here the goroutine of a request does all; net/http writes the request and parses the
// head of the response ([http.Request.Write], [http.ReadResponse]), and a chunked body is read by [chunks].
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

// RoundTrip sends request once, whatever happens, and returns when the head of its response has arrived. A chunked body is a [source].
func (h *http1) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	hooks := httptrace.ContextClientTrace(ctx)
	if hooks == nil {
		hooks = new(httptrace.ClientTrace)
	}
	t := &tenure{http1: h, place: request.URL.Scheme + "://" + dialAddress(request.URL)}
	reused, err := t.begin(ctx, request.URL)
	if err != nil {
		return nil, err
	}
	if hooks.GotConn != nil {
		hooks.GotConn(httptrace.GotConnInfo{Conn: t.link.wire, Reused: reused})
	}
	t.last = request.Close
	t.written = t.link.send(request, hooks)
	response, in, err := t.link.answer(request, hooks)
	if err != nil {
		return nil, t.failed(err)
	}
	t.last = t.last || response.Close
	if isChunked(response) {
		response.Body = &chunkedBody{chunks{link: t.link}, t}
	} else {
		response.Body = &otherBody{body: response.Body, in: in, tenure: t}
	}
	return response, nil
}

// dialAddress is the host and port of a URL.
func dialAddress(to *url.URL) string {
	port := to.Port()
	if port == "" {
		port = to.Scheme
	}
	return net.JoinHostPort(to.Hostname(), port)
}

// take is the connection to a place that was used last, nil where there is none that can be used.
func (h *http1) take(place string) *link {
	for {
		l := h.pop(place)
		if l == nil || !h.expired(l) && l.alive() {
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

// CloseIdleConnections closes what is idle now, and what carries a request once that has ended.
func (h *http1) CloseIdleConnections() {
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
	place   string
	link    *link
	written <-chan error
	last    bool        // the request is the connection's last
	release func() bool // from the request's context, which cuts reads and writes short when it is done; false where it did
}

// begin finds a link to where a URL leads. reused says that it has carried a request before.
func (t *tenure) begin(ctx context.Context, to *url.URL) (reused bool, err error) {
	t.link = t.http1.take(t.place)
	reused = t.link != nil
	if !reused {
		if t.link, err = t.http1.connect(ctx, to); err != nil {
			return false, err
		}
	}
	l := t.link
	t.release = context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })
	return reused, nil
}

func (h *http1) connect(ctx context.Context, to *url.URL) (*link, error) {
	conn, err := h.dial(ctx, "tcp", dialAddress(to))
	if err != nil {
		return nil, err
	}
	l := &link{wire: &wire{Conn: conn, clock: h.clock}}
	l.conn = l.wire
	if to.Scheme == "https" {
		config := h.tls.Clone()
		config.ServerName = to.Hostname()
		encrypted := tls.Client(l.wire, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		l.conn = encrypted
	}
	return l, nil
}

// failed ends a tenure without a response. It returns the reason: that of writing, where it failed too.
func (t *tenure) failed(reading error) error {
	defer t.end(false)
	select {
	case writing := <-t.written:
		if writing != nil {
			return writing
		}
	default:
	}
	return reading
}

// end keeps the link for the next request where this one's response was read to its end, and closes it otherwise.
func (t *tenure) end(whole bool) {
	released := t.release()
	select {
	case err := <-t.written:
		whole = whole && err == nil
	default:
		whole = false
	}
	if whole && released && !t.last {
		t.http1.put(t.place, t.link)
	} else {
		t.link.conn.Close()
	}
}

// chunkedBody is the body of a response that comes in chunks.
type chunkedBody struct {
	chunks
	tenure *tenure
}

// Close is to be called once.
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

func (b *otherBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.ended = err == io.EOF
	return n, err
}

// Close is to be called once.
func (b *otherBody) Close() error {
	b.tenure.end(b.ended && b.in.Buffered() == 0 && len(b.tenure.link.held) == 0)
	return nil
}
