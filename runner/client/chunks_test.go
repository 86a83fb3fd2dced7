package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// piecewise is a connection on which the pieces of a text arrive one read after the other, and then its end.
type piecewise struct {
	net.Conn
	pieces []string
}

func (c *piecewise) Read(p []byte) (int, error) {
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; c.pieces[0] == "" {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

// linkOf is a link over a piecewise connection.
func linkOf(pieces ...string) *link {
	return newLink(&piecewise{pieces: pieces}, new(loops), clock.New())
}

// unchunk reads a chunked body that arrives in pieces, and returns its data.
func unchunk(pieces ...string) (string, error) {
	l := linkOf(pieces...)
	var data bytes.Buffer
	_, err := io.Copy(&data, &chunks{link: l})
	return data.String(), err
}

func TestChunkedBodies(t *testing.T) {
	const a, zero = "5\r\nhello\r\n", "0\r\n\r\n"
	for _, c := range []struct {
		name, text, data string
		err              error
	}{
		{"one chunk", a + zero, "hello", nil},
		{"no data", zero, "", nil},
		{"capital and leading digits", "0000A\r\n0123456789\r\n" + zero, "0123456789", nil},
		{"small digits", "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n" + zero, "abcdefghijklmnopqrstuvwxyz", nil},
		{"extensions", "5;a=b;c\r\nhello\r\n0 ; x=\"y\"\r\n\r\n", "hello", nil},
		{"trailers", a + "0\r\nX-Time: 1\r\nX-More: 2\r\n\r\n", "hello", nil},
		{"line feeds alone", "5\nhello\n0\n\n", "hello", nil},
		{"line ends in the data", "4\r\n\r\n\r\n\r\n" + zero, "\r\n\r\n", nil},
		{"cut in a size", "5", "", io.ErrUnexpectedEOF},
		{"cut in the data", "5\r\nhel", "hel", io.ErrUnexpectedEOF},
		{"cut behind a chunk", a, "hello", io.ErrUnexpectedEOF},
		{"cut before the last line end", a + "0\r\n", "hello", io.ErrUnexpectedEOF},
		{"nothing", "", "", io.ErrUnexpectedEOF},
		{"no size", "\r\nhello", "", errChunks},
		{"no size but an extension", ";a\r\n", "", errChunks},
		{"no digit", "g\r\n", "", errChunks},
		{"a size below nothing", "-5\r\nhello\r\n", "", errChunks},
		{"a size without bound", "fffffffffffffffff\r\n", "", errChunks},
		{"more data than its size", "4\r\nhello\r\n" + zero, "hell", errChunks},
		{"another protocol", "data: hello\n\n", "", errChunks},
	} {
		for i := range len(c.text) + 1 {
			data, err := unchunk(c.text[:i], c.text[i:])
			if i == 0 || i == len(c.text) {
				data, err = unchunk(c.text)
			}
			if data != c.data || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%s, split at %d: %q, %v; want %q, %v", c.name, i, data, err, c.data, c.err)
			}
		}
	}
}

// FuzzChunks holds the reader against that of net/http: cut into any chunks and any reads, a body is the same.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: b\n\n"), []byte{1, 5, 2}, []byte{3, 1, 9})
	f.Add([]byte(strings.Repeat("x", 9000)), []byte{255, 16, 17}, []byte{255, 255, 1})
	f.Fuzz(func(t *testing.T, body, sizes, cuts []byte) {
		var encoded bytes.Buffer
		encoder := httputil.NewChunkedWriter(&encoded)
		rest := body
		for _, size := range sizes {
			n := min(int(size), len(rest))
			encoder.Write(rest[:n])
			rest = rest[n:]
		}
		encoder.Write(rest)
		encoder.Close()
		encoded.WriteString("\r\n")
		var pieces []string
		text := encoded.String()
		for _, cut := range cuts {
			n := min(int(cut), len(text))
			if n > 0 {
				pieces = append(pieces, text[:n])
			}
			text = text[n:]
		}
		if text != "" {
			pieces = append(pieces, text)
		}
		got, err := unchunk(pieces...)
		if err != nil || got != string(body) {
			t.Errorf("%q in pieces %q gives %q, error %v", body, pieces, got, err)
		}
	})
}

