package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestAChatStreamIsWrittenAsVLLMWritesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		resp := r.post(chatPath, ask(`"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}`), "X-Request-Id", `my"id`)
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("content type %q", got)
		}
		head := `data: {"id":"chatcmpl-my\"id","object":"chat.completion.chunk","created":946684800,"model":"tiny","choices":[`
		want := head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
			head + `{"index":0,"delta":{"content":"WORD"},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
			head + `{"index":0,"delta":{"content":" WORD"},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
			head + `{"index":0,"delta":{"content":" WORD"},"logprobs":null,"finish_reason":"length","stop_reason":null}]}` + "\n\n" +
			head + `],"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0}}}` + "\n\n" +
			"data: [DONE]\n\n"
		if diff := cmp.Diff(want, blank(text(t, resp))); diff != "" {
			t.Errorf("stream (-want +got):\n%s", diff)
		}
	})
}

// blank puts WORD in the place of each word of the vocabulary, which a test can't know.
func blank(stream string) string {
	lines := strings.Split(stream, "\n")
	for i, line := range lines {
		for _, mark := range []string{`"content":"`, `"text":"`, `"reasoning_content":"`} {
			before, rest, ok := strings.Cut(line, mark)
			word, after, _ := strings.Cut(rest, `"`)
			if ok && strings.TrimSpace(word) != "" {
				lines[i] = before + mark + strings.Replace(word, strings.TrimSpace(word), "WORD", 1) + `"` + after
			}
		}
	}
	return strings.Join(lines, "\n")
}

func TestAPlainCompletionIsStreamedWithoutARole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		resp := r.post(completionsPath, `{"model":"tiny","prompt":"Once upon a time","max_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`)
		head := `data: {"id":"cmpl-1","object":"text_completion","created":946684800,"model":"tiny","choices":[`
		want := head + `{"index":0,"text":"WORD","logprobs":null,"finish_reason":null}]}` + "\n\n" +
			head + `{"index":0,"text":" WORD","logprobs":null,"finish_reason":"length","stop_reason":null}]}` + "\n\n" +
			head + `],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}` + "\n\n" +
			"data: [DONE]\n\n"
		if diff := cmp.Diff(want, blank(text(t, resp))); diff != "" {
			t.Errorf("stream (-want +got):\n%s", diff)
		}
	})
}

func TestContinuousUsageStandsInEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.StreamInterval = 3
		r := newRig(t, cfg, nil)
		events, err := r.stream(chatPath, ask(`"max_tokens":9,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`))
		if err != nil {
			t.Fatal(err)
		}
		var completed []int
		for _, e := range events {
			if e.usage != nil {
				completed = append(completed, e.usage.Completion)
			}
		}
		// The role, the first token alone, three at a time, what is left, and the usage of the whole.
		if diff := cmp.Diff([]int{0, 1, 4, 7, 9, 9}, completed); diff != "" {
			t.Errorf("completion tokens (-want +got):\n%s", diff)
		}
	})
}

func TestNoUsageIsSentWhereNoneIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		for _, more := range []string{`"stream":true`, `"stream":true,"stream_options":{"continuous_usage_stats":true}`} {
			got := text(t, r.post(chatPath, ask(`"max_tokens":3,`+more)))
			if strings.Contains(got, "usage") || !strings.HasSuffix(got, "data: [DONE]\n\n") {
				t.Errorf("%s: stream\n%s", more, got)
			}
		}
	})
}

