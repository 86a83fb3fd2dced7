package client

import (
	"net"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
)

// wire is a connection that notes when bytes arrive and leave. One goroutine may read it while another writes.
type wire struct {
	net.Conn
	arrivals *arrivals // nil: bytes arrive when they are read
	clock    clock.Clock
	arrived  atomic.Int64
	sending  atomic.Pointer[trace] // of the request that is under way
}

func newWire(conn net.Conn, c clock.Clock) *wire {
	return &wire{Conn: conn, arrivals: newArrivals(conn), clock: c}
}

func (w *wire) Read(p []byte) (n int, err error) {
	at := clock.Instant(0)
	if w.arrivals == nil {
		n, err = w.Conn.Read(p)
		at = w.clock.Now()
	} else {
		var now time.Time
		var age time.Duration
		n, now, age, err = w.arrivals.read(p)
		at = w.clock.At(now).Add(-age)
	}
	if n > 0 {
		w.arrived.Store(max(w.arrived.Load(), int64(at))) // the clocks are not read at the same instant
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if t := w.sending.Load(); t != nil && err == nil {
		t.wrote.Store(int64(w.clock.Now()))
	}
	return n, err
}
