//go:build !linux

package client

import (
	"net"
	"time"
)

// loops would wait for connections and read them; here the runtime waits, and each is read by a goroutine of its own.
type loops struct{}

func (*loops) adopt(net.Conn, *socket) bool { return false }

func (*loops) close() {}

// socket would be a connection that a loop reads.
type socket struct {
	net.Conn
	cut <-chan struct{}
}

func (*socket) read([]byte) (n int, now time.Time, age time.Duration, err error) { return }

func (*socket) each(reader) bool { return false }

func (*socket) silent() bool { return false }
