package schema

import (
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"
)

// FuzzRead holds what [checkRead] does for any text in any form. It begins with all test presets where it is asked to go on from them; else those are
// read by their own tests, which hold the same.
func FuzzRead(f *testing.F) {
	if flag.Lookup("test.fuzz").Value.String() == "" {
		f.Skip("nothing to go on from was asked for: go test ./schema -fuzz FuzzRead")
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
		checkRead(t, "preset"+ending, src)
	})
}

// checkRead reads a file and holds that it gives a preset or problems but not neither, that problems name the file, and that what is valid can be written
// and redacted.
func checkRead(t *testing.T, filename string, src []byte) (*Preset, error) {
	t.Helper()
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
		return preset, nil
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
	return preset, err
}
