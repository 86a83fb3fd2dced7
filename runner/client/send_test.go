package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// What the services say, each in its own form, comes to the same few figures.
func TestFixtures(t *testing.T) {
	type figures struct {
		Status, Finish                            string
		Events                                    int
		Prompt, Output, Thought, Cached, FirstSet string
		Distinct, Sample                          string
	}
	for name, want := range map[string]figures{
		"vllm_chat":        {"ok", "length", 3, "24", "3", "null", "16", "null", "3", "Once upon "},
		"vllm_completions": {"ok", "stop", 2, "5", "2", "null", "null", "null", "2", " time flies"},
		// vllm-project/vllm PR #42661: several tokens in one event.
		"vllm_continuous_usage": {"ok", "stop", 2, "12", "5", "null", "null", "3", "2", "one two three four five"},
		// triton-inference-server/perf_analyzer PR #433: reasoning tokens by the server's count, 512, not by events.
		"vllm_reasoning":   {"ok", "stop", 3, "9", "512", "510", "null", "null", "3", "Let me think42"},
		"sglang_reasoning": {"ok", "stop", 2, "14", "20", "17", "null", "null", "2", "HmmYes"},
		"llamacpp_chat":    {"ok", "stop", 1, "11", "2", "null", "null", "null", "1", "Hi"},
		"tgi_chat":         {"ok", "length", 2, "36", "2", "null", "null", "null", "2", "Deep"},
		"openai_tools": {"ok", "tool_calls", 2, "61", "17", "0", "0", "null", "2", `[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]` +
			`[{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]`},
		// vllm-project/vllm#27485: with the harmony parser events and tokens have little to do with each other.
		"harmony": {"ok", "stop", 2, "70", "11", "null", "null", "null", "2", "User asksSure"},
		// ikawrakow/ik_llama.cpp#467: no [DONE].
		"no_done": {"ok", "stop", 2, "3", "2", "null", "null", "null", "2", "ab"},
	} {
		inBubble(t, script(fixture(t, name)), nil, func(g rig) {
			r, called := g.send(g.t.Context())
			got := figures{string(r.Status), text(r.FinishReason), len(r.Chunks), number(r.PromptTokens), number(r.OutputTokens), number(r.ReasoningTokens),
				number(r.CachedPromptTokens), number(r.FirstEventTokens), number(r.DistinctChunks), text(r.Sample)}
			if diff := cmp.Diff(want, got); diff != "" {
				g.t.Errorf("%s (-want +got):\n%s\nerror: %s", name, diff, text(r.Error))
			}
			if called == nil || r.TokenSource == nil || *r.TokenSource != measure.FromServer || *r.HTTPStatus != 200 {
				g.t.Errorf("%s: first token %v, token source %v, status %v", name, called, r.TokenSource, r.HTTPStatus)
			}
		})
	}
}

// vllm-project/vllm#3759 and #15106: the role event, which may come long before the first token, was taken for it.
// vllm-project/guidellm#737 and ai-dynamo/aiperf#391: reasoning is a token; visible output has an instant of its own.
func TestInstants(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	handler := script(3*s, role, 4*s, reasoning("Hm"), 100*ms, reasoning("m"), 100*ms, content("Yes"), 50*ms, content("!")+content("!"), s, stop, s, twoUsed, s, done)
	inBubble(t, handler, nil, func(g rig) {
		r, called := g.send(g.t.Context())
		got := []string{after(r, r.Connected), after(r, r.Wrote), after(r, r.FirstByte), after(r, r.FirstEvent), after(r, r.FirstToken), after(r, r.FirstOutput),
			after(r, r.LastToken), after(r, r.Ended)}
		want := []string{"0s", "0s", "0s", "3s", "7s", "7.2s", "7.25s", "10.25s"}
		if diff := cmp.Diff(want, got); diff != "" {
			g.t.Errorf("connected, wrote, first byte, event, token and output, last token, ended (-want +got):\n%s", diff)
		}
		if called == nil || *called != 7*s {
			g.t.Errorf("firstToken was called after %v, want 7s", called)
		}
		// Events that arrive together share a stamp.
		chunks := []int64{int64(7 * s), int64(7100 * ms), int64(7200 * ms), int64(7250 * ms), int64(7250 * ms)}
		if diff := cmp.Diff(chunks, r.Chunks); diff != "" {
			g.t.Errorf("chunks (-want +got):\n%s", diff)
		}
	})
}

