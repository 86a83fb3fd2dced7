package input

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAKeyTwiceIsAFault(t *testing.T) {
	for text, want := range map[string]string{
		`{"timestamp": 0, "timestamp": 1}`:                                             `the key "timestamp" stands twice: leave one out`,
		`{"turns": [{}, {"extra": {"a": 1, "\u0061": 2}}]}`:                            `the key "a" stands twice in turns.1.extra: leave one out`,
		`{"` + strings.Repeat("k", 99) + `": 1, "` + strings.Repeat("k", 99) + `": 1}`: `the key "` + strings.Repeat("k", 60) + `…" stands twice: leave one out`,
		`{"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]}`:                                   "",
		`{"prompt": "x", "Prompt": "y"}`:                                               `the keys "prompt" and "Prompt" differ in case alone: leave one out`,
		`{"kind": "x", "\u212aind": "y"}`:                                              "the keys \"kind\" and \"\u212aind\" differ in case alone: leave one out",
		`{"requests": [{"t": 0}, {"requests": [{"t": 0, "T": 1}]}]}`:                   `the keys "t" and "T" in requests.1.requests.0 differ in case alone: leave one out`,
		`[{"Body": {"messages": [{"role": "user", "ROLE": "x"}]}}]`:                    `the keys "role" and "ROLE" in 0.Body.messages.0 differ in case alone: leave one out`,
		`{"tools": [{"parameters": {"x": 1, "X": 2}}], "extra": {"a": 1, "A": 2}}`:     "",
		`{"messages": [{"role": "user", "content": [{"a": 1, "A": 2}]}]}`:              "",
		"{\"a\": \"\xff\"}": "", // whether it is text is its reader's
		`{"a": `:            "", `7`: "", ``: "",
	} {
		got := ""
		if err := Distinct([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.60s gives %s, want %s", text, got, want)
		}
	}
}

// Every entry of a file is held to it, also those that are skipped, and a fault of parse comes first.
func TestTheBookRefusesAKeyTwice(t *testing.T) {
	parse := func(e Entry) (int, error) {
		var fields struct{ N int }
		if err := json.Unmarshal(e.Text, &fields); err != nil || fields.N > 1 {
			return 0, ErrSkipped
		}
		return fields.N, nil
	}
	want := "t:2: the key \"n\" stands twice: leave one out\nt:3: the key \"n\" stands twice: leave one out"
	for content, format := range map[string]Format{
		"{\"n\": 0}\n{\"n\": 1, \"n\": 1}\n{\"n\": 1, \"n\": 7}\n":     JSONL{},
		"[{\"n\": 0},\n{\"n\": 1, \"n\": 1},\n{\"n\": 1, \"n\": 7}]\n": List{},
	} {
		if _, err := Read("t", fileOf(t, content), format, parse); err == nil || err.Error() != want {
			t.Errorf("%s gives %v", content, err)
		}
	}
}
