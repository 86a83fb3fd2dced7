package client

import (
	"net"
	"sync/atomic"

	"sweetspot/runner/clock"
)

// wire is a connection that notes when bytes arrive and leave. One goroutine may read it while another writes.
type wire struct {
	net.Conn
	clock   clock.Clock
	arrived atomic.Int64
	sending atomic.Pointer[trace] // of the request that is under way
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.arrived.Store(int64(w.clock.Now()))
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
