package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

const listing = `{"object":"list","data":[{"id":"tiny","max_model_len":4096},{"id":"other"}]}`

// fake is a service that answers /v1/models and /v1/chat/completions as told.
type fake struct {
	models     string // empty: 404
	completion http.HandlerFunc
	asked      []string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.asked = append(f.asked, r.Method+" "+r.URL.Path+" "+string(body))
	switch {
	case r.URL.Path == "/v1/models" && f.models != "":
		io.WriteString(w, f.models)
	case r.URL.Path == "/v1/chat/completions" && f.completion != nil:
		f.completion(w, r)
	default:
		http.Error(w, "no such page", 404)
	}
}

func trial(prompt int64) PreflightConfig {
	return PreflightConfig{Model: "tiny", Request: func(output int64) (workload.Request, error) {
		return workload.Request{Body: fmt.Appendf(nil, `{"max_tokens":%d}`, output), PromptTokens: prompt, OutputTokens: output}, nil
	}}
}

func refuse(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestPreflightOfAGoodService(t *testing.T) {
	f := &fake{models: listing, completion: script(fixture(t, "vllm_chat"))}
	server := httptest.NewServer(f)
	defer server.Close()
	config := trial(24)
	config.ContextTokens = 4096
	report, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{server.URL + "/v1"}}), config)
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	found := report.Addresses[0]
	if found.URL != server.URL+"/v1" || found.RTT == nil || *found.RTT <= 0 || number(found.ContextLength) != "4096" ||
		!slices.Equal(found.Models, []string{"tiny", "other"}) {
		t.Errorf("found %+v", found)
	}
	if r := found.Request; r.Status != measure.OK || number(r.PromptTokens) != "24" || number(r.RequestedPromptTokens) != "24" {
		t.Errorf("request %+v", r)
	}
	if report.Descriptors < 64 || report.Ports < 1000 {
		t.Errorf("%d descriptors and %d ports", report.Descriptors, report.Ports)
	}
	server.Close() // and its goroutines have ended
	if diff := cmp.Diff([]string{"GET /v1/models ", `POST /v1/chat/completions {"max_tokens":16}`, "GET /v1/models "}, f.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestPreflightSaysWhatToDo(t *testing.T) {
	usageless := script(content("a"), stop, done)
	for _, c := range []struct {
		name    string
		service fake
		change  func(*PreflightConfig)
		check   Check
		message string // contained in the only problem's
		mild    bool
	}{
		// vllm-project/guidellm#471
		{"no key", fake{completion: refuse(401, `{"error":"Unauthorized"}`)}, nil, CheckAuth,
			"HTTP 401 Unauthorized: Unauthorized: name the environment variable that holds a key in api_key_env", false},
		{"wrong key", fake{completion: refuse(403, `{"error":{"message":"bad key `+secret+`"}}`)}, func(c *PreflightConfig) { c.APIKeyEnv = "VLLM_API_KEY" }, CheckAuth,
			"HTTP 403 Forbidden: bad key ***: check the key in the environment variable VLLM_API_KEY", false},
		// vllm-project/guidellm#192
		{"wrong path", fake{}, nil, CheckPath, "it does not answer /models there either: the URL usually ends in /v1", false},
		{"no such API", fake{models: listing}, nil, CheckPath, "the service answers /models there, so look at request.api", false},
		{"wrong model", fake{models: listing, completion: refuse(404, `{"error":{"message":"The model does not exist."}}`)},
			func(c *PreflightConfig) { c.Model = "tinny" }, CheckModel,
			"The model does not exist.: the service does not serve tinny; it serves tiny, other", false},
		{"bad request", fake{models: listing, completion: refuse(400, `{"error":{"message":"max_tokens is too large"}}`)}, nil, CheckRequest,
			"max_tokens is too large: look at the workload's lengths, request.max_tokens_field, ignore_eos and extra_body", false},
		{"limited", fake{completion: refuse(429, `{}`)}, nil, CheckRequest, "lift its limit", false},
		{"failing", fake{completion: refuse(503, `{"error":"loading"}`)}, nil, CheckRequest, "HTTP 503 Service Unavailable: loading: the service failed", false},
		{"redirecting", fake{completion: http.RedirectHandler("/v2", http.StatusPermanentRedirect).ServeHTTP}, nil, CheckPath,
			"to /v2, which is not followed: use the URL that it leads to", false},
		{"not streaming", fake{completion: refuse(200, `{"choices":[]}`)}, nil, CheckStream, "the service ignored stream: true", false},
		{"error in the stream", fake{completion: script(`data: {"error":"boom"}` + "\n\n")}, nil, CheckStream, "the service sent an error: boom", false},
		{"cut", fake{completion: script(content("a"))}, nil, CheckRequest, "does something between here and the service cut responses?", false},
		{"silent", fake{completion: script(role, stop, done)}, nil, CheckRequest, "though 16 were allowed", false},
		{"no usage", fake{completion: usageless}, nil, CheckUsage, "have the service honour stream_options.include_usage, or name a request.tokenizer to count with", false},
		{"short context", fake{models: listing, completion: script(content("a"), stop, twoUsed, done)}, func(c *PreflightConfig) { c.ContextTokens = 4097 }, CheckContext,
			"requests of 4097 tokens are asked for, prompt and output, and the service's context holds 4096", false},
		{"another length", fake{completion: script(content("a"), stop, twoUsed, done)}, func(c *PreflightConfig) { c.Request = trial(1000).Request }, CheckPrompt,
			"a prompt of 1000 tokens was asked for, and the service counts 5", true},
	} {
		server := httptest.NewServer(&c.service)
		config := trial(0)
		if c.change != nil {
			c.change(&config)
		}
		settings := Config{BaseURLs: []string{server.URL + "/v1"}}
		redacting(&settings)
		client := newClient(t, settings)
		_, problems, err := Preflight(t.Context(), client, config)
		if err != nil || len(problems) != 1 {
			t.Errorf("%s: problems %v, error %v; want one problem", c.name, problems, err)
			continue
		}
		p := problems[0]
		if p.Check != c.check || p.Fatal == c.mild || !strings.Contains(p.Message, c.message) || !strings.HasPrefix(p.Message, server.URL+"/v1: ") {
			t.Errorf("%s: %s, fatal %v: %s\nwant %s: … %s", c.name, p.Check, p.Fatal, p.Message, c.check, c.message)
		}
		// vllm-project/guidellm#308: each check can be left out.
		config.Skip = []Check{c.check}
		if _, problems, _ := Preflight(t.Context(), client, config); len(problems) != 0 {
			t.Errorf("%s: skipped and still said: %v", c.name, problems)
		}
		server.Close()
	}
}

// llama.cpp's server closes its connection behind each stream, though it says "Keep-Alive: timeout=5, max=100".
func TestAServiceThatHangsUpGetsAConnectionForEachRequest(t *testing.T) {
	for name, encrypted := range map[string]bool{"http": false, "https": true} {
		var connections atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				io.WriteString(w, listing)
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, pacedHead+chunk(content("a")+stop+twoUsed+done)+chunk(""))
		}))
		server.Config.ErrorLog = quiet
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		if encrypted {
			server.StartTLS()
		} else {
			server.Start()
		}
		c := newClient(t, Config{BaseURLs: []string{server.URL + "/v1"}, SkipVerifyTLS: true})
		report, problems, err := Preflight(t.Context(), c, trial(0))
		if err != nil || len(problems) != 1 || problems[0].Fatal || !report.Addresses[0].HangsUp || !strings.Contains(problems[0].Message, "each request opens a new one") {
			t.Errorf("%s: problems %v, error %v", name, problems, err)
		}
		before := connections.Load()
		for i := range int64(50) {
			if r := sendOne(t, c, i); r.Status != measure.OK || r.ConnReused {
				t.Fatalf("%s: request %d: %s with conn_reused %v: %s", name, i, r.Status, r.ConnReused, text(r.Error))
			}
		}
		if made := connections.Load() - before; made != 50 {
			t.Errorf("%s: %d connections for 50 requests", name, made)
		}
		server.Close()
	}
}