func TestAToolCallIsATokenAndNoOutput(t *testing.T) {
	handler := script(role, time.Second, `data: `+delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`)+"\n\n", stop, done)
	inBubble(t, handler, nil, func(g rig) {
		r, _ := g.send(g.t.Context())
		if r.Status != measure.OK || after(r, r.FirstToken) != "1s" || after(r, r.FirstOutput) != "null" {
			g.t.Errorf("%s, first token %s, first output %s; want ok, 1s, null", r.Status, after(r, r.FirstToken), after(r, r.FirstOutput))
		}
	})
}

// The instant of an event is that of its last byte, however it was cut.
func TestAnEventInPieces(t *testing.T) {
	whole := content("a")
	inBubble(t, script(whole[:10], time.Second, whole[10:len(whole)-1], time.Second, whole[len(whole)-1:]+stop, done), nil, func(g rig) {
		r, _ := g.send(g.t.Context())
		if r.Status != measure.OK || after(r, r.FirstToken) != "2s" || after(r, r.FirstByte) != "0s" {
			g.t.Errorf("%s, first token %s, first byte %s; want ok, 2s, 0s", r.Status, after(r, r.FirstToken), after(r, r.FirstByte))
		}
	})
}

func TestStatuses(t *testing.T) {
	s := time.Second
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			play(w, r, body)
		}
	}
	cut := errors.New("cut")
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		status  measure.Status
		tokens  int
		text    string // of the error
	}{
		{"ok", script(role, content("a"), content("b"), stop, twoUsed, done), measure.OK, 2, "null"},
		{"ok without usage", script(content("a"), stop, done), measure.OK, 1, "null"},
		{"ok with [DONE] and no finish reason", script(content("a"), done), measure.OK, 1, "null"},
		{"ok with a finish reason and no [DONE]", script(content("a"), stop), measure.OK, 1, "null"},
		{"ok with an unended [DONE]", script(content("a"), "data: [DONE]"), measure.OK, 1, "null"},
		{"ok with blank text", script(content(" "), content("\n"), stop, done), measure.OK, 2, "null"},
		{"ok with an empty data line between", script(content("a"), "data:\n\n", stop, done), measure.OK, 1, "null"},
		{"ok with usage in the middle", script(content("a"), twoUsed, content("b"), done), measure.OK, 2, "null"},
		{"ok whatever follows [DONE]", script(content("a"), done+"data: {nonsense\n\n"), measure.OK, 1, "null"},

		{"error with 500", answer(500, "application/json", `{"error":{"message":"out of memory","code":500}}`), measure.HTTPError, 0,
			"HTTP 500 Internal Server Error: out of memory"},
		{"error with 429", answer(429, "text/plain", "slow down\n"), measure.HTTPError, 0, "HTTP 429 Too Many Requests: slow down"},
		{"error with 422", answer(422, "application/json", `{"detail":[{"loc":["body"]}]}`), measure.HTTPError, 0,
			`HTTP 422 Unprocessable Entity: [{"loc":["body"]}]`},
		{"error with 404 and nothing", answer(404, "", ""), measure.HTTPError, 0, "HTTP 404 Not Found"},
		{"error with 204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, measure.HTTPError, 0, "HTTP 204 No Content"},
		{"a stream with 201 is none", answer(201, "text/event-stream", content("a")+stop+done), measure.HTTPError, 0,
			"HTTP 201 Created: " + strings.TrimSpace(strings.ReplaceAll(content("a")+stop+done, "\n", " "))},

		// fw-ai/benchmark PR #3: a time to first token although streaming was off.
		{"streaming was ignored", answer(200, "application/json", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`),
			measure.StreamError, 0, "the service ignored stream: true: it answered with application/json, whole"},
		{"an error with 200 and no stream", answer(200, "application/json", `{"error":{"message":"no such model"}}`), measure.StreamError, 0,
			"the service sent an error with status 200: no such model"},
		{"a web page", answer(200, "text/html; charset=utf-8", "<html>log in</html>"), measure.StreamError, 0,
			"the service answered with text/html where text/event-stream belongs: <html>log in</html>"},
		{"an encoding that was not asked for", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			script(content("a"), done)(w, r)
		}, measure.StreamError, 0, "the response is encoded as gzip, which was not asked for"},

		// ggml-org/llama.cpp#14566: an error in the stream after status 200.
		{"an error at once", script(`data: {"error":{"message":"too long","code":400}}`+"\n\n", done), measure.StreamError, 0, "the service sent an error: too long"},
		{"an error as text", script(`data: {"error":"boom","error_type":"generation"}` + "\n\n"), measure.StreamError, 0, "the service sent an error: boom"},
		{"an error after content", script(role, content("a"), s, `data: {"error":{"message":"engine died"}}`+"\n\n", stop, done), measure.StreamError, 1,
			"the service sent an error: engine died"},
		{"an error without a message", script(`data: {"error":{"code":7}}` + "\n\n"), measure.StreamError, 0, `the service sent an error: {"code":7}`},
		{"an error event", script(content("a"), "event: error\ndata: gone\n\n"), measure.StreamError, 1, "the service sent an error: gone"},
		{"an error event that looks like content", script(content("a"), "event: error\n"+content("b"), done), measure.StreamError, 1,
			`the service sent an error: {"choices":[{"index":0,"delta":{"content":"b"}}]}`},
		{"an error field", script("error: {\"message\":\"the request exceeds the context\"}\n\n", done), measure.StreamError, 0,
			"the service sent an error: the request exceeds the context"},
		{"an error at the very end", script(content("a"), `data: {"error":{"message":"x"}}`), measure.StreamError, 1, "the service sent an error: x"},
		{"a frame that is no JSON", script(content("a"), "data: {\"choices\":[{\n\n", done), measure.StreamError, 1,
			`an event can't be decoded: jsontext: unexpected EOF within "/choices/0" after offset 13: {"choices":[{`},
		{"a frame of another type", script("data: {\"choices\":7}\n\n"), measure.StreamError, 0,
			`an event can't be decoded: choices is a number where a [ belongs: {"choices":7}`},
		{"a token although usage says 0", script(content("a"), stop, noneUsed, done), measure.StreamError, 1,
			"usage says 0 output tokens, yet 1 event with a token had arrived"},
		{"an event without end", script(content("a"), "data: "+strings.Repeat("x", maxEvent+leastRead)), measure.StreamError, 1, "an event is longer than 1 MiB"},

		{"cut before anything", script(), measure.Truncated, 0, "the response ended with neither [DONE] nor a finish reason: no event had arrived"},
		{"cut after the role", script(role), measure.Truncated, 0, "the response ended with neither [DONE] nor a finish reason: 0 events with a token had arrived"},
		{"cut after tokens", script(content("a"), content("b"), s), measure.Truncated, 2,
			"the response ended with neither [DONE] nor a finish reason: 2 events with a token had arrived"},
		{"cut in an event", script(content("a"), content("b")[:30]), measure.Truncated, 1,
			"the response ended with neither [DONE] nor a finish reason: 1 event with a token had arrived"},
		{"broken off", script(content("a"), cut), measure.Truncated, 1, "the response broke off: unexpected EOF: 1 event with a token had arrived"},
		{"broken off after the finish reason", script(content("a"), stop, cut), measure.OK, 1, "null"},
		{"cut before a token although usage says 0", script(role, noneUsed), measure.Truncated, 0,
			"the response ended with neither [DONE] nor a finish reason: 0 events with a token had arrived"},

		// vllm-project/vllm#3209: empty responses counted as success.
		{"empty", script(role, stop, noneUsed, done), measure.Empty, 0, "the response ended well without a token"},
		{"empty at once", script(done), measure.Empty, 0, "the response ended well without a token"},
		{"empty with usage", script(role, content(""), stop, twoUsed, done), measure.Empty, 0, "the response ended well without a token"},

		{"stalled before the header", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); play(w, r, time.Hour) }, measure.Timeout, 0,
			"no end within 30s: no response had begun"},
		{"stalled in the stream", script(role, content("a"), time.Hour), measure.Timeout, 1, "no end within 30s: 1 event with a token had arrived"},
		{"an endless stream of comments", endless(": ping\n\n"), measure.Timeout, 0, "no end within 30s: no event had arrived"},
		{"stalled after the finish reason", script(content("a"), stop, time.Hour), measure.Timeout, 1, "no end within 30s: 1 event with a token had arrived"},
		{"stalled with the whole", answerSlowly, measure.Timeout, 0, "no end within 30s: no event had arrived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, c.handler, nil, func(g rig) {
				r, called := g.send(g.t.Context())
				if r.Status != c.status || text(r.Error) != c.text {
					g.t.Errorf("%s: %s\nwant %s: %s", r.Status, text(r.Error), c.status, c.text)
				}
				if len(r.Chunks) != c.tokens || (called != nil) != (c.tokens > 0) {
					g.t.Errorf("%d chunks, firstToken %v; want %d", len(r.Chunks), called, c.tokens)
				}
				if limit := 30 * time.Second; r.Status == measure.Timeout && r.Ended.Sub(r.Dispatched) != limit {
					g.t.Errorf("timed out after %s, want %v", after(r, r.Ended), limit)
				}
			})
		})
	}
}

