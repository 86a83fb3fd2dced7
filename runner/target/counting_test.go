package target

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sweetspot/runner/measure"
)

// silent is a service that streams a text and says no usage; reasoning comes before it where thinking is set.
func silent(t *testing.T, thinking bool) string {
	t.Helper()
	events := []string{`{"choices":[{"delta":{"content":"tiktoken is"}}]}`, `{"choices":[{"delta":{"content":" great!"},"finish_reason":"stop"}]}`, "[DONE]"}
	if thinking {
		events = slices.Insert(events, 0, `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`)
	}
	return streaming(t, events...)
}

// streaming is a service that answers each request with those events.
func streaming(t *testing.T, events ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			fmt.Fprintf(w, "data: %s\n\n", event)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// Where the service says no usage, the preset's tokenizer counts, afterwards and never chunk by chunk; what it can't see it doesn't count.
// https://github.com/kubernetes-sigs/inference-perf/issues/564
func TestATokenizerCountsWhereTheServiceDoesNot(t *testing.T) {
	t.Parallel() // it waits between tries
	for _, thinking := range []bool{false, true} {
		config := configOf(t, silent(t, thinking))
		if _, _, err := Prepare(t.Context(), config); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("without a tokenizer: %v", err)
		}
		config.Spec.Request.Tokenizer = "o200k_base"
		for _, r := range measured(t, config, 3).Records {
			if r.TokenSource == nil || *r.TokenSource != measure.FromTokenizer || r.PromptTokens == nil || *r.PromptTokens != *r.RequestedPromptTokens {
				t.Errorf("prompt tokens %v of %d, source %v", r.PromptTokens, *r.RequestedPromptTokens, r.TokenSource)
			}
			if thinking != (r.OutputTokens == nil) || !thinking && *r.OutputTokens != 6 {
				t.Errorf("thinking %v: output tokens %v", thinking, r.OutputTokens)
			}
		}
	}
}

// answering is a service whose answers have a usage that counts the prompt, and of the completion what is given.
func answering(completion string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"tiktoken is great!"},"finish_reason":"stop"}]}`+"\n\n")
		fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d%s}}`+"\n\ndata: [DONE]\n\n", len(strings.Fields(string(body))), completion)
	}
}

// A usage that counts the prompt alone leaves the output to the tokenizer, and the source says so.
func TestATokenizerCountsTheOutputThatAUsageLacks(t *testing.T) {
	for _, completion := range []string{"", `,"completion_tokens":null`} {
		server := httptest.NewServer(answering(completion))
		t.Cleanup(server.Close)
		config := configOf(t, server.URL+"/v1")
		if _, _, err := Prepare(t.Context(), config); err == nil || !strings.Contains(err.Error(), "usage has no completion_tokens") {
			t.Errorf("without a tokenizer: %v", err)
		}
		config.Spec.Request.Tokenizer = "o200k_base"
		for _, r := range measured(t, config, 2).Records {
			if r.OutputTokens == nil || *r.OutputTokens != 6 || r.TokenSource == nil || *r.TokenSource != measure.FromServerAndTokenizer {
				t.Errorf("output tokens %v, source %v", r.OutputTokens, r.TokenSource)
			}
			if r.PromptTokens == nil || *r.PromptTokens != *r.RequestedPromptTokens {
				t.Errorf("prompt tokens %v, want the service's %d", r.PromptTokens, *r.RequestedPromptTokens)
			}
		}
	}
}

// A usage that counts the output alone leaves the prompt to the tokenizer, whose calibration is its own then; the output is the service's.
func TestATokenizerCountsThePromptThatAUsageLacks(t *testing.T) {
	for _, prompt := range []string{"", `"prompt_tokens":null,`} {
		url := streaming(t, `{"choices":[{"delta":{"content":"tiktoken is great!"},"finish_reason":"stop"}]}`,
			fmt.Sprintf(`{"choices":[],"usage":{%s"completion_tokens":5}}`, prompt), "[DONE]")
		config := configOf(t, url)
		config.Spec.Request.Tokenizer = "o200k_base"
		for _, r := range measured(t, config, 2).Records {
			if r.OutputTokens == nil || *r.OutputTokens != 5 || r.TokenSource == nil || *r.TokenSource != measure.FromTokenizerAndServer {
				t.Errorf("output tokens %v, source %v", r.OutputTokens, r.TokenSource)
			}
			if r.PromptTokens == nil || *r.PromptTokens != *r.RequestedPromptTokens {
				t.Errorf("prompt tokens %v, want %d", r.PromptTokens, *r.RequestedPromptTokens)
			}
		}
	}
}

// A service that counts is believed, whatever tokenizer is there.
func TestAServiceThatCountsIsBelieved(t *testing.T) {
	config := configOf(t, serve(t, nil))
	config.Spec.Request.Tokenizer = "cl100k_base"
	made, _, err := Prepare(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if made.tokens != nil {
		t.Error("the tokenizer would count")
	}
}