// A connection that the client closes itself, because it was idle, says nothing of the service.
func TestAnIdleTimeoutIsNotTheServices(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			io.WriteString(w, listing)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, content("a")+stop+twoUsed+done)
	}))
	defer server.Close()
	c := newClient(t, Config{BaseURLs: []string{server.URL + "/v1"}, IdleTimeout: time.Millisecond})
	report, problems, err := Preflight(t.Context(), c, trial(0))
	if err != nil || len(problems) != 0 || report.Addresses[0].HangsUp {
		t.Errorf("hangs up: %v, problems %v, error %v", report.Addresses[0].HangsUp, problems, err)
	}
}

func TestPreflightWithoutAService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := listener.Addr().String()
	listener.Close()
	report, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{"http://u:p@" + unused + "/v1"}}), trial(0))
	if err != nil || len(problems) != 1 || problems[0].Check != CheckReach || !problems[0].Fatal {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	want := "http://" + unused + "/v1: no connection: dial tcp " + unused + ": connect: connection refused: is the service running, and are host and port right?"
	if problems[0].Message != want {
		t.Errorf("%s\nwant %s", problems[0].Message, want)
	}
	if report.Addresses[0].Request != nil {
		t.Error("a request was made although nothing answers")
	}
}

func TestPreflightAgainstTLS(t *testing.T) {
	encrypted := httptest.NewUnstartedServer(script(content("a"), stop, twoUsed, done))
	encrypted.Config.ErrorLog = quiet
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := httptest.NewServer(script(content("a"), stop, twoUsed, done))
	defer plain.Close()
	for url, want := range map[string]string{
		encrypted.URL: "or set verify_tls: false",
		strings.Replace(plain.URL, "http:", "https:", 1):     "the URL must start with http://",
		strings.Replace(encrypted.URL, "https:", "http:", 1): "the URL must start with https://",
	} {
		_, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{url}}), trial(0))
		if err != nil || len(problems) != 1 || problems[0].Check != CheckReach || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: problems %v, error %v; want %s", url, problems, err, want)
		}
	}
}

