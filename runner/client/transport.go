package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"

	"sweetspot/runner/clock"
)

const (
	headReadBuffer   = 1 << 10 // the head of a response is read through it
	bodyReadBuffer   = 4 << 10 // so is its body over TLS, and of small chunks one read takes no more
	connWriteBuffer  = 2 << 10 // the head of a request; what of its body does not fit goes past it
	maxHeaderBytes   = 64 << 10
	idleConnsPerHost = 1 // over the streams: Preflight's
)

func newTransport(config Config) *http.Transport {
	t := &http.Transport{
		DialContext:            wired((&net.Dialer{}).DialContext, config.Clock),
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: config.SkipVerifyTLS},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    int(config.Streams) + idleConnsPerHost,
		IdleConnTimeout:        config.IdleTimeout,
		ReadBufferSize:         headReadBuffer,
		WriteBufferSize:        connWriteBuffer,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              new(http.Protocols),
	}
	if slices.ContainsFunc(config.BaseURLs, func(url string) bool { return strings.HasPrefix(url, "https") }) {
		t.ReadBufferSize = bodyReadBuffer
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
