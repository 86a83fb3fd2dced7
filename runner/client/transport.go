package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"

	"sweetspot/runner/clock"
)

const (
	connReadBuffer   = 4 << 10 // chunk headers are read through it, so it is also the most that one read takes of small chunks
	connWriteBuffer  = 2 << 10 // a request's header; what of a body does not fit goes past it
	maxHeaderBytes   = 64 << 10
	idleConnsPerHost = 1 // over the streams: Preflight's
)

func newTransport(config Config) *http.Transport {
	t := &http.Transport{
		DialContext:            stamping((&net.Dialer{}).DialContext, config.Clock),
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: config.SkipVerifyTLS},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    int(config.Streams) + idleConnsPerHost,
		IdleConnTimeout:        config.IdleTimeout,
		ReadBufferSize:         connReadBuffer,
		WriteBufferSize:        connWriteBuffer,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(!config.HTTP2)
	t.Protocols.SetHTTP2(config.HTTP2)
	t.Protocols.SetUnencryptedHTTP2(config.HTTP2)
	return t
}

// stampedConn notes when bytes arrive and leave. A response may be read by two goroutines in turn, its first bytes by one and the rest by another,
// and what lies between is no part of what is measured; nor does the transport say when the last byte of a request has left.
type stampedConn struct {
	net.Conn
	clock   clock.Clock
	arrived atomic.Int64
	sending atomic.Pointer[trace] // of the request that is under way
}

// Read reads and stamps.
func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.arrived.Store(int64(c.clock.Now()))
	}
	return n, err
}

// Write writes and stamps.
func (c *stampedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if t := c.sending.Load(); t != nil && err == nil {
		t.wrote.Store(int64(c.clock.Now()))
	}
	return n, err
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// stamping makes the connections of a dial function ones that stamp.
func stamping(dial dial, clk clock.Clock) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stampedConn{Conn: conn, clock: clk}, nil
	}
}

// stamped is the connection below conn, itself or under TLS, that stamps what arrives.
func stamped(conn net.Conn) *stampedConn {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	s, _ := conn.(*stampedConn)
	return s
}
