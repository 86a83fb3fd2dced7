package client

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
)

// wire is a connection that notes when bytes arrive and leave. One goroutine may read it while another writes.
type wire struct {
	net.Conn
	clock   clock.Clock
	arrived atomic.Int64
	sending atomic.Pointer[trace] // of the request that is under way
	adopted bool                  // it is the socket; else bytes arrive when they are read
	socket  socket
}

func (w *wire) init(conn net.Conn, l *loops, c clock.Clock) {
	w.Conn, w.clock = conn, c
	if w.adopted = l.adopt(conn, &w.socket); w.adopted {
		w.Conn = &w.socket
	}
}

func (w *wire) Read(p []byte) (n int, err error) {
	at := clock.Instant(0)
	if !w.adopted {
		n, err = w.Conn.Read(p)
		at = w.clock.Now()
	} else {
		var now time.Time
		var age time.Duration
		n, now, age, err = w.socket.read(p)
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

// giveUpAt cuts reads and writes short when ctx is done, until it is released. That is false where the connection can't be used any more.
func (w *wire) giveUpAt(ctx context.Context) (release func() bool) {
	if w.adopted {
		w.socket.cut = ctx.Done()
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { w.SetDeadline(time.Unix(1, 0)) })
}
