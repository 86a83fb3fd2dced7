package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"sweetspot/runner/clock"
)

// plain carries requests over HTTP/1.1 without TLS. It calls the hooks of [httptrace] that trace has.
//
// [http.Transport] has two goroutines with their buffers for each connection, which costs some 60 µs a request and half the memory of a stream, and
// reads a chunked body through two locks and a second buffer. Here the goroutine of a request does all; net/http writes the request and parses the
// head of the response ([http.Request.Write], [http.ReadResponse]), and a chunked body is read by [chunks].
type plain struct {
	dial        dial // its connections are wires
	clock       clock.Clock
	idleTimeout time.Duration

	mu     sync.Mutex
	idle   map[string][]*link // by address; the last was used last
	closed bool
}

func newPlain(config Config) *plain {
	return &plain{
		dial: wired((&net.Dialer{}).DialContext, config.Clock), clock: config.Clock, idleTimeout: config.IdleTimeout, idle: map[string][]*link{},
	}
}

// RoundTrip sends request once, whatever happens, and returns when the head of its response has arrived. A chunked body is a [source].
func (p *plain) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	hooks := httptrace.ContextClientTrace(ctx)
	if hooks == nil {
		hooks = new(httptrace.ClientTrace)
	}
	t := &tenure{plain: p, address: dialAddress(request.URL)}
	reused, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	if hooks.GotConn != nil {
		hooks.GotConn(httptrace.GotConnInfo{Conn: t.link.wire, Reused: reused})
	}
	t.written = t.link.send(request, hooks)
	response, err := t.link.answer(request, hooks)
	if err != nil {
		return nil, t.failed(err)
	}
	if isChunked(response) {
		response.Body = &chunkedBody{chunks{link: t.link, conn: t.link.Conn, clock: p.clock}, t}
	} else {
		response.Body = &otherBody{body: response.Body, last: response.Close, tenure: t}
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

// take is the connection to address that was used last, nil where there is none that can be used.
func (p *plain) take(address string) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	for idle := p.idle[address]; len(idle) > 0; {
		l := idle[len(idle)-1]
		idle[len(idle)-1] = nil
		idle = idle[:len(idle)-1]
		p.idle[address] = idle
		if !p.expired(l) && l.alive() {
			return l
		}
		l.Close()
	}
	return nil
}

func (p *plain) expired(l *link) bool { return p.clock.Now().Sub(l.since) >= p.idleTimeout }

// put keeps a connection for the next request, and closes those that have been idle for too long.
func (p *plain) put(address string, l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return
	}
	l.since = p.clock.Now()
	idle := append(p.idle[address], l)
	for p.expired(idle[0]) {
		idle[0].Close()
		idle[0] = nil
		idle = idle[1:]
	}
	p.idle[address] = idle
}

// CloseIdleConnections closes what is idle now, and what carries a request once that has ended.
func (p *plain) CloseIdleConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, idle := range p.idle {
		for _, l := range idle {
			l.Close()
		}
	}
	p.idle, p.closed = nil, true
}

// tenure is a link while it carries one request.
type tenure struct {
	plain   *plain
	address string
	link    *link
	written <-chan error
	release func() bool // from the request's context, which cuts reads and writes short when it is done; false where it did
}

// begin finds a link. reused says that it has carried a request before.
func (t *tenure) begin(ctx context.Context) (reused bool, err error) {
	t.link = t.plain.take(t.address)
	reused = t.link != nil
	if !reused {
		conn, err := t.plain.dial(ctx, "tcp", t.address)
		if err != nil {
			return false, err
		}
		t.link = &link{wire: wireOf(conn)}
	}
	l := t.link
	t.release = context.AfterFunc(ctx, func() { l.SetDeadline(time.Unix(1, 0)) })
	return reused, nil
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
	if whole && released {
		t.plain.put(t.address, t.link)
	} else {
		t.link.Close()
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
	last   bool // the response is the connection's last
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
	b.tenure.end(b.ended && !b.last)
	return nil
}
