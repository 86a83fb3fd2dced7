package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

// replayed are the sources of session trees.
func replayed(t testing.TB, cache string) map[string]*Source {
	t.Helper()
	spec, seed := chatSpec(cache), Seed{Run: "3f9a1c02"}
	if cache == "salted" {
		spec.Request.Cache, spec.Request.CacheSalt = "isolated", true
	}
	shape := plainShape()
	shape.Turns, shape.OutputTokens = constant(5), constant(130)
	dag := readDAG(t, `{"session_id": "a", "pre_session_spawns": ["b"], "turns": [`+
		strings.Join([]string{saying(`, "max_tokens": 130, "extra_body": {"min_tokens": 9}`), saying(""), saying(""), saying("")}, ", ")+`]}
{"session_id": "b", "turns": [`+saying("")+`]}`)
	file, err := NewDAG(dag, spec, seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	chat, err := NewTree(shape, spec, seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	spec.Request.API = "completions"
	text, err := NewTree(shape, spec, seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Source{"tree": chat, "tree as one prompt": text, "dag": file}
}

// saying is a turn of a file.
func saying(fields string) string {
	return `{"messages": [{"role": "user", "content": "say \"it\""}]` + fields + `}`
}

// promptIn is a body's prompt as text, each message closed, behind its salt.
func promptIn(t testing.TB, r Request) (prompt string, limit any) {
	t.Helper()
	var body struct {
		Prompt    string
		Messages  []message
		MaxTokens any    `json:"max_tokens"`
		MinTokens any    `json:"min_tokens"`
		Salt      string `json:"cache_salt"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	if body.MinTokens != nil && r.OutputTokens == 1 {
		t.Errorf("a request for one token asks for %v at least", body.MinTokens)
	}
	body.Prompt = body.Salt + body.Prompt
	for _, m := range body.Messages {
		body.Prompt += "<" + m.Role + ">" + m.Content + "</>"
	}
	return body.Prompt, body.MaxTokens
}

// The prompt that the cache is filled with begins that of the turn behind it, whichever turn a session starts at.
func TestWhatFillsTheCacheBeginsTheNextPrompt(t *testing.T) {
	for _, cache := range []string{"isolated", "shared", "salted"} {
		for name, source := range replayed(t, cache) {
			session, err := source.Session(measure.Measured, 0)
			if err != nil {
				t.Fatal(err)
			}
			var answers []Answer
			seen := map[string]bool{}
			for i := range session.Turns[:len(session.Turns)-1] {
				turn, next := session.Turns[i], session.Turns[i+1]
				if turn.Build == nil {
					answers = append(answers, Answer{})
					continue
				}
				request, err := turn.Replay.Prefill(answers)
				if err != nil {
					t.Fatal(err)
				}
				prefill, limit := promptIn(t, request)
				if limit != 1.0 || request.OutputTokens != 1 || request.WantText {
					t.Errorf("%s: turn %d asks the cache for %v tokens", name, i, limit)
				}
				answer := turn.Replay.Answer()
				if again := turn.Replay.Answer(); again != answer || seen[answer.Text] {
					t.Errorf("%s: turn %d is taken to be answered %v, then %v", name, i, answer, again)
				}
				seen[answer.Text] = true
				answers = append(answers, answer)
				request, err = next.Build(answers)
				if err != nil {
					t.Fatal(err)
				}
				whole, _ := promptIn(t, request)
				rest, begins := strings.CutPrefix(whole, prefill)
				if !begins || !strings.Contains(rest, answer.Text) {
					t.Errorf("%s, %s: turn %d fills the cache with %q …; the next asks %q …, %d and %d bytes", name, cache, i, prefill[:40], whole[:40], len(prefill), len(whole))
				}
			}
		}
	}
}

func TestAnAssumedAnswerIsAsLongAsTheTurnAsks(t *testing.T) {
	words := map[string][]int{}
	for name, source := range replayed(t, "shared") {
		session, err := source.Session(measure.Measured, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range session.Turns {
			if turn.Replay != nil {
				words[name] = append(words[name], len(strings.Fields(turn.Replay.Answer().Text))-1) // the first word is every text's
			}
		}
	}
	// At 1.3 tokens a word: 130 tokens, and 256 where the file asks for no length.
	want := map[string][]int{"tree": {100, 100, 100, 100, 100}, "tree as one prompt": {100, 100, 100, 100, 100}, "dag": {100, 196, 196, 196}}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
