package bench

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/runner/simulator"
)

// TestTruth holds the engine's books against the service's log: every request once, the same tokens and events, no effect before its cause, and
// never more in flight than asked for. How large the lags are is a benchmark's to say.
func TestTruth(t *testing.T) {
	for _, l := range []Load{
		{Streams: 1, Requests: 8, Tokens: 5, FirstToken: 10 * time.Millisecond, Interval: 5 * time.Millisecond},
		{Streams: 64, Requests: 2, Tokens: 10, FirstToken: 20 * time.Millisecond, Interval: 20 * time.Millisecond},
		{Streams: 1000, Requests: 1, Tokens: 5, FirstToken: 50 * time.Millisecond, Interval: 100 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d streams", l.Streams), func(t *testing.T) {
			outcome, seen, fidelity := engineAgainstTruth(t, l)
			requests := l.Streams * l.Requests
			if n := int64(len(seen)); n != requests {
				t.Errorf("%d requests, want %d", n, requests)
			}
			if n := int64(len(fidelity.Chunk)); n != requests*l.Tokens {
				t.Errorf("%d events with a token, want %d", n, requests*l.Tokens)
			}
			for _, e := range seen {
				if e.Tokens != l.Tokens {
					t.Errorf("request %s has %d tokens, want %d", e.ID, e.Tokens, l.Tokens)
				}
			}
			if peak := peakInFlight(seen); peak > l.Streams {
				t.Errorf("%d requests in flight at once, %d asked for", peak, l.Streams)
			}
			if n := int64(len(outcome.Sessions)); n != requests {
				t.Errorf("%d sessions, want %d", n, requests)
			}
		})
	}
}

func engineAgainstTruth(t *testing.T, l Load) (measure.Outcome, []Exchange, Fidelity) {
	t.Helper()
	truth := filepath.Join(t.TempDir(), "truth.jsonl")
	s, err := startService(t.Context(), append(self(), childService), l, truth)
	if err != nil {
		t.Fatal(err)
	}
	outcome, runErr := runEngine(t.Context(), s.URLs[0], l)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runErr != nil {
		t.Fatal(runErr)
	}
	seen, err := exchangesOf(outcome)
	if err != nil {
		t.Fatal(err)
	}
	fidelity, err := matchFile(seen, truth)
	if err != nil {
		t.Fatal(err)
	}
	return outcome, seen, fidelity
}

// TestToolsAgree runs each tool as the comparison does, as a process, and holds that they read the same.
func TestToolsAgree(t *testing.T) {
	l := Load{Streams: 8, Requests: 3, Tokens: 20, FirstToken: 20 * time.Millisecond, Interval: 5 * time.Millisecond, Spread: 50 * time.Millisecond}
	for _, tool := range tools() {
		r, err := Measure(t.Context(), Config{Tool: tool, Load: l, Self: self()})
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		if r.PeakInFlight > l.Streams || r.TokensPerSecond <= 0 || r.CPUPerEvent <= 0 || r.TTFTP50 == nil || *r.TTFTP50 < l.FirstToken.Seconds() {
			t.Errorf("%s: %+v", tool, r)
		}
		if (tool == Engine) != (r.ChunkP50 != nil) {
			t.Errorf("%s: chunks stamped: %t", tool, r.ChunkP50 != nil)
		}
	}
}

// pair is a request that was dispatched at 100 and answered with two tokens, and the service's log of it.
func pair() (Exchange, simulator.LogRequest) {
	return Exchange{ID: "bench-0", Dispatched: 100, FirstToken: 300, Ended: 600, Tokens: 2, Chunks: []int64{200, 350}},
		simulator.LogRequest{ID: "bench-0", Read: 120, Outcome: "ok", OutputTokens: 2,
			Events: []simulator.LogEvent{{At: 130, Kind: "role"}, {At: 290, Tokens: 1}, {At: 410, Tokens: 1}, {At: 500, Kind: "done"}}}
}

func TestMatchLags(t *testing.T) {
	e, r := pair()
	f, err := Match([]Exchange{e}, &simulator.Log{Requests: []simulator.LogRequest{r}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f); got != "{[2e-08] [1e-08] [1e-08 4e-08]}" {
		t.Error(got)
	}
}

func TestMatchRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*Exchange, *simulator.LogRequest){
		"another request":         func(e *Exchange, _ *simulator.LogRequest) { e.ID = "bench-1" },
		"read before dispatch":    func(_ *Exchange, r *simulator.LogRequest) { r.Read = 99 },
		"first before its write":  func(e *Exchange, _ *simulator.LogRequest) { e.FirstToken = 289 },
		"chunk before its write":  func(e *Exchange, _ *simulator.LogRequest) { e.Chunks[1] = 309 },
		"no first token":          func(e *Exchange, _ *simulator.LogRequest) { e.FirstToken = 0 },
		"other tokens":            func(e *Exchange, _ *simulator.LogRequest) { e.Tokens = 3 },
		"a chunk too few":         func(e *Exchange, _ *simulator.LogRequest) { e.Chunks = e.Chunks[:1] },
		"a chunk too many":        func(e *Exchange, _ *simulator.LogRequest) { e.Chunks = append(e.Chunks, 400) },
		"not answered to the end": func(_ *Exchange, r *simulator.LogRequest) { r.Outcome = "aborted" },
	} {
		e, r := pair()
		spoil(&e, &r)
		if _, err := Match([]Exchange{e}, &simulator.Log{Requests: []simulator.LogRequest{r}}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	e, r := pair()
	for what, log := range map[string][]simulator.LogRequest{"a request lost": {}, "a request sent twice": {r, r}} {
		if _, err := Match([]Exchange{e}, &simulator.Log{Requests: log}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestCounterSplits cuts a response at every place into three reads.
func TestCounterSplits(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\n\r\n9\r\ndata: x\n\n\r\na\r\ndata: yy\n\n\r\n0\r\n\r\n"
	for i := range len(response) {
		for j := i + 1; j < len(response); j++ {
			var c counter
			var b buffer
			for n, part := range []string{response[:i], response[i:j], response[j:]} {
				if ended := c.add(&b, copy(b.room(), part)); ended != (n == 2) {
					t.Fatalf("cut at %d and %d: part %d ends the response: %t", i, j, n, ended)
				}
			}
			if c.events != 2 {
				t.Fatalf("cut at %d and %d: %d events, want 2", i, j, c.events)
			}
		}
	}
}

func TestLanes(t *testing.T) {
	seen := []Exchange{
		{Lane: 0, Spread: true, Dispatched: 1, FirstToken: 5, Ended: 10, Tokens: 9},
		{Lane: 0, Ready: 11, Dispatched: 12, FirstToken: 15, Ended: 20, Tokens: 3},
		{Lane: 1, Dispatched: 10, FirstToken: 14, Ended: 30, Tokens: 5},
	}
	if peak := peakInFlight(seen); peak != 2 {
		t.Errorf("peak %d, want 2", peak)
	}
	if peak := peakInFlight([]Exchange{seen[0], seen[2]}); peak != 1 {
		t.Errorf("peak %d, want 1: an end and a dispatch at one instant are not two at once", peak)
	}
	if got := fmt.Sprint(turnaroundOf(seen)); got != "{[1e-09] [1e-09]}" {
		t.Errorf("turnaround %s, want 1 ns and 1 ns", got)
	}
	perSecond, ttft := output(seen)
	if perSecond != 8/20e-9 || fmt.Sprint(ttft) != "[3e-09 4e-09]" {
		t.Errorf("%v tokens a second, first tokens after %v", perSecond, ttft)
	}
}