func TestReasoningComesBeforeTextAndAToolCallAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.ReasoningTokens, cfg.ToolCallTokens, cfg.StreamInterval = 5, 4, 2
		r := newRig(t, cfg, nil)
		events, err := r.stream(chatPath, ask(`"max_tokens":12,"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var reasoning, content, arguments, name string
		for _, e := range events {
			kind := "-"
			switch {
			case e.delta.Reasoning != "":
				kind = "reasoning"
			case e.delta.Content != "":
				kind = "content"
			case len(e.delta.ToolCalls) > 0:
				kind = "tool"
				name += e.delta.ToolCalls[0].Function.Name
				arguments += e.delta.ToolCalls[0].Function.Arguments
			}
			order = append(order, kind)
			reasoning += e.delta.Reasoning
			content += e.delta.Content
		}
		want := []string{"-", "reasoning", "reasoning", "reasoning", "content", "content", "tool", "tool", "-"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		for _, w := range []struct {
			name, text string
			words      int
		}{{"reasoning", reasoning, 5}, {"content", content, 3}} {
			if got := len(strings.Fields(w.text)); got != w.words || strings.HasPrefix(w.text, " ") {
				t.Errorf("%s is %q, want %d words", w.name, w.text, w.words)
			}
		}
		var called struct{ Query string }
		if err := json.Unmarshal([]byte(arguments), &called); err != nil || len(strings.Fields(called.Query)) != 4 || name != "look_up" {
			t.Errorf("the tool call is %s(%s): %v", name, arguments, err)
		}
		if last := events[len(events)-2].data; !strings.Contains(last, `"finish_reason":"tool_calls"`) {
			t.Errorf("last event with a token: %s", last)
		}
	})
}

func TestAnAnswerThatIsNotStreamedHoldsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.ReasoningTokens, cfg.ToolCallTokens = 2, 2
		r := newRig(t, cfg, nil)
		var got struct {
			ID      string `json:"id"`
			Object  string `json:"object"`
			Choices []struct {
				Message delta  `json:"message"`
				Finish  string `json:"finish_reason"`
			} `json:"choices"`
			Usage wireUsage `json:"usage"`
		}
		body := text(t, r.post(chatPath, ask(`"max_tokens":7`), "X-Request-Id", "seven"))
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		events, err := r.stream(chatPath, ask(`"max_tokens":7,"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		var streamed delta
		for _, e := range events {
			streamed.Content += e.delta.Content
			streamed.Reasoning += e.delta.Reasoning
		}
		if m := got.Choices[0].Message; m.Content != streamed.Content || m.Reasoning != streamed.Reasoning || len(m.ToolCalls) != 1 {
			t.Errorf("message %+v, streamed %+v", m, streamed)
		}
		if got.ID != "chatcmpl-seven" || got.Object != "chat.completion" || got.Choices[0].Finish != "tool_calls" || got.Usage.Completion != 7 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheSameSeedGivesTheSameWords(t *testing.T) {
	answerWith := func(seed int64, prompt string) (content string) {
		synctest.Test(t, func(t *testing.T) {
			cfg := flat()
			cfg.Seed = seed
			r := newRig(t, cfg, nil)
			content = text(t, r.post(completionsPath, `{"prompt":"`+prompt+`","max_tokens":30}`))
		})
		return content
	}
	first := answerWith(1, "sea")
	if again := answerWith(1, "sea"); again != first {
		t.Errorf("the same seed and prompt gave\n%s\n%s", first, again)
	}
	if answerWith(2, "sea") == first {
		t.Error("another seed gave the same words")
	}
	if answerWith(1, "hill") == first {
		t.Error("another prompt gave the same words")
	}
}

func TestPromptTokensAreThoseOfTokenize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.MaxModelLen, cfg.NumGPUBlocks = 1000, 100
		r := newRig(t, cfg, nil)
		prompts := []struct{ path, body string }{
			{chatPath, `"messages":[{"role":"user","content":"Hello there, 12345 things!\n\nGo  on."}]`},
			{chatPath, `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Grüße, 世界"}]}]`},
			{chatPath, `"messages":[{"role":"user","content":null}],"tools":[{"type":"function"}]`},
			{completionsPath, `"prompt":"Once upon a time"`},
			{completionsPath, `"prompt":["Once upon a time"]`},
			{completionsPath, `"prompt":[5,6,7,8]`},
			{completionsPath, `"prompt":[[5,6,7,8]]`},
		}
		for _, p := range prompts {
			var tokenized struct {
				Count  int
				Tokens []uint32
			}
			if err := json.Unmarshal([]byte(text(t, r.post("/tokenize", "{"+p.body+"}"))), &tokenized); err != nil {
				t.Fatal(err)
			}
			var completed struct{ Usage wireUsage }
			if err := json.Unmarshal([]byte(text(t, r.post(p.path, "{"+p.body+`,"max_tokens":1}`))), &completed); err != nil {
				t.Fatal(err)
			}
			if tokenized.Count != completed.Usage.Prompt || tokenized.Count != len(tokenized.Tokens) || tokenized.Count < 5 {
				t.Errorf("%s: /tokenize counts %d (%d listed), usage says %d", p.body, tokenized.Count, len(tokenized.Tokens), completed.Usage.Prompt)
			}
		}
	})
}

