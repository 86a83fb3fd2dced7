package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// quiet is the log of a service that is expected to complain.
var quiet = log.New(io.Discard, "", 0)

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	if config.API == "" {
		config.API = "chat"
	}
	config.Streams, config.Clock = max(config.Streams, 8), clock.New()
	if config.Timeout == 0 {
		config.Timeout = 20 * time.Second
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func sendOne(t *testing.T, c *Client, index int64) measure.Record {
	t.Helper()
	r := measure.Record{Index: index, Dispatched: c.config.Clock.Now()}
	c.Send(t.Context(), workload.Request{Body: []byte(`{"stream":true}`)}, &r, func() {})
	checkRecord(t, &r)
	return r
}

func TestTheRequestOnTheWire(t *testing.T) {
	var got []*http.Request
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, bodies = append(got, r), append(bodies, string(body))
		script(content("a"), done)(w, r)
	}))
	defer server.Close()
	url := strings.Replace(server.URL, "http://", "http://user:pass%20word@", 1) + "/v1/?api-version=2"
	header := http.Header{"x-team": {"one", "two"}, "X-Request-Id": {"mine"}, "Host": {"models.example"}, "accept": {"*/*"}}
	for _, api := range []string{"chat", "completions"} {
		c := newClient(t, Config{BaseURLs: []string{url}, API: api, Header: header, RequestID: "point-0-1"})
		if r := sendOne(t, c, 17); r.Status != measure.OK {
			t.Fatal(text(r.Error))
		}
	}
	server.Close() // and its goroutines have ended
	for i, path := range []string{"/v1/chat/completions?api-version=2", "/v1/completions?api-version=2"} {
		r := got[i]
		user, password, _ := r.BasicAuth()
		have := []string{r.Method, r.Proto, r.URL.String(), r.Host, bodies[i], user, password, strings.Join(r.Header["X-Team"], " "),
			r.Header.Get("Content-Type"), strings.Join(r.Header["Accept"], " "),
			r.Header.Get("Accept-Encoding"), strings.Join(r.Header["X-Request-Id"], " "), r.Header.Get("User-Agent")}
		want := []string{"POST", "HTTP/1.1", path, "models.example", `{"stream":true}`, "user", "pass word", "one two",
			"application/json", "*/*", "", "point-0-1-17", "sweetspot"}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
}

// The request is written when its last byte has left, however slowly the service takes it.
func TestABodyThatTheServiceTakesSlowly(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Second)
		script(content("a"), done)(w, r)
	}
	inBubble(t, handler, nil, func(g rig) {
		for _, size := range []int{10, 1000, 100_000} {
			r, _, _ := g.sendRequest(g.t.Context(), workload.Request{Body: []byte(strings.Repeat("x", size))})
			want := "0s"
			if size > 8<<10 { // more than the service reads ahead
				want = "2s"
			}
			if r.Status != measure.OK || after(r, r.Wrote) != want || after(r, r.FirstByte) != "2s" {
				g.t.Errorf("%d bytes: %s, written after %s, first byte after %s; want %s and 2s", size, r.Status, after(r, r.Wrote), after(r, r.FirstByte), want)
			}
		}
	})
}

func TestIDsWithoutAPrefixDiffer(t *testing.T) {
	a, b := newClient(t, Config{BaseURLs: []string{"http://x"}}), newClient(t, Config{BaseURLs: []string{"http://x"}})
	if a.config.RequestID == b.config.RequestID || len(a.config.RequestID) != 8 {
		t.Errorf("prefixes %q and %q", a.config.RequestID, b.config.RequestID)
	}
}

func TestSeveralURLsTakeTurns(t *testing.T) {
	var hits [3]atomic.Int64
	var urls []string
	for i := range hits {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits[i].Add(1); script(content("a"), done)(w, r) }))
		defer server.Close()
		urls = append(urls, server.URL)
	}
	c := newClient(t, Config{BaseURLs: urls})
	for i := range int64(9) {
		for turn := range int64(2) { // of one session, at one URL
			r := measure.Record{Index: 2*i + turn, Session: i, Turn: turn, Dispatched: c.config.Clock.Now()}
			c.Send(t.Context(), workload.Request{Body: []byte(`{"stream":true}`)}, &r, func() {})
			if r.URLIndex == nil || *r.URLIndex != i%3 {
				t.Errorf("session %d was sent to URL %v, want %d", i, r.URLIndex, i%3)
			}
		}
	}
	for i := range hits {
		if got := hits[i].Load(); got != 6 {
			t.Errorf("URL %d got %d requests of 18, want 6", i, got)
		}
	}
}

