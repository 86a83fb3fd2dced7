package workload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

// fileSource gives a source of a workload whose file has some content.
func fileSource(t testing.TB, _, content string, spec schema.Spec, seed Seed) (*Source, error) {
	t.Helper()
	contents, err := ReadContents(spec.Workload, opening(t, content))
	if err != nil {
		return nil, err
	}
	return NewFrom(contents, spec, seed, Calibration{})
}

// opening opens a file with some content, whatever its name.
func opening(t testing.TB, content string) func(string) (input.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(string) (input.File, error) { return os.Open(path) }
}

func promptsSpec(file, api, cache string) schema.Spec {
	return schema.Spec{
		Model:    "m",
		Workload: schema.Workload{Prompts: &schema.Prompts{File: file, OutputTokens: 77}},
		Request:  schema.Request{API: api, Cache: cache},
	}
}

const somePrompts = `{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "One?"}], "output_tokens": 5, "label": "x"}
{"prompt": "Two \"quoted\"?"}
{"messages": [{"role": "user", "content": [{"type": "text", "text": "Three?"}]}], "temperature": null}
{"messages": "[{\"role\": \"user\", \"content\": \"Four?\"}]", "output_tokens": "9", "prompt": ""}
`

// asked is what a body asks.
type asked struct {
	Messages []map[string]any `json:"messages"`
	Prompt   string           `json:"prompt"`
	Most     int64            `json:"max_tokens"`
}

func askedAt(t testing.TB, source *Source, phase measure.Phase, index int64) asked {
	t.Helper()
	return askedOf(t, requestAt(t, source, phase, index))
}

func askedOf(t testing.TB, r Request) asked {
	t.Helper()
	var a asked
	if err := json.Unmarshal(r.Body, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPromptsAreSentAsTheFileHasThem(t *testing.T) {
	source, err := fileSource(t, "p.jsonl", somePrompts, promptsSpec("p.jsonl", "chat", "shared"), Seed{})
	if err != nil {
		t.Fatal(err)
	}
	user := func(content any) []map[string]any { return []map[string]any{{"role": "user", "content": content}} }
	want := []asked{
		{Messages: append([]map[string]any{{"role": "system", "content": "Be brief."}}, user("One?")...), Most: 5},
		{Messages: user(`Two "quoted"?`), Most: 77},
		{Messages: user([]any{map[string]any{"type": "text", "text": "Three?"}}), Most: 77},
		{Messages: user("Four?"), Most: 9},
	}
	for i := range int64(9) {
		if diff := cmp.Diff(want[i%4], askedAt(t, source, measure.Measured, i)); diff != "" {
			t.Errorf("measured %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(want[3-i%4], askedAt(t, source, measure.Warmup, i)); diff != "" {
			t.Errorf("warmup %d (-want +got):\n%s", i, diff)
		}
	}
}

// A table's rows are prompts as lines are; an empty cell says nothing.
func TestPromptsFromCSV(t *testing.T) {
	table := "prompt,messages,output_tokens,topic\nOne?,,5,a\n,\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"Two?\"\"}]\",,b\n"
	source, err := fileSource(t, "p.csv", table, promptsSpec("p.csv", "chat", "shared"), Seed{})
	if err != nil {
		t.Fatal(err)
	}
	for i, most := range []int64{5, 77} {
		got := askedAt(t, source, measure.Measured, int64(i))
		if want := []string{"One?", "Two?"}[i]; got.Most != most || got.Messages[0]["content"] != want {
			t.Errorf("row %d asks %+v", i, got)
		}
	}
}

// A file that is sent again under isolated repeats its prompts, each behind a nonce of its own.
func TestIsolatedPromptsOfAFileShareNoPrefix(t *testing.T) {
	source, err := fileSource(t, "p.jsonl", somePrompts, promptsSpec("p.jsonl", "chat", "isolated"), Seed{Run: "3f9a1c02"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, phase := range []measure.Phase{measure.Warmup, measure.Measured, measure.Hold} {
		for i := range int64(12) {
			first := askedAt(t, source, phase, i).Messages[0]
			text, plain := first["content"].(string)
			if !plain {
				text = first["content"].([]any)[0].(map[string]any)["text"].(string)
			}
			begin := strings.Join(strings.Fields(text)[:8], " ")
			if seen[begin] {
				t.Errorf("%s %d begins as another prompt does: %s", phase, i, begin)
			}
			seen[begin] = true
		}
	}
}

func TestPromptsOfTextGoWithCompletions(t *testing.T) {
	source, err := fileSource(t, "p.jsonl", somePrompts, promptsSpec("p.jsonl", "completions", "shared"), Seed{})
	if err != nil {
		t.Fatal(err)
	}
	if got := askedAt(t, source, measure.Measured, 0); got.Prompt != "Be brief.\n\nOne?" || got.Most != 5 {
		t.Errorf("asks %+v", got)
	}
	session, err := source.Session(measure.Measured, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Turns[0].Build(nil); err == nil || !strings.Contains(err.Error(), "p.jsonl:3: ") {
		t.Errorf("a message that is not text alone gives %v", err)
	}
}

func TestFaultsOfPrompts(t *testing.T) {
	for line, want := range map[string]string{
		`{`:                        "parsing a prompt: column 1: unexpected end of JSON input",
		`[]`:                       "parsing a prompt: must be a JSON object, not a list",
		`{"prompt": 5}`:            "parsing a prompt: prompt must not be a number",
		`{"text": "a", "id": "b"}`: `a prompt needs either messages, a list of {role, content}, or prompt, its text: it has "id", "text"`,
		`{"id": "a"}`:              "a prompt needs either messages",
		`{"messages": [{"role": "user", "content": "a"}], "prompt": "b"}`: "a prompt needs either messages",
		`{"messages": []}`:                       "messages must not be empty",
		`{"messages": {}}`:                       "messages must be a list",
		`{"messages": "[{]"}`:                    "messages must be a list",
		`{"messages": [{"content": "a"}]}`:       "message 0 must be an object with a role",
		`{"messages": [{"role": "user"}]}`:       "message 0 has no content",
		`{"prompt": "a", "output_tokens": 0}`:    "output_tokens: must be a whole number from 1 to 10000000, not 0",
		`{"prompt": "a", "output_tokens": 1.5}`:  "not 1.5",
		`{"prompt": "a", "output_tokens": "no"}`: `not "no"`,
		`{"prompt": "a", "max_tokens": 5}`:       "max_tokens is not read from a file of prompts",
	} {
		_, err := fileSource(t, "p.jsonl", line, promptsSpec("p.jsonl", "chat", "shared"), Seed{})
		if err == nil || !strings.HasPrefix(err.Error(), "p.jsonl:1: "+want) && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", line, err, want)
		}
	}
}