func TestPreflightOfSeveralURLs(t *testing.T) {
	good := httptest.NewServer(&fake{models: listing, completion: script(content("a"), stop, twoUsed, done)})
	defer good.Close()
	bad := httptest.NewServer(&fake{models: listing, completion: refuse(500, "")})
	defer bad.Close()
	report, problems, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{good.URL + "/v1", bad.URL + "/v1"}}), trial(0))
	if err != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, bad.URL) || len(report.Addresses) != 2 {
		t.Errorf("problems %v, error %v, %d addresses", problems, err, len(report.Addresses))
	}
}

func TestPreflightThatCannotMakeItsRequest(t *testing.T) {
	broken := PreflightConfig{Request: func(int64) (workload.Request, error) { return workload.Request{}, errors.New("no words") }}
	_, _, err := Preflight(t.Context(), newClient(t, Config{BaseURLs: []string{"http://x"}}), broken)
	if err == nil || err.Error() != "making a request of 16 output tokens: no words" {
		t.Errorf("error %v", err)
	}
}

// kubernetes-sigs/inference-perf#50 and AI-Hypercomputer/inference-benchmark#26: local ports ran out in the middle of a run.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		descriptors, ports, streams, addresses int64
		want                                   []Check
	}{
		{1024, 28232, 900, 1, nil},
		{1024, 28232, 1000, 1, []Check{CheckDescriptors}},
		{1 << 20, 28232, 28233, 1, []Check{CheckPorts}},
		{1 << 20, 28232, 2 * 28232, 2, nil},
		{1 << 20, 28232, 2*28232 + 1, 2, []Check{CheckPorts}},
		{1 << 20, 0, 1 << 19, 1, nil},
		{256, 100, 200, 1, []Check{CheckDescriptors, CheckPorts}},
	} {
		var got []Check
		for _, p := range limitProblems(Report{Descriptors: c.descriptors, Ports: c.ports}, c.streams, c.addresses) {
			got = append(got, p.Check)
			if !p.Fatal || !strings.Contains(p.Message, "or lower the load") {
				t.Errorf("%+v", p)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}

// kubernetes-sigs/inference-perf PR #693: a chat template makes prompts longer than asked.
func TestPromptLengthsThatAreNearEnough(t *testing.T) {
	for _, c := range []struct {
		asked, got int64
		far        bool
	}{{1000, 1000, false}, {1000, 1100, false}, {1000, 1101, true}, {1000, 899, true}, {10, 42, false}, {10, 43, true}} {
		if got := farFrom(c.asked, c.got); got != c.far {
			t.Errorf("%d for %d: far is %v", c.got, c.asked, got)
		}
	}
}