// FuzzMalformedChunks holds that no body makes the reader panic, and that it gives at least the data that net/http's finds before a fault.
func FuzzMalformedChunks(f *testing.F) {
	f.Add("5\r\nhello\r\n0\r\n\r\n")
	f.Add("5;a\r\nhello\r\n-1\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := unchunk(text)
		want, plainErr := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(text)))
		if plainErr == nil && strings.HasSuffix(text, "\r\n\r\n") && err == nil && got != string(want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}

func TestHeadsAndWhatFollows(t *testing.T) {
	const ok, hints = "HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	const chunked, length = "Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 4\r\n\r\n"
	for _, c := range []struct {
		name, text string
		status     int
		body, left string
		err        string
	}{
		{"chunks", ok + chunked + "1\r\nx", 200, "1\r\nx", "", ""},
		{"a length", ok + length + "body", 200, "body", "", ""},
		{"a length and more", ok + length + "body and more", 200, "body", " and more", ""},
		{"neither", ok + "\r\nbody", 200, "body", "", ""},
		{"line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 4\n\nbody", 200, "body", "", ""},
		{"a continuation and hints before it", "HTTP/1.1 100 Continue\r\n\r\n" + hints + ok + length + "body", 200, "body", "", ""},
		{"a head without a field", "HTTP/1.1 204 No Content\r\n\r\nmore", 204, "", "more", ""},
		{"another protocol announced", "HTTP/1.1 101 Switching Protocols\r\n\r\nmore", 101, "", "more", ""},
		{"a cut", "HTTP/1.1 200 OK\r\nA: ", 0, "", "", "unexpected EOF within the head of the response"},
		{"a blank line within it", "HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", 0, "", "", "malformed HTTP response"},
		{"no protocol", "SSH-2.0-OpenSSH_9.6\r\n", 0, "", "", `malformed HTTP response: "S`},
		{"no version", "HTTP/one 200 OK\r\n\r\n", 0, "", "", "malformed HTTP response: malformed HTTP version"},
	} {
		for i := 1; i < len(c.text); i++ {
			l := linkOf(c.text[:i], c.text[i:])
			response, _, err := l.answer(new(trace), new(answers))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s, split at %d: error %v, want %s", c.name, i, err, c.err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s, split at %d: %v", c.name, i, err)
			}
			var body io.Reader = l
			if !isChunked(response) {
				body = response.Body
			}
			got, _ := io.ReadAll(body)
			left, _ := io.ReadAll(l)
			if response.StatusCode != c.status || string(got) != c.body || !strings.HasSuffix(c.left, string(left)) {
				t.Fatalf("%s, split at %d: %d, body %q, then %q; want %d, %q, at most %q", c.name, i, response.StatusCode, got, left, c.status, c.body, c.left)
			}
		}
	}
}

// speaking answers each connection's requests with the texts in order; between them it waits as told. It is for what no HTTP server would say.
func speaking(t *testing.T, network *pipes, answers ...any) {
	go func() {
		for {
			conn, err := network.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 4096)
				if _, err := conn.Read(buf); err != nil {
					return
				}
				for _, a := range answers {
					switch a := a.(type) {
					case string:
						io.WriteString(conn, a)
					case time.Duration:
						time.Sleep(a)
					case struct{}: // the next request
						if _, err := conn.Read(buf); err != nil {
							return
						}
					}
				}
				conn.Close()
			}()
		}
	}()
}

// next makes a speaking service wait for the next request on the connection.
var next = struct{}{}

func inSpokenBubble(t *testing.T, answers []any, test func(rig)) {
	inBubble(t, nil, nil, func(g rig) {
		network := &pipes{conns: make(chan net.Conn), gone: make(chan struct{})}
		defer network.Close()
		speaking(g.t, network, answers...)
		g.dialBy(network.dial)
		g.net = network
		test(g)
		g.client.Close()
	})
}

