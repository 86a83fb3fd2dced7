package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

const someTalks = `[
{"id": "a", "conversations": [
  {"from": "system", "value": "Be brief."},
  {"from": "human", "value": "One?"}, {"from": "gpt", "value": "Uno."},
  {"from": "human", "value": "Two?"}, {"from": "human", "value": "I mean it."}, {"from": "gpt", "value": "Dos, and that is all."}, {"from": "gpt", "value": "Really."},
  {"from": "human", "value": "Unanswered?"}]},
{"id": "skipped", "conversations": []},
{"id": "skipped too", "conversations": [{"from": "gpt", "value": "Hello!"}, {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes?"}]},
{"conversations": [{"from": "user", "value": "Say \"hello\"."}, {"from": "chatgpt", "value": "hello"}]}
]`

func shareGPTSpec(turns, history string, output int64, api, cache string) schema.Spec {
	return schema.Spec{
		Model:    "m",
		Workload: schema.Workload{ShareGPT: &schema.ShareGPT{File: "s.json", Turns: turns, History: history, OutputTokens: output}},
		Request:  schema.Request{API: api, Cache: cache},
	}
}

func saidBy(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }

func TestShareGPTConversations(t *testing.T) {
	system, one, two := saidBy("system", "Be brief."), saidBy("user", "One?"), saidBy("user", "Two?\n\nI mean it.")
	for name, test := range map[string]struct {
		spec schema.Spec
		want []asked
	}{
		"first":          {shareGPTSpec("first", "live", 0, "chat", "shared"), []asked{{Messages: []map[string]any{system, one}, Most: 1}}},
		"first, 9 words": {shareGPTSpec("first", "live", 9, "chat", "shared"), []asked{{Messages: []map[string]any{system, one}, Most: 9}}},
		"all, live": {shareGPTSpec("all", "live", 0, "chat", "shared"), []asked{
			{Messages: []map[string]any{system, one}, Most: 1}, {Messages: []map[string]any{system, one, saidBy("assistant", "So \"live\""), two}, Most: 8},
		}},
		"all, recorded": {shareGPTSpec("all", "recorded", 0, "chat", "shared"), []asked{
			{Messages: []map[string]any{system, one}, Most: 1}, {Messages: []map[string]any{system, one, saidBy("assistant", "Uno."), two}, Most: 8},
		}},
		"completions": {shareGPTSpec("all", "recorded", 0, "completions", "shared"), []asked{
			{Prompt: "Be brief.\n\nOne?", Most: 1}, {Prompt: "Be brief.\n\nOne?\n\nUno.\n\nTwo?\n\nI mean it.", Most: 8},
		}},
	} {
		source, err := fileSource(t, "s.json", someTalks, test.spec, Seed{})
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range []int64{0, 2} { // the second is the last of the file, and then it begins again
			got, _ := turnsOf(t, source, index, `So "live"`)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if last := askedAt(t, source, measure.Measured, 1); test.spec.Request.API == "chat" && last.Messages[0]["content"] != `Say "hello".` {
			t.Errorf("%s: the last conversation asks %v", name, last)
		}
	}
}

func TestShareGPTConversationsAreIsolated(t *testing.T) {
	source, err := fileSource(t, "s.json", someTalks, shareGPTSpec("all", "recorded", 0, "chat", "isolated"), Seed{Run: "3f9a1c02"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range int64(6) {
		turns, _ := turnsOf(t, source, i, "")
		begin := strings.Join(strings.Fields(turns[0].Messages[0]["content"].(string))[:8], " ")
		if seen[begin] {
			t.Errorf("two conversations begin with %s", begin)
		}
		seen[begin] = true
		if last := turns[len(turns)-1]; last.Messages[0]["content"] != turns[0].Messages[0]["content"] {
			t.Error("a later turn has another beginning")
		}
	}
}

// What can't be asked is counted, and nothing else is passed over.
func TestShareGPTFaults(t *testing.T) {
	spec := shareGPTSpec("first", "live", 0, "chat", "shared")
	for content, want := range map[string]string{
		`[{"conversations": "a"}]`:                            "s.json:1: parsing a conversation: conversations must not be text",
		`[{"conversations": [{"from": 5}]}]`:                  "s.json:1: parsing a conversation: conversations.from must not be a number",
		`[{"conversations": [{"from": "me", "value": "a"}]}]`: `s.json:1: message 0 is from "me": it must be from human, gpt or system`,
		"[\n{\"text\": \"a\"}]":                               "s.json:2: a conversation needs conversations, a list of {from, value}",
		`[{"conversations": []}]`:                             "s.json:1: none of the 1 entries can be used",
		`{"conversations": []}`:                               "s.json:1: must be a JSON list, which begins with [ and not '{'",
	} {
		if _, err := fileSource(t, "s.json", content, spec, Seed{}); err == nil || err.Error() != want {
			t.Errorf("%s gives %v, want %s", content, err, want)
		}
	}
	contents, err := ReadContents(spec.Workload, opening(t, someTalks))
	if err != nil || contents.Sessions() != 2 || contents.Skipped() != 2 {
		t.Errorf("%d sessions, %d skipped, %v", contents.Sessions(), contents.Skipped(), err)
	}
}
