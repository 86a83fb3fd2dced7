package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzRead holds, for any text in any form, that reading it ends, gives a preset or problems but not neither, that problems name the file, and that
// what is valid can be written and redacted.
func FuzzRead(f *testing.F) {
	if testing.Short() {
		f.Skip("computed by one goroutine for long")
	}
	for _, folder := range []string{"good", "bad", "many"} {
		for name, src := range presets(f, folder) {
			f.Add(name[strings.LastIndex(name, "."):], src)
		}
	}
	f.Fuzz(func(t *testing.T, ending string, src []byte) {
		if ending != ".cue" && ending != ".yaml" && ending != ".json" {
			t.Skip("another form")
		}
		if ending == ".cue" && strings.Contains(string(src), "list.") {
			t.Skip("a file that computes without end")
		}
		filename := "preset" + ending
		preset, err := Read(filename, src, Options{})
		Redact(filename, src)
		if err == nil {
			if len(preset.Trials) == 0 {
				t.Fatal("a preset without a trial")
			}
			if _, err := json.Marshal(preset); err != nil {
				t.Fatal(err)
			}
			if _, err := preset.Load.Points(); err != nil {
				t.Fatalf("a valid preset has no points: %v", err)
			}
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("%v is not a list of problems", err)
		}
		for _, p := range problems {
			if p.File != filename || p.Message == "" || p.Message == "is not valid" || p.Message == "is not valid here" {
				t.Fatalf("%+v", p)
			}
		}
	})
}