func TestBadRequestsAreRefusedAsVLLMRefusesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		long := strings.Repeat("word ", 300)
		for _, want := range []struct {
			path, body string
			status     int
			message    string
		}{
			{chatPath, `{"model":"tiny",`, 400, "parsing the request's body"},
			{chatPath, ``, 400, "parsing the request's body"},
			{chatPath, `[]`, 400, "parsing the request's body"},
			{chatPath, `{"model":"other","messages":[{"role":"user","content":"a"}]}`, 404, "The model `other` does not exist."},
			{chatPath, `{"model":"tiny","max_tokens":3}`, 400, "at least one message"},
			{chatPath, `{"messages":[{"content":"a"}]}`, 400, "messages[0].role must be given"},
			{chatPath, `{"messages":[{"role":"user","content":7}]}`, 400, "wrong type for messages.content: number"},
			{chatPath, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, `content of type "image_url" is not served`},
			{chatPath, ask(`"max_tokens":-3`), 400, "max_tokens must be at least 1, got -3. (parameter=max_tokens, value=-3)"},
			{chatPath, ask(`"max_tokens":0`), 400, "max_tokens must be at least 1, got 0."},
			{chatPath, ask(`"max_tokens":1.5`), 400, "wrong type for max_tokens: number 1.5"},
			{chatPath, ask(`"max_tokens":1e300`), 400, "wrong type for max_tokens: number 1e300"},
			{chatPath, ask(`"max_tokens":9223372036854775807`), 400, "maximum context length is 256 tokens"},
			{chatPath, ask(`"max_tokens":99999999999999999999`), 400, "wrong type for max_tokens: number"},
			{chatPath, ask(`"max_tokens":245`), 400, "you requested 245 output tokens and your prompt contains 12 input tokens"},
			{chatPath, ask(`"max_completion_tokens":245`), 400, "parameter=max_completion_tokens, value=245"},
			{chatPath, ask(`"max_tokens":"many"`), 400, "wrong type for max_tokens: string"},
			{chatPath, ask(`"stream_options":{"include_usage":true}`), 400, "Stream options can only be defined when `stream=True`."},
			{chatPath, ask(`"n":2`), 400, "n must be 1, got 2."},
			{chatPath, ask(`"temperature":-1`), 400, "temperature must be non-negative"},
			{completionsPath, `{"prompt":"","max_tokens":3}`, 400, "must be provided and non-empty"},
			{completionsPath, `{"prompt":["a","b"]}`, 400, "a list of 2 prompts is not served"},
			{completionsPath, `{"prompt":[-1]}`, 400, ""},
			{completionsPath, `{"prompt":"` + long + `"}`, 400, "your request has 302 input tokens"},
			{"/tokenize", `{"model":"other","prompt":"a"}`, 404, "The model `other` does not exist."},
			{"/tokenize", `{`, 400, "parsing the request's body"},
		} {
			resp := r.post(want.path, want.body)
			var got struct{ Error apiError }
			body := text(t, resp)
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Errorf("%s: %v in %s", want.body, err, body)
			}
			if resp.StatusCode != want.status || got.Error.Code != want.status || !strings.Contains(got.Error.Message, want.message) {
				t.Errorf("%.80s: %d %s, want %d with %q", want.body, resp.StatusCode, body, want.status, want.message)
			}
		}
		for _, entry := range r.readLog().Requests {
			if entry.Outcome != outcomeRejected || entry.HTTPStatus < 400 {
				t.Errorf("the log has %+v", entry)
			}
		}
	})
}

func TestMaxTokensUpToTheLimitAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		for more, want := range map[string]struct {
			tokens int
			finish string
		}{
			`"max_tokens":244`:                              {244, finishLength},
			`"max_completion_tokens":3,"max_tokens":9`:      {3, finishLength},
			`"temperature":0`:                               {244, finishStop}, // 256 without a word, but no more than fit
			`"ignore_eos":true,"top_p":1,"max_tokens":2`:    {2, finishLength},
			`"n":1,"stream":false,"max_tokens":1,"stop":[]`: {1, finishLength},
		} {
			var got struct {
				Choices []struct {
					Finish string `json:"finish_reason"`
				}
				Usage wireUsage
			}
			if err := json.Unmarshal([]byte(text(t, r.post(chatPath, ask(more)))), &got); err != nil {
				t.Fatal(err)
			}
			if got.Usage.Completion != want.tokens || got.Choices[0].Finish != want.finish {
				t.Errorf("%s: %d tokens and %q, want %d and %q", more, got.Usage.Completion, got.Choices[0].Finish, want.tokens, want.finish)
			}
		}
	})
}

func TestTheServiceSaysWhatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		want := `{"data":[{"id":"tiny","object":"model","created":946684800,"owned_by":"sweetspot-simulator","root":"tiny","parent":null,` +
			`"max_model_len":256}],"object":"list"}` + "\n"
		if diff := cmp.Diff(want, text(t, r.get("/v1/models"))); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		resp := r.get("/version")
		if got := text(t, resp); got != `{"version":"sweetspot-simulator/test"}`+"\n" || resp.Header.Get("Server") != "sweetspot-simulator" {
			t.Errorf("version %q from %q", got, resp.Header.Get("Server"))
		}
		for path, want := range map[string]int{"/health": 200, "/nothing": 404, chatPath: 405} {
			resp := r.get(path)
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, want)
			}
		}
	})
}

func TestMetricsAreNamedAsVLLMNamesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		prompt := strings.TrimSpace(strings.Repeat("sea ", 39)) // 40 tokens: two full blocks and a half
		for range 2 {
			r.post(completionsPath, `{"prompt":"`+prompt+`","max_tokens":5}`).Body.Close()
			synctest.Wait()
		}
		r.post(completionsPath, `{"prompt":"`+prompt+`"}`).Body.Close()
		open := r.post(completionsPath, `{"prompt":"hill","max_tokens":200,"stream":true}`)
		synctest.Wait()
		got := text(t, r.get("/metrics"))
		labels := `engine="0",model_name="tiny"`
		for name, value := range map[string]string{
			"vllm:num_requests_running{" + labels + "}":                                               "1",
			"vllm:num_requests_waiting{" + labels + "}":                                               "0",
			"vllm:kv_cache_usage_perc{" + labels + "}":                                                "0.015625", // one block of 64
			"vllm:prefix_cache_queries_total{" + labels + "}":                                         "122",
			"vllm:prefix_cache_hits_total{" + labels + "}":                                            "64",
			"vllm:num_preemptions_total{" + labels + "}":                                              "0",
			"vllm:prompt_tokens_total{" + labels + "}":                                                "120",
			"vllm:generation_tokens_total{" + labels + "}":                                            "226", // 5, 5 and the 216 that fit
			"vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"tiny\"}": "2",
			"vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"tiny\"}":   "1",
			"vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",model_name=\"tiny\"}":  "0",
			"vllm:time_to_first_token_seconds_count{" + labels + "}":                                  "3",
			"vllm:time_to_first_token_seconds_bucket{" + labels + `,le="0.02"}`:                       "3",
		} {
			if !strings.Contains(got, "\n"+name+" "+value+"\n") {
				t.Errorf("no %s %s in\n%s", name, value, got)
			}
		}
		open.Body.Close()
	})
}

func TestTheCacheIsSeenInUsageAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		cached := func(more string) int {
			body := fmt.Sprintf(`{"prompt":"%s","max_tokens":1%s}`, strings.TrimSpace(strings.Repeat("sea ", 40)), more)
			var got struct{ Usage wireUsage }
			if err := json.Unmarshal([]byte(text(t, r.post(completionsPath, body))), &got); err != nil {
				t.Fatal(err)
			}
			return got.Usage.Details.Cached
		}
		got := []int{cached(""), cached(""), cached(`,"cache_salt":"a"`), cached(`,"cache_salt":"a"`), cached(`,"cache_salt":"b"`)}
		if resp := r.post("/reset_prefix_cache", ""); text(t, resp) != `{"success":true}`+"\n" || resp.StatusCode != http.StatusOK {
			t.Errorf("reset: %s", resp.Status)
		}
		got = append(got, cached(""), cached(""))
		if diff := cmp.Diff([]int{0, 32, 0, 32, 0, 0, 32}, got); diff != "" {
			t.Errorf("cached tokens (-want +got):\n%s", diff)
		}
	})
}