// No status makes the client send again, and none sends it elsewhere.
func TestNoRetryAndNoRedirect(t *testing.T) {
	for _, status := range []int{301, 307, 308, 429, 500, 503} {
		var hits atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		}))
		c := newClient(t, Config{BaseURLs: []string{server.URL}, Header: http.Header{"Idempotency-Key": {"1"}}})
		r := sendOne(t, c, 0)
		server.Close()
		if r.Status != measure.HTTPError || *r.HTTPStatus != int64(status) || hits.Load() != 1 {
			t.Errorf("%d: %s, HTTP status %s, %d requests; want http_error and one", status, r.Status, number(r.HTTPStatus), hits.Load())
		}
		if !strings.Contains(*r.Error, "to /elsewhere, which is not followed") {
			t.Errorf("%d: %s", status, *r.Error)
		}
	}
}

// closingService answers the first request on a connection. On the second it reads and then closes without a word, as a service does whose time-out
// for idle connections runs out at that moment. It returns its URL and the count of requests it read.
func closingService(t *testing.T) (string, *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var read atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for answered := false; ; answered = true {
					request, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, request.Body)
					read.Add(1)
					if answered {
						return
					}
					body := content("a") + stop + done
					io.WriteString(conn, pacedHead+chunk(body)+chunk(""))
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), &read
}

// An idle connection that the service closes just as a request goes out fails that request, in sight, and does not make the transport send it
// again: not even with a header that says it may.
func TestAConnectionClosedAsItIsReused(t *testing.T) {
	url, read := closingService(t)
	c := newClient(t, Config{BaseURLs: []string{url}, Header: http.Header{"Idempotency-Key": {"1"}, "X-Idempotency-Key": {"1"}}})
	for i, want := range []measure.Status{measure.OK, measure.ConnectError, measure.OK, measure.ConnectError} {
		r := sendOne(t, c, int64(i))
		if r.Status != want || r.ConnReused != (want == measure.ConnectError) {
			t.Errorf("request %d: %s with conn_reused %v: %s; want %s", i, r.Status, r.ConnReused, text(r.Error), want)
		}
		if want == measure.ConnectError && !strings.HasPrefix(*r.Error, "the service closed the connection, which had been used before, without a response: ") {
			t.Errorf("request %d: %s", i, *r.Error)
		}
	}
	if got := read.Load(); got != 4 {
		t.Errorf("the service read %d requests, want 4: each once", got)
	}
}

// refusingConn fails every write after the first without writing a byte.
type refusingConn struct {
	net.Conn
	wrote bool
}

func (c *refusingConn) Write(p []byte) (int, error) {
	if c.wrote {
		return 0, errors.New("broken pipe")
	}
	c.wrote = true
	return c.Conn.Write(p)
}

// A request of which nothing was written is what the transport would send again most readily.
func TestARequestOfWhichNothingWasWritten(t *testing.T) {
	inBubble(t, script(content("a"), done), nil, func(g rig) {
		g.dialBy(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := g.net.dial(ctx, network, address)
			return &refusingConn{Conn: conn}, err
		})
		if r, _ := g.send(g.t.Context()); r.Status != measure.OK {
			g.t.Fatal(text(r.Error))
		}
		r, _ := g.send(g.t.Context())
		if r.Status != measure.ConnectError || !r.ConnReused || r.Wrote.Happened() || g.net.dials.Load() != 1 {
			g.t.Errorf("%s with conn_reused %v, wrote %v, %d connections: %s; want connect_error on the one connection",
				r.Status, r.ConnReused, r.Wrote, g.net.dials.Load(), text(r.Error))
		}
	})
}

// kubernetes-sigs/inference-perf#50: ports run out. What has run out on this machine, and what to do, is said with the failure.
func TestWhatRunsOutIsNamed(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.EADDRNOTAVAIL: "widen the range (sysctl ", syscall.EMFILE: "raise it (ulimit -n)"} {
		inBubble(t, script(done), nil, func(g rig) {
			g.dialBy(func(_ context.Context, network, _ string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", errno)}
			})
			if r, _ := g.send(g.t.Context()); r.Status != measure.ConnectError || !strings.Contains(text(r.Error), want) {
				g.t.Errorf("%s: %s; want %s", r.Status, text(r.Error), want)
			}
		})
	}
}

