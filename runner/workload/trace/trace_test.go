package trace

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/workload/input"
)

func formats() map[string]Format {
	return map[string]Format{
		"mooncake": Mooncake(512), "bailian": Bailian(16), "burstgpt": BurstGPT(), "batch": Batch(), "weka": Weka(time.Minute),
	}
}

func parse(format Format, text string) (*Session, error) {
	return format.Parse(input.Entry{Text: []byte(text)})
}

func parsed(t *testing.T, format Format, text string) *Session {
	t.Helper()
	s, err := parse(format, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func after(d time.Duration) *time.Duration { return &d }

func TestWhatALineMeans(t *testing.T) {
	text := "Hello"
	for name, c := range map[string]struct {
		format Format
		line   string
		want   Session
	}{
		"mooncake": {Mooncake(512), `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2354]}`,
			Session{At: after(27482 * time.Millisecond), Turns: []Turn{{PromptTokens: 6955, OutputTokens: 52, Blocks: []uint64{46, 47, 2354}, BlockTokens: 512}}}},
		"mooncake turn": {Mooncake(512), `{"session_id": "a", "delay": 1500.5, "text_input": "Hello", "extra": {"top_p": 1}}`,
			Session{Key: "a", Turns: []Turn{{Delay: 1500500 * time.Microsecond, Text: &text, BlockTokens: 512, Fields: map[string]any{"top_p": 1.0}}}}},
		"bailian": {Bailian(16), `{"chat_id": 160, "parent_chat_id": 159, "timestamp": 61.114, "input_length": 21, "output_length": 80, "type": "text", "turn": 2, "hash_ids": [18446744073709551615, -1]}`,
			Session{At: after(61114 * time.Millisecond), Turns: []Turn{{PromptTokens: 21, OutputTokens: 80, Blocks: []uint64{1<<64 - 1, 1<<64 - 1}, BlockTokens: 16}}}},
		"burstgpt": {BurstGPT(), `{"Timestamp": "45", "Model": "ChatGPT", "Request tokens": "1087", "Response tokens": "230", "Total tokens": "1317", "Log Type": "Conversation log"}`,
			Session{At: after(45 * time.Second), Turns: []Turn{{PromptTokens: 1087, OutputTokens: 230}}}},
		"batch": {Batch(), `{"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": {"model": "m", "prompt": "Hello", "n": 1, "stream": false, "max_tokens": 9, "stop": ["x"]}}`,
			Session{Turns: []Turn{{API: "completions", Text: &text, OutputTokens: 9, Fields: map[string]any{"stop": []any{"x"}}}}}},
	} {
		if diff := cmp.Diff(&c.want, parsed(t, c.format, c.line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s := parsed(t, Mooncake(512), `{"session_id": 7, "message_mode": "delta", "messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function"}], "output_length": 5}`)
	if turn := s.Turns[0]; s.Key != "7" || !turn.Delta || turn.API != "chat" || len(turn.Messages) != 1 || turn.Fields["tools"] == nil || turn.OutputTokens != 5 {
		t.Errorf("a line of messages is %+v", s)
	}
}

// agentTrace has a sub-agent that the third request waits for, one that runs on by itself, and one inside another that nobody waits for.
const agentTrace = `{"id": "t", "models": [], "block_size": 64, "hash_id_scope": "local", "requests": [
{"t": 0, "type": "n", "model": "m", "in": 128, "out": 5, "hash_ids": [0, 1], "api_time": 1},
{"t": 1.5, "type": "subagent", "agent_id": "a", "status": "completed", "duration_ms": 3000, "requests": [{"t": 1.75, "type": "s", "in": 64, "out": 0, "hash_ids": [9], "api_time": 0.25, "ttft": 0.1},
 {"t": 2, "type": "subagent", "agent_id": "b", "status": "completed", "requests": [{"t": 3, "type": "n", "in": 64, "out": 1, "api_time": 100}]}]},
{"t": 1.5, "type": "subagent", "agent_id": "c", "status": "async_launched", "requests": [{"t": 1.5, "type": "n", "in": 10, "out": 1}]},
{"t": 2, "type": "s", "in": 192, "out": 5, "hash_ids": [0, 1, 2], "api_time": 1, "think_time": 300},
{"t": 4.5, "type": "s", "in": 190, "out": 5, "hash_ids": [0, 7, 2], "api_time": 1}]}`

func TestAgentsOfATrace(t *testing.T) {
	s := parsed(t, Weka(time.Minute), strings.ReplaceAll(agentTrace, "\n", ""))
	inner := &Session{Turns: []Turn{{PromptTokens: 64, OutputTokens: 1, BlockTokens: 64, Delay: time.Second}}}
	a := &Session{Turns: []Turn{{
		PromptTokens: 64, OutputTokens: 1, Blocks: []uint64{9}, BlockTokens: 64, Delay: 750 * time.Millisecond, Forks: []Fork{{Session: inner}},
	}}}
	c := &Session{Turns: []Turn{{PromptTokens: 10, OutputTokens: 1, BlockTokens: 64, Delay: 500 * time.Millisecond}}}
	want := &Session{Local: true, Turns: []Turn{
		{PromptTokens: 128, OutputTokens: 5, Blocks: []uint64{0, 1}, BlockTokens: 64, Forks: []Fork{{Session: a, JoinAt: 2}, {Session: c}}},
		{PromptTokens: 192, OutputTokens: 5, Blocks: []uint64{0, 1, 2}, BlockTokens: 64, Delay: time.Minute},
		{PromptTokens: 190, OutputTokens: 5, Blocks: []uint64{0, 7, 2}, BlockTokens: 64, Delay: 1500 * time.Millisecond},
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if &s.Turns[0].Blocks[0] == &s.Turns[2].Blocks[0] {
		t.Error("requests that differ share the memory of their blocks")
	}
}

func TestFaultsAreNamed(t *testing.T) {
	weka := func(requests string) string {
		return `{"id": "t", "block_size": 64, "hash_id_scope": "local", "requests": [` + requests + `]}`
	}
	all := formats()
	for _, c := range []struct{ format, line, want string }{
		{"mooncake", `{"timestamp": 0 "input_length": 1}`, "column 17: invalid character '\"' after object key:value pair"},
		{"mooncake", `{"timestamp": 0`, "the JSON ends too early"},
		{"mooncake", `[1]`, "must be a JSON object, not a list"},
		{"mooncake", `{} {}`, "column 5: there is more than one JSON value"},
		{"mooncake", `{"timestamp": 0, "input_len": 5}`, `the field "input_len" is not known in this format, and can't be honoured`},
		{"mooncake", `{"timestamp": 0}`, "a line needs one of input_length, text_input and messages, and no other of them"},
		{"mooncake", `{"input_length": 5, "text_input": "a"}`, "a line needs one of input_length, text_input and messages, and no other of them"},
		{"mooncake", `{"input_length": 0, "output_length": 1}`, "input_length must be a whole number from 1 to 10000000, not 0"},
		{"mooncake", `{"input_length": 5.5, "output_length": 1}`, "input_length must be a whole number from 1 to 10000000, not 5.5"},
		{"mooncake", `{"input_length": 5}`, "output_length is missing"},
		{"mooncake", `{"input_length": 5, "output_length": [1]}`, "output_length must be a number, not [1]"},
		{"mooncake", `{"input_length": 5, "output_length": 1, "timestamp": -1}`, "timestamp must be from 0 to 9e+12, not -1"},
		{"mooncake", `{"input_length": 600, "output_length": 1, "hash_ids": [1, 2, 3]}`, "hash_ids has 3, but a prompt of 600 tokens has 2 blocks of 512: is block_size another?"},
		{"mooncake", `{"input_length": 600, "output_length": 1, "hash_ids": [1, 2.5]}`, "hash_ids[1] is 2.5: it must be a whole number of at most 64 bits"},
		{"mooncake", `{"input_length": 600, "output_length": 1, "hash_ids": "1"}`, `hash_ids must be a list of whole numbers, not "1"`},
		{"mooncake", `{"text_input": "a", "hash_ids": [1]}`, "hash_ids go with input_length only: text that is known shares what it shares"},
		{"mooncake", `{"text_input": "a", "tools": []}`, "tools go with messages only"},
		{"mooncake", `{"text_input": "a", "delay": 5}`, "delay is for the turns of a session: it needs a session_id"},
		{"mooncake", `{"messages": [{"content": "a"}]}`, "messages[0] must be an object with a role"},
		{"mooncake", `{"messages": [{"role": "user"}], "message_mode": "delta"}`, "message_mode is for the messages of a session: it needs messages, and delta a session_id"},
		{"mooncake", `{"messages": "a"}`, "messages must not be text"},
		{"bailian", `{"input_length": 5, "output_length": 1}`, "timestamp is missing"},
		{"burstgpt", `{"Timestamp": "5", "Request tokens": "0", "Response tokens": "0"}`, "Request tokens must be a whole number from 1 to 10000000, not 0" + failedRow},
		{"burstgpt", `{"Timestamp": "x", "Request tokens": "1", "Response tokens": "1"}`, "Timestamp must be a number, not x"},
		{"batch", `{"method": "GET", "url": "/v1/completions"}`, `method must be POST, not "GET"`},
		{"batch", `{"method": "POST", "url": "/v1/embeddings"}`, `url must be /v1/chat/completions or /v1/completions, not "/v1/embeddings"`},
		{"batch", `{"method": "POST", "url": "/v1/completions", "body": {}}`, "body.prompt is missing"},
		{"batch", `{"method": "POST", "url": "/v1/completions", "body": {"prompt": [1, 2]}}`, "body.prompt must be text: lists of prompts and of tokens can't be replayed, not [1, 2]"},
		{"batch", `{"method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}`, "body.messages is empty"},
		{"batch", `{"method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user"}], "n": 2}}`, "body.n must be 1: several answers in one stream can't be told apart"},
		{"weka", `{"block_size": 64}`, "id is missing"},
		{"weka", `{"id": "t", "block_size": 64, "hash_id_scope": "world"}`, `hash_id_scope must be "local" or "global", not "world"`},
		{"weka", `{"id": "t", "block_size": 4, "hash_id_scope": "local"}`, "block_size must be a whole number from 12 to 10000000, not 4"},
		{"weka", weka(``), "requests is empty"},
		{"weka", weka(`{"type": "n"}`), "requests[0]: t is missing"},
		{"weka", weka(`{"t": 0, "type": "x"}`), `requests[0]: type must be "n", "s" or "subagent", not "x"`},
		{"weka", weka(`{"t": 5, "type": "n", "in": 1, "out": 1}, {"t": 4, "type": "n", "in": 1, "out": 1}`), "requests[1]: t is before that of the request before: requests must be in the order of time"},
		{"weka", weka(`{"t": 0, "type": "subagent", "requests": [{"t": 0, "type": "s", "in": 0, "out": 1}]}`), "requests[0].requests[0]: in must be a whole number from 1 to 10000000, not 0"},
		{"weka", weka(`{"t": 0, "type": "subagent", "in": 5, "requests": []}`), "requests[0]: in, out and hash_ids stand in the requests of a subagent"},
		{"weka", weka(strings.Repeat(`{"t": 0, "type": "subagent", "requests": [`, 18) + strings.Repeat(`]}`, 18)), "more than 16 sub-agents stand below one another"},
	} {
		_, err := parse(all[c.format], c.line)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s %s gives\n%v, want\n%s", c.format, c.line, err, c.want)
		}
	}
}

// fixtures are the entries of the example files of each format.
func fixtures(t testing.TB) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for format, file := range map[string]string{
		"mooncake": "mooncake.jsonl", "bailian": "bailian.jsonl", "batch": "batch.jsonl", "weka": "weka.jsonl", "burstgpt": "",
	} {
		if file == "" {
			found[format] = []string{`{"Timestamp": "45", "Model": "ChatGPT", "Request tokens": "1087", "Response tokens": "230"}`}
			continue
		}
		content, err := os.ReadFile("../testdata/traces/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found[format] = strings.Split(strings.TrimSpace(string(content)), "\n")
	}
	return found
}

// Whatever a line holds, reading it ends without a panic, and what it gives is within bounds.
func FuzzParse(f *testing.F) {
	names := []string{"mooncake", "bailian", "burstgpt", "batch", "weka"}
	for format, lines := range fixtures(f) {
		for _, line := range lines[:min(3, len(lines))] {
			f.Add(slices.Index(names, format), line)
		}
	}
	f.Add(4, strings.ReplaceAll(agentTrace, "\n", ""))
	all := formats()
	f.Fuzz(func(t *testing.T, n int, line string) {
		if n < 0 || n >= len(names) {
			return
		}
		s, err := parse(all[names[n]], line)
		if (s == nil) == (err == nil) && err == nil {
			t.Fatal("neither a session nor an error")
		}
		if err == nil {
			bounded(t, s)
		}
	})
}

func bounded(t *testing.T, s *Session) {
	if len(s.Turns) == 0 {
		t.Fatal("a session without a turn")
	}
	for i := range s.Turns {
		turn := &s.Turns[i]
		if turn.Delay < 0 || turn.PromptTokens < 0 || turn.PromptTokens > MostTokens || turn.OutputTokens < 0 || turn.OutputTokens > MostTokens {
			t.Fatalf("turn %d is out of bounds: %+v", i, turn)
		}
		if len(turn.Blocks) > 0 && int64(len(turn.Blocks)-1)*turn.BlockTokens >= turn.PromptTokens {
			t.Fatalf("turn %d has %d blocks of %d in %d tokens", i, len(turn.Blocks), turn.BlockTokens, turn.PromptTokens)
		}
		for _, fork := range turn.Forks {
			if fork.JoinAt != 0 && (fork.JoinAt <= i || fork.JoinAt >= len(s.Turns)) {
				t.Fatalf("a fork of turn %d joins turn %d of %d", i, fork.JoinAt, len(s.Turns))
			}
			bounded(t, fork.Session)
		}
	}
}

func TestExamplesAreRead(t *testing.T) {
	all := formats()
	for format, lines := range fixtures(t) {
		for i, line := range lines {
			s, err := parse(all[format], line)
			if err != nil {
				t.Fatalf("%s, line %d: %v", format, i+1, err)
			}
			bounded(t, s)
		}
	}
}
