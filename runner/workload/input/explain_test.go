package input

import (
	"encoding/json"
	"strings"
	"testing"
)

// What stands in a message is of the file, and not of our types.
func TestExplained(t *testing.T) {
	var entry struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
		Turns []struct {
			Delay float64 `json:"delay"`
		} `json:"turns"`
	}
	for text, want := range map[string]string{
		`{"name": 5}`:                 "name must not be a number",
		`{"name": ["a"]}`:             "name must not be a list",
		`{"name": {}}`:                "name must not be an object",
		`{"count": true}`:             "count must not be true or false",
		`{"count": "1"}`:              "count must not be text",
		`{"count": 1.5}`:              "count must not be the number 1.5",
		`{"turns": [{"delay": "1"}]}`: "turns.delay must not be text",
		`"a"`:                         "must be a JSON object, not text",
		`{"name" 5}`:                  "column 9: invalid character '5' after object key",
	} {
		err := json.Unmarshal([]byte(text), &entry)
		if got := Explained(err).Error(); got != want || strings.Contains(got, "Go ") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
