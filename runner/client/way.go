package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"time"

	"sweetspot/runner/clock"
)

// way carries requests to the service: HTTP/1.1 or HTTP/2.
type way interface {
	// send sends a request once, whatever happens, and returns when the head of its response has arrived. The body must be closed, once.
	send(ctx context.Context, c *call) (*http.Response, body, error)
	// closeIdle closes the connections that carry no request.
	closeIdle()
}

// call is one request.
type call struct {
	target   *target
	id       string // of the x-request-id field; empty: there is none
	body     []byte
	single   bool      // it is its connection's last
	deadline time.Time // of all of it, the reading of the response included; zero: there is none
	trace    *trace
}

// target is a page of the service, and what all requests to it have in common.
type target struct {
	method  string
	url     *url.URL
	header  http.Header
	address string // host and port
	numeric bool   // nothing has to be looked up for it
	place   string // scheme and address: what a connection can be used again for
	head    []byte // as HTTP/1.1 writes it, up to where the fields of a call follow
}

func newTarget(method string, to *url.URL, header http.Header) (target, error) {
	t := target{method: method, url: to, header: header, address: dialAddress(to), numeric: isNumeric(to.Hostname())}
	t.place = to.Scheme + "://" + t.address
	var head bytes.Buffer
	if err := t.request().Write(&head); err != nil {
		return target{}, err
	}
	t.head = bytes.Replace(bytes.TrimSuffix(head.Bytes(), lineEnd), []byte("\r\nContent-Length: 0\r\n"), lineEnd, 1)
	return t, nil
}

var lineEnd = []byte("\r\n")

// dialAddress is the host and port of a URL.
func dialAddress(to *url.URL) string {
	port := to.Port()
	if port == "" {
		port = to.Scheme
	}
	return net.JoinHostPort(to.Hostname(), port)
}

func isNumeric(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// request is one without a body.
func (t *target) request() *http.Request {
	return &http.Request{Method: t.method, URL: t.url, Host: t.header.Get("Host"), Header: t.header}
}

// bounded is ctx with the deadline.
func (c *call) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, c.deadline)
}

// body is that of a response.
type body interface {
	io.ReadCloser
	// arrived is when what was read last had arrived.
	arrived() clock.Instant
	// each has r read the body, whenever there may be something to read, until that ends: from one goroutine at a time, not always the caller's.
	each(r reader)
	// linger gives what follows no more time than linger to come.
	linger()
}

// reader reads a body once. The buffer is lent for the call, nil where there is none to lend.
type reader interface {
	read(buf []byte) (ended bool)
}

func toTheEnd(r reader) {
	for !r.read(nil) {
	}
}

var errNotHTTP2 = errors.New("the service answered")

// http2 carries requests over HTTP/2.
type http2 struct{ transport *http.Transport }

func (h http2) send(ctx context.Context, c *call) (*http.Response, body, error) {
	ctx, cancel := c.bounded(ctx)
	// [http.NewRequest] would give the request a body that can be read again, and with that the transport may send it again.
	request := c.target.request()
	if c.id != "" {
		request.Header = request.Header.Clone()
		request.Header["X-Request-Id"] = []string{c.id}
	}
	if len(c.body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	}
	response, err := h.transport.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, c.trace.hooks())))
	if err == nil && response.ProtoMajor != 2 { // where TLS leaves the choice to the service, the transport takes what it gets
		response.Body.Close()
		err = fmt.Errorf("%w over %s", errNotHTTP2, response.Proto)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return response, &http2Body{response.Body, c.trace, cancel}, nil
}

func (h http2) closeIdle() { h.transport.CloseIdleConnections() }

type http2Body struct {
	io.ReadCloser
	trace  *trace
	cancel context.CancelFunc
}

func (b *http2Body) arrived() clock.Instant { return b.trace.clock.Now() }

func (b *http2Body) each(r reader) { toTheEnd(r) }

func (b *http2Body) linger() { time.AfterFunc(linger, b.cancel) }

func (b *http2Body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
