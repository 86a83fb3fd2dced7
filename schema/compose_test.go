package schema

import (
	"encoding/json"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"
)

// TestComposeAgreesWithCUE holds that a value put together from valid parts is what CUE makes of the whole, and that where one finds a fault so does the
// other: but for the matrix, whose free names are always judged whole. The values are all those of the test presets, good and bad.
func TestComposeAgreesWithCUE(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	defs, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, folder := range []string{"good", "bad", "many"} {
		for name, src := range presets(t, folder) {
			root, _ := readTree(name, src)
			if root == nil {
				continue
			}
			for _, s := range append(defs.settings.fields, defs.spec.fields...) {
				n := root.get(s.name)
				if n == nil || n.hasFaulty() {
					continue
				}
				c := checker{definitions: defs}
				composed, valid := c.compose(s, n)
				whole := c.unify(s, n)
				err := whole.Validate(cue.Concrete(true))
				if hasFreeNames := s.name == "matrix"; valid != (err == nil) && !hasFreeNames {
					t.Errorf("%s: %s: by its parts valid is %v, as a whole CUE says %v", name, s.name, valid, err)
				}
				if valid && err == nil {
					compareJSON(t, whole, composed)
					compared++
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d values compared", compared)
	}
}

func compareJSON(t *testing.T, whole cue.Value, composed []byte) {
	t.Helper()
	written, err := whole.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(written, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(composed, &got); err != nil {
		t.Fatalf("%s: %v", composed, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-whole +parts):\n%s", diff)
	}
}
