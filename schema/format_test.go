package schema

import (
	"os"
	"path/filepath"
	"testing"

	"cuelang.org/go/cue/format"
)

// TestFormatted holds that the specification and the shipped presets are written as cue fmt writes them.
func TestFormatted(t *testing.T) {
	for _, pattern := range []string{"*.cue", filepath.Join("..", "presets", "library", "*.cue")} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(paths))
		}
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			formatted, err := format.Source(src)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			golden(t, path, string(formatted))
		}
	}
}
