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
		Proxy:                  nil,
		DialContext:            stampingDialer(&net.Dialer{}, config.Clock),
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

// stampedConn notes when bytes last arrived. A response may be read by two goroutines in turn, its first bytes by one and the rest by another,
// and what lies between is no part of what is measured.
type stampedConn struct {
	net.Conn
	clock   clock.Clock
	arrived atomic.Int64
}

// Read reads and stamps.
func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.arrived.Store(int64(c.clock.Now()))
	}
	return n, err
}

func stampingDialer(dialer *net.Dialer, clk clock.Clock) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
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
