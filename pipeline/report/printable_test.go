package report

import (
	"encoding/json"
	"testing"
)

func TestWhatAPageHoldsHasNoControlCharacters(t *testing.T) {
	const given = "a\x1b[2J\x07\x00\u009b\u202e\b\fb\n\tc \\u001b <d> \"e\" é"
	text, err := json.Marshal(map[string]string{"k": given})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(printable(text), &back); err != nil {
		t.Fatalf("%v in %s", err, printable(text))
	}
	if got, want := back["k"], "a[2Jb\n\tc \\u001b <d> \"e\" é"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
