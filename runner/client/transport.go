package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

const maxHeadBytes = 64 << 10 // of a response

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport carries requests over HTTP/2.
func newTransport(config Config) *http.Transport {
	t := &http.Transport{
		DialContext:            (&net.Dialer{}).DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: config.SkipVerifyTLS},
		DisableCompression:     true,
		IdleConnTimeout:        config.IdleTimeout,
		MaxResponseHeaderBytes: maxHeadBytes,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}
