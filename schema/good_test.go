package schema

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGoodPresets holds what presets become: defaults filled in, trials and points expanded; and that a trial and its point can be run from what is stored
// of them.
func TestGoodPresets(t *testing.T) {
	for name, src := range presets(t, "good") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preset, err := checkRead(t, name, src)
			if err != nil {
				t.Fatal(err)
			}
			points, err := preset.Load.Points()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(preset); err != nil {
				t.Fatal(err)
			}
			for _, point := range points {
				line, err := json.Marshal(point)
				if err != nil {
					t.Fatal(err)
				}
				out.Write(line)
				out.WriteByte('\n')
			}
			golden(t, filepath.Join("testdata", "good", name+".golden"), out.String())
			readBack(t, *preset)
			for _, point := range points {
				readBack(t, point)
			}
		})
	}
}

// readBack holds that a value is what is read of what is written of it.
func readBack[T any](t *testing.T, value T) {
	t.Helper()
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := decode(written, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value, back); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}