func endless(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			play(w, r, text, time.Second)
		}
	}
}

func answerSlowly(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	play(w, r, "{", time.Hour)
}

// A context that is done ends the request at once, and its cause says how that is counted.
func TestCauses(t *testing.T) {
	drowned := errors.New("interrupted by the person")
	for _, c := range []struct {
		cause  error
		after  time.Duration
		status measure.Status
		text   string
	}{
		{ErrCancelled, 2 * time.Second, measure.Cancelled, "cancelled because the preset says so: no response had begun"},
		{ErrCancelled, 6 * time.Second, measure.Cancelled, "cancelled because the preset says so: 1 event with a token had arrived"},
		{ErrCancelled, 8 * time.Second, measure.Cancelled, "cancelled because the preset says so: 1 event with a token had arrived"},
		{ErrDrained, 2 * time.Second, measure.Truncated, "cut at the drain deadline: no response had begun"},
		{ErrDrained, 8 * time.Second, measure.Truncated, "cut at the drain deadline: 1 event with a token had arrived"},
		{drowned, 6 * time.Second, measure.Truncated, "interrupted by the person: 1 event with a token had arrived"},
		{nil, 6 * time.Second, measure.Truncated, "context canceled: 1 event with a token had arrived"},
		{ErrCancelled, 0, measure.Cancelled, "cancelled because the preset says so: no response had begun"},
	} {
		handler := func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			play(w, r, 4*time.Second)
			script(content("a"), 3*time.Second, stop, time.Hour)(w, r)
		}
		inBubble(t, handler, nil, func(g rig) {
			ctx, cancel := context.WithCancelCause(g.t.Context())
			if c.after == 0 {
				cancel(c.cause)
			} else {
				defer time.AfterFunc(c.after, func() { cancel(c.cause) }).Stop()
			}
			r, _ := g.send(ctx)
			if r.Status != c.status || text(r.Error) != c.text || r.Ended.Sub(r.Dispatched) != c.after {
				g.t.Errorf("cancelled with %v after %v: %s after %s: %s\nwant %s: %s", c.cause, c.after, r.Status, after(r, r.Ended), text(r.Error), c.status, c.text)
			}
		})
	}
}

