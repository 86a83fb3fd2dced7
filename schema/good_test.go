package schema

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGoodPresets holds what presets become: defaults filled in, trials and points expanded.
func TestGoodPresets(t *testing.T) {
	for name, src := range presets(t, "good") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preset, err := Read(name, src, Options{})
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
		})
	}
}

// TestSpecReadsBack holds that a trial and its point can be run from what is stored of them.
func TestSpecReadsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	for name, src := range presets(t, "good") {
		preset, err := Read(name, src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(preset)
		if err != nil {
			t.Fatal(err)
		}
		var read Preset
		if err := decode(written, &read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(*preset, read); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
		points, err := preset.Load.Points()
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range points {
			written, err := json.Marshal(point)
			if err != nil {
				t.Fatal(err)
			}
			var back PointLoad
			if err := decode(written, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(point, back); diff != "" {
				t.Errorf("%s (-written +read):\n%s", name, diff)
			}
		}
	}
}