// A service that has closed its idle connection in time, or said something on it that nobody asked for, costs a new connection and no request.
func TestAConnectionThatIsOfNoUseAnyMore(t *testing.T) {
	for name, spoil := range map[string]func(net.Conn){
		"closed": func(conn net.Conn) { conn.Close() },
		"a word": func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
	} {
		accepted := make(chan net.Conn, 1)
		server := httptest.NewUnstartedServer(script(content("a"), done))
		server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
			if state == http.StateNew {
				accepted <- conn
			}
		}
		server.Start()
		c := newClient(t, Config{BaseURLs: []string{server.URL}})
		for i := range int64(3) {
			if r := sendOne(t, c, i); r.Status != measure.OK || r.ConnReused {
				t.Errorf("%s: %s with conn_reused %v: %s; want ok on a new connection", name, r.Status, r.ConnReused, text(r.Error))
			}
			spoil(<-accepted)
			for _, idle := range c.way.(*http1).idle {
				for idle[0].alive() {
					runtime.Gosched()
				}
			}
		}
		server.Close()
	}
}

// The deadline of a request that has ended is none of the next one's, nor of the look at its connection.
func TestADeadlineThatPassesOnAnIdleConnection(t *testing.T) {
	server := httptest.NewServer(script(content("a"), stop, done))
	defer server.Close()
	c := newClient(t, Config{BaseURLs: []string{server.URL}})
	for i := range int64(3) {
		if r := sendOne(t, c, i); r.Status != measure.OK || r.ConnReused != (i > 0) {
			t.Errorf("request %d: %s with conn_reused %v: %s", i, r.Status, r.ConnReused, text(r.Error))
		}
		for _, idle := range c.way.(*http1).idle {
			idle[0].conn.SetDeadline(time.Unix(1, 0))
		}
	}
}

// An idle connection is closed when its time is over, and the one that was used last is used first.
func TestIdleConnections(t *testing.T) {
	inBubble(t, script(content("a"), stop, done, time.Millisecond), func(c *Config) { c.IdleTimeout = 4 * time.Second }, func(g rig) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { g.send(g.t.Context()) })
		}
		both.Wait()
		for _, wait := range []time.Duration{3 * time.Second, 3 * time.Second} { // the other has been idle for 6 s
			time.Sleep(wait)
			if r, _ := g.send(g.t.Context()); !r.ConnReused {
				g.t.Errorf("a new connection after %v", wait)
			}
		}
		if idle := len(g.client.way.(*http1).idle["http://service:http"]); idle != 1 || g.net.dials.Load() != 2 {
			g.t.Errorf("%d idle connections of %d, want 1 of 2", idle, g.net.dials.Load())
		}
		time.Sleep(4 * time.Second)
		if r, _ := g.send(g.t.Context()); r.ConnReused {
			g.t.Error("a connection was used again after 4s")
		}
	})
}

// What a service answers before it has read a request is the reason why it could not be written, whether it closes the connection or leaves it.
func TestAnAnswerBeforeTheRequestIsRead(t *testing.T) {
	for _, closes := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 100))
				io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo long")
				if closes {
					conn.Close()
				} else {
					defer conn.Close()
				}
			}
		}()
		c := newClient(t, Config{BaseURLs: []string{"http://" + listener.Addr().String()}})
		for i := range int64(20) {
			r := measure.Record{Index: i, Dispatched: c.config.Clock.Now()}
			c.Send(t.Context(), workload.Request{Body: make([]byte, 16<<20)}, &r, func() {})
			checkRecord(t, &r)
			if r.Status != measure.HTTPError || text(r.Error) != "HTTP 413 Request Entity Too Large: too long" || r.ConnReused || r.Wrote.Happened() {
				t.Errorf("closing %v: %s: %s, conn_reused %v, wrote %v; want http_error on a new connection, not written", closes, r.Status, text(r.Error), r.ConnReused, r.Wrote)
			}
		}
	}
}

func TestConnectErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := listener.Addr().String()
	listener.Close()
	garbage := answering(t, "SSH-2.0-OpenSSH_9.6\r\n")
	silent := answering(t, "")
	huge := answering(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 2*maxHeadBytes)+"\r\n\r\n")
	encrypted := httptest.NewUnstartedServer(script(content("a"), done))
	encrypted.Config.ErrorLog = quiet
	encrypted.StartTLS()
	defer encrypted.Close()
	for _, c := range []struct{ url, text string }{
		{"http://" + unused, "connect: connection refused"},
		{"http://" + garbage, "the connection broke before the response: "},
		{"http://" + silent, "the connection broke before the response: "},
		{"http://" + huge, "the head of the response exceeds 65536 bytes"},
		{encrypted.URL, "x509: certificate signed by unknown authority"},
	} {
		r := sendOne(t, newClient(t, Config{BaseURLs: []string{c.url}}), 0)
		if r.Status != measure.ConnectError || r.HTTPStatus != nil || !strings.Contains(text(r.Error), c.text) {
			t.Errorf("%s: %s: %s; want connect_error: %s", c.url, r.Status, text(r.Error), c.text)
		}
	}
}