func TestACallersOwnDeadlineIsNoTimeout(t *testing.T) {
	inBubble(t, script(time.Hour), nil, func(g rig) {
		ctx, cancel := context.WithTimeoutCause(g.t.Context(), time.Second, ErrDrained)
		defer cancel()
		if r, _ := g.send(ctx); r.Status != measure.Truncated {
			g.t.Errorf("%s: %s; want truncated", r.Status, text(r.Error))
		}
	})
}

func TestNoTimeout(t *testing.T) {
	inBubble(t, script(100*time.Hour, content("a"), done), func(c *Config) { c.Timeout = 0 }, func(g rig) {
		if r, _ := g.send(g.t.Context()); r.Status != measure.OK {
			g.t.Errorf("%s: %s; want ok", r.Status, text(r.Error))
		}
	})
}

// A body that goes on after [DONE] is not waited for, and does not change when the request ended.
func TestABodyThatStaysOpenAfterDone(t *testing.T) {
	inBubble(t, script(content("a"), time.Second, done, time.Hour), nil, func(g rig) {
		r, _ := g.send(g.t.Context())
		if r.Status != measure.OK || after(r, r.Ended) != "1s" {
			g.t.Errorf("%s after %s; want ok after 1s", r.Status, after(r, r.Ended))
		}
		if took := g.client.config.Clock.Now().Sub(r.Dispatched); took != time.Second+5*time.Millisecond {
			g.t.Errorf("Send took %v, want 1.005s", took)
		}
	})
}