// An event does not wait for what follows it: not for the rest of a chunk of which only the header has arrived, as it would in net/http.
func TestAnEventDoesNotWaitForTheNextChunk(t *testing.T) {
	second := chunk(content("b") + stop + done)
	answer := []any{pacedHead + chunk(content("a")) + second[:4], time.Second, second[4:] + chunk("")}
	inSpokenBubble(t, append(append(answer, next), answer...), func(g rig) {
		for i := range 2 {
			r, called := g.send(g.t.Context())
			if r.Status != measure.OK || r.ConnReused != (i == 1) || after(r, r.FirstToken) != "0s" || called == nil || *called != 0 || after(r, r.LastToken) != "1s" {
				g.t.Errorf("answer %d: %s: %s, conn_reused %v, first token %s, told after %v, last token %s; want 0s, 0s, 1s", i, r.Status, text(r.Error), r.ConnReused,
					after(r, r.FirstToken), called, after(r, r.LastToken))
			}
		}
	})
}

// One connection serves answers of all framings, one after the other.
func TestAnswersOfAllFramingsOnOneConnection(t *testing.T) {
	body := content("a") + stop + done
	whole := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	refusal := "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
	chunkedRefusal := "HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("oops") + chunk("")
	chunked := pacedHead + chunk(body[:20]) + chunk(body[20:])
	trailers := "0\r\nX-Time: 1\r\n\r\n"
	hinted := "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	answers := []any{
		chunked + trailers, next, chunked, time.Millisecond, chunk(""), next, hinted + chunked + chunk(""), next, chunkedRefusal, next, chunked + chunk(""), next,
		refusal, next, whole, next, chunked + chunk(""), next, chunked + trailers,
	}
	want := []string{"ok", "ok", "ok", "http_error", "ok", "http_error", "ok", "ok", "ok"}
	inSpokenBubble(t, answers, func(g rig) {
		var got []string
		for i := range want {
			r, _ := g.send(g.t.Context())
			got = append(got, string(r.Status))
			if r.ConnReused != (i > 0) {
				g.t.Errorf("answer %d: conn_reused %v: %s", i, r.ConnReused, text(r.Error))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || g.net.dials.Load() != 1 {
			g.t.Errorf("over %d connections (-want +got):\n%s", g.net.dials.Load(), diff)
		}
	})
}

// Bytes behind an answer are no part of the next one: their connection is given up.
func TestMoreThanTheAnswer(t *testing.T) {
	body := chunk(content("a")+stop+done) + chunk("")
	events := content("a") + stop + done
	whole := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n", len(events))
	for _, answer := range [][]any{{pacedHead + body + "HTTP/1.1 200 OK\r\n\r\n"}, {pacedHead, body + "x"}, {whole + events + "x"}, {whole, events + "HTTP/1.1 "}} {
		inSpokenBubble(t, append(answer, next), func(g rig) {
			for range 2 {
				if r, _ := g.send(g.t.Context()); r.Status != measure.OK || r.ConnReused {
					g.t.Errorf("%s with conn_reused %v: %s; want ok on a new connection", r.Status, r.ConnReused, text(r.Error))
				}
			}
		})
	}
}

func TestMoreThanTheAnswerIsHeld(t *testing.T) {
	body := chunk("a") + chunk("")
	l := linkOf()
	l.held = []byte(body + "x")
	c := chunks{link: l}
	if n, err := c.Read(make([]byte, len(body))); n != 1 || err != io.EOF || c.whole {
		t.Errorf("%d bytes, error %v, whole %v; want 1, EOF, and the connection not to be used again", n, err, c.whole)
	}
}

func TestMalformedChunksBreakTheResponse(t *testing.T) {
	inSpokenBubble(t, []any{pacedHead + chunk(content("a")) + "zz\r\n"}, func(g rig) {
		r, _ := g.send(g.t.Context())
		if r.Status != measure.Truncated || text(r.Error) != "the response broke off: malformed chunked encoding: 1 event with a token had arrived" {
			g.t.Errorf("%s: %s", r.Status, text(r.Error))
		}
	})
}