// answering accepts connections, reads a request, answers with text and closes.
func answering(t *testing.T, text string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.Copy(io.Discard, request.Body)
			}
			io.WriteString(conn, text)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TLS is verified unless told otherwise; HTTP/1.1 is spoken unless told otherwise, whatever the service offers.
func TestProtocols(t *testing.T) {
	var proto atomic.Value
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		script(content("a"), content("b"), stop, done)(w, r)
	})
	encrypted := httptest.NewUnstartedServer(handler)
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := httptest.NewUnstartedServer(handler)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	defer plain.Close()
	for _, c := range []struct {
		url   string
		http2 bool
		proto string
	}{
		{encrypted.URL, false, "HTTP/1.1"}, {encrypted.URL, true, "HTTP/2.0"}, {plain.URL, false, "HTTP/1.1"}, {plain.URL, true, "HTTP/2.0"},
	} {
		client := newClient(t, Config{BaseURLs: []string{c.url}, HTTP2: c.http2, SkipVerifyTLS: true})
		for i := range 2 {
			r := sendOne(t, client, int64(i))
			if r.Status != measure.OK || proto.Load() != c.proto || r.ConnReused != (i == 1) || len(r.Chunks) != 2 {
				t.Errorf("%s with HTTP2 %v: %s over %v, conn_reused %v, %d chunks: %s; want ok over %s",
					c.url, c.http2, r.Status, proto.Load(), r.ConnReused, len(r.Chunks), text(r.Error), c.proto)
			}
			for _, i := range []clock.Instant{r.Connected, r.Wrote, r.FirstByte} {
				if !i.Happened() {
					t.Errorf("%s with HTTP2 %v: connected %d, wrote %d, first byte %d", c.url, c.http2, r.Connected, r.Wrote, r.FirstByte)
				}
			}
		}
	}
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	if newTransport(Config{}).Proxy != nil {
		t.Error("a proxy may be used")
	}
}

// What the transport's goroutines do late, after a request was given up, must not reach its record: run with -race.
func TestManyRequestsGivenUpAtAnyMoment(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range 50 {
			play(w, r, content("a"), 100*time.Microsecond)
		}
		play(w, r, stop, done)
	}))
	defer server.Close()
	c := newClient(t, Config{BaseURLs: []string{server.URL}})
	body := []byte(strings.Repeat("x", 100_000))
	var all sync.WaitGroup
	for i := range 8 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range 40 {
				ctx, cancel := context.WithCancelCause(t.Context())
				timer := time.AfterFunc(time.Duration(random.IntN(8000))*time.Microsecond, func() { cancel(ErrCancelled) })
				r := measure.Record{Dispatched: c.config.Clock.Now()}
				c.Send(ctx, workload.Request{Body: body}, &r, func() {})
				timer.Stop()
				cancel(nil)
				checkRecord(t, &r)
				if r.Status != measure.OK && r.Status != measure.Cancelled {
					t.Errorf("%s: %s", r.Status, text(r.Error))
				}
			}
		})
	}
	all.Wait()
}

func TestConfigsThatAreRefused(t *testing.T) {
	good := Config{BaseURLs: []string{"http://x/v1"}, API: "chat", Streams: 1, Clock: clock.New()}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.BaseURLs = nil }, "a client needs a URL"},
		{func(c *Config) { c.BaseURLs = []string{"localhost:8000"} }, "the service's URL must start with http:// or https:// and a host: localhost:8000"},
		{func(c *Config) { c.BaseURLs = []string{"ftp://user:secret@x"} }, "the service's URL must start with http:// or https:// and a host: ftp://user:xxxxx@x"},
		{func(c *Config) { c.BaseURLs = []string{"http://user:secret@x:port"} }, "parsing the service's URL: invalid port \":port\" after host"},
		{func(c *Config) { c.API = "responses" }, `api must be chat or completions, not "responses"`},
		{func(c *Config) { c.Streams = 0 }, "streams must be at least 1, not 0"},
	} {
		config := good
		c.change(&config)
		if _, err := New(config); err == nil || err.Error() != c.want {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
}