// vllm-project/guidellm#487 and Azure/azure-openai-benchmark PR #8: a hidden cap of 100 connections. Here no request is answered before all have
// arrived, which under any cap would never be.
func TestAllStreamsAtOnce(t *testing.T) {
	const streams = 300
	var arrived sync.WaitGroup
	handler := func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait()
		script(content("a"), done)(w, r)
	}
	inBubble(t, handler, func(c *Config) { c.Streams = streams; c.Timeout = 0 }, func(g rig) {
		for round := range 2 {
			arrived.Add(streams)
			reused := make(chan bool, streams)
			for range streams {
				go func() {
					r := measure.Record{Dispatched: g.client.config.Clock.Now()}
					g.client.Send(g.t.Context(), workload.Request{}, &r, func() {})
					if r.Status != measure.OK {
						g.t.Errorf("%s: %s", r.Status, text(r.Error))
					}
					reused <- r.ConnReused
				}()
			}
			for range streams {
				if got := <-reused; got != (round == 1) {
					g.t.Errorf("round %d: conn_reused is %v", round, got)
				}
			}
		}
		if got := g.net.dials.Load(); got != streams {
			g.t.Errorf("%d connections for two rounds of %d streams", got, streams)
		}
	})
}

func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	inBubble(t, script(content("a"), done), nil, func(g rig) {
		for _, c := range []struct {
			idle   time.Duration
			reused bool
		}{{0, false}, {3900 * time.Millisecond, true}, {4100 * time.Millisecond, false}} {
			time.Sleep(c.idle)
			synctest.Wait()
			if r, _ := g.send(g.t.Context()); r.ConnReused != c.reused || !r.Connected.Happened() {
				g.t.Errorf("after %v idle conn_reused is %v, want %v", c.idle, r.ConnReused, c.reused)
			}
		}
	})
}

func TestAnAnswerForALaterTurn(t *testing.T) {
	handler := script(role, reasoning("think"), content("Say \"hé\""), content("llo\n"), stop, done)
	inBubble(t, handler, nil, func(g rig) {
		for _, want := range []string{"Say \"hé\"llo\n", ""} {
			_, _, answer := g.sendRequest(g.t.Context(), workload.Request{WantText: want != ""})
			if answer.Text != want {
				g.t.Errorf("answer %q, want %q", answer.Text, want)
			}
		}
	})
}

func TestAnAnswerTooLongToKeep(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range maxText/(maxEvent/2) + 1 {
			play(w, r, content(strings.Repeat("x", maxEvent/2)))
		}
		play(w, r, done)
	}
	inBubble(t, handler, nil, func(g rig) {
		if r, _, _ := g.sendRequest(g.t.Context(), workload.Request{WantText: true}); r.Status != measure.StreamError {
			g.t.Errorf("%s, want stream_error", r.Status)
		}
		if r, _, _ := g.sendRequest(g.t.Context(), workload.Request{}); r.Status != measure.OK {
			g.t.Errorf("not kept: %s: %s, want ok", r.Status, text(r.Error))
		}
	})
}

// A model that repeats one text ranked fastest.
func TestDistinctChunks(t *testing.T) {
	for _, c := range []struct {
		texts string
		want  string
	}{{"aaaaaaaaaaaa", "1"}, {"abababab", "2"}, {"abcdefghijkl", "8"}} {
		var steps []any
		for _, s := range c.texts {
			steps = append(steps, content(string(s)))
		}
		inBubble(t, script(append(steps, done)...), nil, func(g rig) {
			if r, _ := g.send(g.t.Context()); number(r.DistinctChunks) != c.want {
				g.t.Errorf("%s: %s different chunks, want %s", c.texts, number(r.DistinctChunks), c.want)
			}
		})
	}
}

func TestManyRequestsOneAfterTheOtherAreIndependent(t *testing.T) {
	handlers := []http.HandlerFunc{
		script(fixture(t, "vllm_reasoning")), script(content("a"), stop, done), script(role), script("data: {\n\n"), script(fixture(t, "vllm_chat")),
	}
	next := 0
	handler := func(w http.ResponseWriter, r *http.Request) { next++; handlers[next-1](w, r) }
	inBubble(t, handler, nil, func(g rig) {
		var got []string
		for range handlers {
			r, _ := g.send(g.t.Context())
			got = append(got, strings.Join([]string{string(r.Status), text(r.Sample), number(r.OutputTokens), text(r.FinishReason)}, " "))
		}
		want := []string{"ok Let me think42 512 stop", "ok a null stop", "truncated null null null", "stream_error null null null", "ok Once upon  3 length"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
