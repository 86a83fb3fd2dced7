package schema

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden compares got with a file of testdata, or with UPDATE=1 writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (UPDATE=1 writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, UPDATE=1 rewrites):\n%s", file, diff)
	}
}

// presets are the preset files below testdata, by their names.
func presets(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".golden") {
			continue
		}
		src, err := os.ReadFile(filepath.Join("testdata", folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = src
	}
	return found
}

// dialect are phrases of CUE's own that say nothing to whoever wrote a preset.
var dialect = []string{"conflicting values {", "disjunction", "field not allowed", "_|_", "incomplete value", "matchN", "mismatched types", "#", "\x00"}

// TestBadPresets holds that each rule has a preset that breaks it and nothing else, and what is then said.
func TestBadPresets(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	bad := presets(t, "bad")
	if len(bad) < 60 {
		t.Errorf("%d bad presets, at least 60 are wanted", len(bad))
	}
	for name, src := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := checkRead(t, name, src)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("Read gives %v, want problems", err)
			}
			if len(problems) != 1 {
				t.Errorf("%d problems, want 1:\n%v", len(problems), problems)
			}
			if strings.Contains(err.Error(), "must-not-be-shown") || strings.Contains(err.Error(), "MUSTNOTBESHOWN") {
				t.Errorf("a secret is shown: %v", err)
			}
			for _, phrase := range dialect {
				if strings.Contains(strings.ReplaceAll(err.Error(), "'?' or '#'", ""), phrase) {
					t.Errorf("the message has %q in it: %v", phrase, err)
				}
			}
			golden(t, filepath.Join("testdata", "bad", name+".golden"), err.Error()+"\n")
		})
	}
}

// TestManyFaults holds that all faults of a file are found at once.
func TestManyFaults(t *testing.T) {
	for name, src := range presets(t, "many") {
		t.Run(name, func(t *testing.T) {
			_, err := checkRead(t, name, src)
			if err == nil {
				t.Fatal("Read finds nothing wrong")
			}
			if strings.Contains(err.Error(), "must-not-be-shown") {
				t.Errorf("a secret is shown: %v", err)
			}
			golden(t, filepath.Join("testdata", "many", name+".golden"), err.Error()+"\n")
		})
	}
}
