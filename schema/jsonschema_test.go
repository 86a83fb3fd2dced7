package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
)

// exported is the JSON Schema read back as CUE, so that presets can be held against it.
func exported(t *testing.T) (*cue.Context, cue.Value) {
	t.Helper()
	written, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	ctx := cuecontext.New()
	file, err := jsonschema.Extract(ctx.CompileBytes(written), &jsonschema.Config{StrictFeatures: true})
	if err != nil {
		t.Fatalf("the exported JSON Schema is not valid: %v", err)
	}
	root := ctx.BuildFile(file)
	if err := root.Err(); err != nil {
		t.Fatal(err)
	}
	return ctx, root
}

// TestJSONSchema holds that editors accept what is valid, and see faults of single fields.
func TestJSONSchema(t *testing.T) {
	ctx, root := exported(t)
	for name, src := range presets(t, "good") {
		tree, _ := readTree(name, src)
		fillTrials(tree.get("trials"))
		if err := ctx.BuildExpr(tree.expr()).Unify(root).Validate(cue.Concrete(true)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	for _, name := range []string{
		"unknown_misspelt.cue", "temperature.cue", "service_two.cue", "service_none.cue", "fault_kind.cue", "sweep_word.cue", "header_secret.cue",
		"header_managed.cue", "timeout_no_unit.cue", "limit_fraction.cue", "trial_load.cue", "agentic_word.cue", "agentic_random.cue", "name_slash.cue",
	} {
		tree, _ := readTree(name, presets(t, "bad")[name])
		if tree == nil {
			t.Fatalf("%s cannot be read", name)
		}
		if err := ctx.BuildExpr(tree.expr()).Unify(root).Validate(cue.Concrete(true)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestJSONSchemaSays holds what stands in the exported schema: that rules between fields are left out, defaults, and no pattern that only Go reads.
func TestJSONSchemaSays(t *testing.T) {
	written, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Comment string `json:"$comment"`
		Defs    map[string]struct {
			Properties map[string]struct {
				Default     any    `json:"default"`
				Description string `json:"description"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(written, &read); err != nil {
		// A definition may have a property that is only false: such are looked at by the other test.
		t.Logf("some properties are not objects: %v", err)
	}
	if !strings.Contains(read.Comment, "Rules between fields are left out") {
		t.Errorf("the comment does not say what is left out: %s", read.Comment)
	}
	perSlot := read.Defs["Load"].Properties["requests_per_slot"]
	if perSlot.Default != 10.0 || perSlot.Description == "" {
		t.Errorf("requests_per_slot: %+v", perSlot)
	}
	if stall := read.Defs["Fault"].Properties["from_request"]; stall.Default != 1.0 {
		t.Errorf("from_request: %+v", stall)
	}
	for _, foreign := range []string{"(?i)", `false\n`, `\u003c`} {
		if strings.Contains(string(written), foreign) {
			t.Errorf("%s stands in the exported schema", foreign)
		}
	}
}

// TestSourceCompiles holds that what "sweetspot schema" prints is one CUE file with the definition of a preset.
func TestSourceCompiles(t *testing.T) {
	root := cuecontext.New().CompileBytes(Source())
	if err := root.LookupPath(cue.ParsePath("#Preset")).Err(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(Source()), "\npackage "); n != 0 {
		t.Errorf("%d package clauses too many", n)
	}
}
