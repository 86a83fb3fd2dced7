package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// pipes is a network of two: what the client dials, the service accepts.
type pipes struct {
	conns chan net.Conn
	gone  chan struct{}
	dials atomic.Int64
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		p.dials.Add(1)
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.gone); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// rig is a client and what it is connected to, in a bubble of its own time.
type rig struct {
	t      *testing.T
	client *Client
	net    *pipes
}

// inBubble runs test with a client of a service with that handler, in virtual time.
func inBubble(t *testing.T, handler http.HandlerFunc, configure func(*Config), test func(rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), gone: make(chan struct{})}
		server := &http.Server{Handler: handler}
		go server.Serve(network)
		defer server.Close()
		config := Config{BaseURLs: []string{"http://service/v1"}, API: "chat", Timeout: 30 * time.Second, Streams: 1000, Clock: clock.New()}
		if configure != nil {
			configure(&config)
		}
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		g := rig{t, c, network}
		g.dialBy(network.dial)
		test(g)
	})
}

// dialBy makes the client connect by dial.
func (g rig) dialBy(dial dial) {
	switch way := g.client.way.(type) {
	case *http1:
		way.dial = dial
	case http2:
		way.transport.DialContext = dial
	}
}

// send sends one request, and returns its record and when after its dispatch firstToken was called, nil where it was not.
func (g rig) send(ctx context.Context) (measure.Record, *time.Duration) {
	r, called, _ := g.sendRequest(ctx, workload.Request{Body: []byte(`{"stream":true}`)})
	return r, called
}

func (g rig) sendRequest(ctx context.Context, request workload.Request) (measure.Record, *time.Duration, workload.Answer) {
	g.t.Helper()
	var called *time.Duration
	r := measure.Record{Dispatched: g.client.config.Clock.Now()}
	answer := g.client.Send(ctx, request, &r, func() {
		if called != nil {
			g.t.Error("firstToken was called twice")
		}
		after := g.client.config.Clock.Now().Sub(r.Dispatched)
		called = &after
	})
	checkRecord(g.t, &r)
	return r, called, answer
}

// checkRecord holds what is true of every record, however the request ended.
func checkRecord(t *testing.T, r *measure.Record) {
	t.Helper()
	last := r.Dispatched
	for _, i := range []clock.Instant{r.FirstByte, r.FirstEvent, r.FirstToken, r.LastToken, r.Ended} {
		if i.Happened() && i < last {
			t.Errorf("instants out of order: %+v", r)
		}
		last = max(last, i)
	}
	if !r.Ended.Happened() || r.Status == "" || (r.Status == measure.OK) != (r.Error == nil) {
		t.Errorf("status %q, error %v, ended %d: want all of them said", r.Status, r.Error, r.Ended)
	}
	if r.FirstToken.Happened() != (r.Chunks != nil) || r.FirstToken.Happened() != (r.Sample != nil) {
		t.Errorf("first token %d with %d chunks, sample %v", r.FirstToken, len(r.Chunks), r.Sample)
	}
}

func text(p *string) string {
	if p == nil {
		return "null"
	}
	return *p
}

func number(p *int64) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

// after is an instant of r, counted from its dispatch.
func after(r measure.Record, i clock.Instant) string {
	if !i.Happened() {
		return "null"
	}
	return i.Sub(r.Dispatched).String()
}

// script answers with events: a duration is a wait, a text is written and flushed, an error breaks the connection.
func script(steps ...any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		play(w, r, steps...)
	}
}

func play(w http.ResponseWriter, r *http.Request, steps ...any) {
	for _, s := range steps {
		switch s := s.(type) {
		case time.Duration:
			select {
			case <-time.After(s):
			case <-r.Context().Done():
				return
			}
		case string:
			io.WriteString(w, s)
			w.(http.Flusher).Flush()
		case error:
			panic(http.ErrAbortHandler)
		}
	}
}

const (
	role     = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	stop     = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	twoUsed  = `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n"
	noneUsed = `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}` + "\n\n"
	done     = "data: [DONE]\n\n"
)

func content(s string) string {
	return fmt.Sprintf("data: %s\n\n", delta(fmt.Sprintf(`"content":%q`, s)))
}
func reasoning(s string) string {
	return fmt.Sprintf("data: %s\n\n", delta(fmt.Sprintf(`"reasoning":%q`, s)))
}
