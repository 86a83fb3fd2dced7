package client

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

func streamError(t *testing.T, members string) measure.Record {
	t.Helper()
	var r measure.Record
	inBubble(t, script(content("a"), stop, `data: {"usage":{`+members+"}}\n\n", done), nil, func(g rig) { r, _ = g.send(g.t.Context()) })
	return r
}

// Sums over such counts ran over, and throughput was negative.
func TestCountsThatNoRequestHas(t *testing.T) {
	for members, quoted := range map[string]string{
		`"completion_tokens":9223372036854775807`:                      "9223372036854775807",
		`"prompt_tokens":1000000001`:                                   "1000000001",
		`"completion_tokens_details":{"reasoning_tokens":99999999999}`: "99999999999",
		`"prompt_tokens_details":{"cached_tokens":99999999999}`:        "99999999999",
		`"prompt_tokens":-5`:                                           "-5",
		`"prompt_tokens":5.5`:                                          "5.5",
		`"prompt_tokens":1e300`:                                        "1e300",
	} {
		if r := streamError(t, members); r.Status != measure.StreamError || !strings.Contains(text(r.Error), " is "+quoted+" where ") {
			t.Errorf("%s: %s: %s", members, r.Status, text(r.Error))
		}
	}
	if r := streamError(t, `"prompt_tokens":1000000000`); r.Status != measure.OK {
		t.Errorf("a count at the bound: %s: %s", r.Status, text(r.Error))
	}
}

// The write loop of the transport may be scheduled after the response was read.
func TestARequestIsNotWrittenAfterItsAnswer(t *testing.T) {
	for _, c := range []struct{ wrote, firstByte, want int64 }{{5, 3, 3}, {2, 3, 2}, {5, 0, 5}} {
		var seen trace
		seen.whole.Store(true)
		seen.wrote.Store(c.wrote)
		seen.firstByte.Store(c.firstByte)
		var r measure.Record
		seen.fill(&r)
		if r.Wrote != clock.Instant(c.want) {
			t.Errorf("wrote %d, first byte %d: recorded %d, want %d", c.wrote, c.firstByte, r.Wrote, c.want)
		}
	}
}

func TestOneTextInEventsOfSeveralLengths(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{{[]string{"!!!!", "!!!!", "!!"}, "1"}, {[]string{"abab", "ab"}, "1"}, {[]string{"\n\n", "\n"}, "1"}, {[]string{"aab", "a"}, "2"}} {
		var steps []any
		for _, s := range c.texts {
			steps = append(steps, content(s))
		}
		inBubble(t, script(append(steps, done)...), nil, func(g rig) {
			if r, _ := g.send(g.t.Context()); number(r.DistinctChunks) != c.want {
				g.t.Errorf("%q: %s different chunks, want %s", c.texts, number(r.DistinctChunks), c.want)
			}
		})
	}
}

func TestTextFromServicesCannotSteerATerminal(t *testing.T) {
	for given, want := range map[string]string{
		"a\x1b[31mred\x1b[0m": "a red ", "a\u202eb": "a b", "a\u009b1mb": "a b", "a\x1b]0;title\x07b": "a b", "a\x1b[3": "a ", "é\tb": "é b",
	} {
		if got := oneLine(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func TestAdviceFitsTheFault(t *testing.T) {
	oom := script("data: {\"error\":\"CUDA OOM\"}\n\n")
	none := script(content("a"), stop, noneUsed, done)
	for _, c := range []struct {
		name      string
		handler   http.HandlerFunc
		http2     bool
		has, lack string
	}{
		{"in-band error", oom, false, "CUDA OOM: the service streams", "must answer"},
		{"usage of 0", none, false, "usage says 0", "must answer"},
		{"204", refuse(204, ""), false, "HTTP 204 No Content: the service must answer with status 200", "lengths"},
		{"HTTP/1.1 alone", oom, true, "HTTP/2", "host and port"},
	} {
		server := httptest.NewUnstartedServer(&fake{models: listing, completion: c.handler})
		server.Config.ErrorLog = quiet
		server.Start()
		_, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{server.URL + "/v1"}, HTTP2: c.http2}), trial(0))
		server.Close()
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, c.has) || strings.Contains(problems[0].Message, c.lack) {
			t.Errorf("%s: problems %v, error %v; want one with %q, without %q", c.name, problems, err, c.has, c.lack)
		}
	}
}

