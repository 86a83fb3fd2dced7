package client

import (
	"net/http/httptrace"
	"sync/atomic"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// trace takes the instants of a request's way to the service. Goroutines that write for HTTP/2 or a long request may call it after the request has
// been given up, so it outlives Send and is never used again.
type trace struct {
	clock     clock.Clock
	wire      atomic.Pointer[wire] // nil before there is a connection, and where it carries several requests at once
	reused    atomic.Bool
	whole     atomic.Bool // nothing of the request is left to be written
	connected atomic.Int64
	wrote     atomic.Int64
	firstByte atomic.Int64
}

// hooks are for [http.Transport], whose connections carry several requests at once.
func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { t.gotConn(nil, info.Reused) },
		WroteRequest:         func(info httptrace.WroteRequestInfo) { t.wroteRequest(info.Err) },
		GotFirstResponseByte: t.gotFirstByte,
	}
}

// gotConn is called with the connection that the request has for itself, nil where it shares one.
func (t *trace) gotConn(w *wire, reused bool) {
	t.reused.Store(reused)
	t.connected.Store(int64(t.clock.Now()))
	if w != nil {
		w.sending.Store(t)
		t.wire.Store(w)
	}
}

// wroteRequest is called when the request has been handed to a buffer, which may have written it or be about to. What writes it stamps it; over a
// connection that carries several requests, this is as near as can be told.
func (t *trace) wroteRequest(err error) {
	if t.wire.Load() == nil {
		t.wrote.Store(int64(t.clock.Now()))
	}
	t.whole.Store(err == nil)
}

func (t *trace) gotFirstByte() { t.firstByte.Store(int64(t.arrived())) }

// arrived is when the newest bytes of the response arrived: now, where the connection does not say.
func (t *trace) arrived() clock.Instant {
	if w := t.wire.Load(); w != nil {
		return clock.Instant(w.arrived.Load())
	}
	return t.clock.Now()
}

// fill writes what was seen so far to r. A goroutine that writes may stamp only after the one that reads: what is answered is then
// taken to have been written by the answer's first byte.
func (t *trace) fill(r *measure.Record) {
	r.Connected = clock.Instant(t.connected.Load())
	if t.whole.Load() {
		r.Wrote = clock.Instant(t.wrote.Load())
	}
	r.FirstByte = clock.Instant(t.firstByte.Load())
	if r.FirstByte.Happened() {
		r.Wrote = min(r.Wrote, r.FirstByte)
	}
	r.ConnReused = t.reused.Load()
}
