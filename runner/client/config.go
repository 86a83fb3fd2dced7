package client

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
)

// DefaultIdleTimeout closes idle connections before a service does: the common ones close theirs after five seconds.
const DefaultIdleTimeout = 4 * time.Second

// Config says how requests are made. All of it belongs to the caller; none is changed.
type Config struct {
	BaseURLs []string      // of the OpenAI-compatible API, such as http://127.0.0.1:8000/v1; several take turns. Userinfo becomes basic authorization
	API      string        // "chat" or "completions"
	Header   http.Header   // sent with each request, before the client's own only where a name is the same; x-request-id is always the client's
	Timeout  time.Duration // for a whole request, from Send's start to the response's end; 0: none

	IdleTimeout   time.Duration // an idle connection is closed after it; 0: DefaultIdleTimeout
	Streams       int64         // most requests in flight at once
	HTTP2         bool          // HTTP/2 and nothing else, with prior knowledge over plain http; false: HTTP/1.1 and nothing else
	SkipVerifyTLS bool          // take any certificate

	Clock     clock.Clock
	RequestID string              // starts the x-request-id of each request, which ends in "-" and the record's index; empty: eight random hex digits
	Redact    func(string) string // takes the secrets out of text from outside; nil: there are none
}

// Client sends requests to one service. It is safe for use by several goroutines at once.
type Client struct {
	config    Config
	bases     []base
	way       way
	single    bool         // each request has a connection of its own, as Preflight found that the service wants it
	keptOpen  atomic.Int64 // responses that had not ended soon after [DONE]
	exchanges sync.Pool    // of *exchange
	decoders  sync.Pool    // of *decoder
}

// base is one address of the service.
type base struct {
	index      int64 // among the addresses
	userinfo   bool  // it was given a user and a password
	root       *url.URL
	completion target
	models     target
}

// New makes a client. It opens no connection, and reads nothing from the environment: a proxy set there is not used, since what is measured would
// be the proxy too.
func New(config Config) (*Client, error) {
	path, err := completionPath(config.API)
	if err != nil {
		return nil, err
	}
	if len(config.BaseURLs) == 0 {
		return nil, fmt.Errorf("a client needs a URL")
	}
	if config.Streams < 1 {
		return nil, fmt.Errorf("streams must be at least 1, not %d", config.Streams)
	}
	if config.IdleTimeout == 0 {
		config.IdleTimeout = DefaultIdleTimeout
	}
	if config.Redact == nil {
		config.Redact = func(text string) string { return text }
	}
	if config.RequestID == "" {
		config.RequestID = randomID()
	}
	c := &Client{config: config}
	for _, text := range config.BaseURLs {
		b, err := newBase(text, path, config.Header)
		if err != nil {
			return nil, err
		}
		b.index = int64(len(c.bases))
		c.bases = append(c.bases, b)
	}
	c.way = newHTTP1(config)
	if config.HTTP2 {
		c.way = http2{newTransport(config)}
	}
	c.exchanges.New = func() any { return &exchange{client: c} }
	c.decoders.New = newDecoder
	return c, nil
}

// Close closes the idle connections. Requests in flight are not touched. The client should not be used after it: it may keep no connection.
func (c *Client) Close() { c.way.closeIdle() }

// KeptOpen is how many responses so far had not ended soon after [DONE].
func (c *Client) KeptOpen() int64 { return c.keptOpen.Load() }

func completionPath(api string) (string, error) {
	switch api {
	case "chat":
		return "chat/completions", nil
	case "completions":
		return "completions", nil
	}
	return "", fmt.Errorf("api must be chat or completions, not %q", api)
}

func newBase(text, path string, header http.Header) (base, error) {
	root, err := url.Parse(text)
	if err != nil {
		return base{}, fmt.Errorf("parsing the service's URL: %w", withoutURL(err))
	}
	if root.Scheme != "http" && root.Scheme != "https" || root.Host == "" {
		return base{}, fmt.Errorf("the service's URL must start with http:// or https:// and a host: %s", root.Redacted())
	}
	common := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"sweetspot"},
	}
	b := base{root: root, userinfo: root.User != nil}
	if b.userinfo {
		password, _ := root.User.Password()
		pair := base64.StdEncoding.EncodeToString([]byte(root.User.Username() + ":" + password))
		common.Set("Authorization", "Basic "+pair)
		root.User = nil
	}
	for name, values := range header {
		common[http.CanonicalHeaderKey(name)] = values
	}
	common.Del("X-Request-Id")
	if root.Path == "" {
		root.Path = "/" // joined to nothing, a path would be a relative one
	}
	if b.completion, err = newTarget(http.MethodPost, root.JoinPath(path), common); err != nil {
		return base{}, err
	}
	asking := common.Clone()
	asking.Set("Accept", "application/json")
	b.models, err = newTarget(http.MethodGet, root.JoinPath("models"), asking)
	return b, err
}

// withoutURL takes the wrapping that quotes the whole URL, and what secrets it has, off an error of [url.Parse].
func withoutURL(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}

func randomID() string {
	var b [4]byte
	rand.Read(b[:]) // never returns an error
	return hex.EncodeToString(b[:])
}

// baseOf is where the requests of a session go: sessions take the addresses in turn, and a session keeps its own, which has its prefixes cached.
func (c *Client) baseOf(session int64) *base {
	return &c.bases[uint64(max(0, session))%uint64(len(c.bases))]
}
