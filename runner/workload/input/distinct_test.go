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
		`{"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}], "B": 1}`:                           "",
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
