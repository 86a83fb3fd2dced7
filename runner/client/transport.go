package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"sweetspot/runner/clock"
)

const (
	bodyReadBuffer   = 4 << 10
	connWriteBuffer  = 2 << 10 // the head of a request; what of its body does not fit goes past it
	idleConnsPerHost = 1       // over the streams: Preflight's
)

// newTransport carries requests over TLS and over HTTP/2.
func newTransport(config Config) *http.Transport {
	t := &http.Transport{
		DialContext:            wired((&net.Dialer{}).DialContext, config.Clock),
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: config.SkipVerifyTLS},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    int(config.Streams) + idleConnsPerHost,
		IdleConnTimeout:        config.IdleTimeout,
		ReadBufferSize:         bodyReadBuffer,
		WriteBufferSize:        connWriteBuffer,
		MaxResponseHeaderBytes: maxHeadBytes,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(!config.HTTP2)
	t.Protocols.SetHTTP2(config.HTTP2)
	t.Protocols.SetUnencryptedHTTP2(config.HTTP2)
	return t
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// wired makes wires of a dial function's connections.
func wired(dial dial, clk clock.Clock) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn, clock: clk}, nil
	}
}

// wireOf is the wire of a connection, itself or under TLS.
func wireOf(conn net.Conn) *wire {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	w, _ := conn.(*wire)
	return w
}