// A service that hangs up on what it can't read says no more, as uvicorn does where TLS is spoken to it.
func TestAdviceForTheURL(t *testing.T) {
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.Close()
		}
	}
	for _, c := range []struct {
		name, user string
		handler    http.HandlerFunc
		has        string
	}{
		{"hangs up", "", hangUp, "EOF: it hung up without a word"},
		{"401 with a user", "me:secret@", refuse(401, ""), "check the user and the password in the URL"},
	} {
		server := httptest.NewServer(&fake{models: listing, completion: c.handler})
		url := strings.Replace(server.URL, "//", "//"+c.user, 1)
		_, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{url + "/v1"}}), trial(0))
		server.Close()
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, c.has) {
			t.Errorf("%s: problems %v, error %v; want %q", c.name, problems, err, c.has)
		}
	}
}

// Where TLS leaves the protocol to the service, Go's transport goes on with what it gets.
func TestHTTP2MeansNothingElse(t *testing.T) {
	server := httptest.NewUnstartedServer(&fake{models: listing, completion: script(content("a"), stop, twoUsed, done)})
	server.Config.ErrorLog = quiet
	server.TLS = &tls.Config{NextProtos: []string{}}
	server.StartTLS()
	defer server.Close()
	_, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{server.URL + "/v1"}, HTTP2: true, SkipVerifyTLS: true}), trial(0))
	const want = "/v1: the service answered over HTTP/1.1: the service may not speak HTTP/2 at this URL, which request.http asks for"
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
		t.Errorf("problems %v, error %v; want %q", problems, err, want)
	}
}

func TestPreflightNotesAResponseThatStaysOpen(t *testing.T) {
	url := bothHTTP(t, &fake{models: listing, completion: script(content("a"), stop, twoUsed, done, 300*time.Millisecond)})
	for http2, want := range map[bool]string{false: "each request opens a new one", true: "each request keeps its slot for so long, and is then reset"} {
		_, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{url}, HTTP2: http2}), trial(0))
		if err != nil || len(problems) != 1 || problems[0].Fatal || !strings.Contains(problems[0].Message, "open after [DONE], for more than 5ms: ") ||
			!strings.HasSuffix(problems[0].Message, want) {
			t.Errorf("HTTP/2 %v: problems %v, error %v", http2, problems, err)
		}
	}
}

// bothHTTP is the URL of a service that speaks HTTP/1.1 and HTTP/2, without TLS.
func bothHTTP(t *testing.T, handler http.Handler) string {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog, server.Config.Protocols = quiet, new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// A stream that is reset says nothing of its connection, which carries others.
func TestAResetStreamIsNotTakenForAClosedConnection(t *testing.T) {
	url := bothHTTP(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	c := newClient(t, Config{BaseURLs: []string{url}, HTTP2: true})
	for i := range int64(2) {
		r := sendOne(t, c, i)
		if r.Status != measure.ConnectError || !strings.HasPrefix(*r.Error, "the connection broke before the response: stream error: ") {
			t.Errorf("request %d: %s, %s", i, r.Status, text(r.Error))
		}
	}
}

// An end that comes on its own soon after [DONE] leaves the connection usable; the slot is not kept for one that does not.
func TestTheEndBehindDone(t *testing.T) {
	for wait, reused := range map[time.Duration]bool{0: true, linger - time.Millisecond: true, 300 * time.Millisecond: false} {
		inBubble(t, script(content("a"), stop, done, wait), nil, func(g rig) {
			g.send(g.t.Context())
			if r, _ := g.send(g.t.Context()); r.ConnReused != reused {
				g.t.Errorf("the end %v after [DONE]: conn_reused %v, want %v", wait, r.ConnReused, reused)
			}
		})
	}
}
