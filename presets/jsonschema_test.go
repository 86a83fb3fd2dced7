package presets

import (
	"encoding/json"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"

	"sweetspot/pipeline/results"
)

// meets checks a document against a JSON Schema.
func meets(t *testing.T, text []byte, document any) error {
	t.Helper()
	ctx := cuecontext.New()
	made, err := jsonschema.Extract(ctx.CompileBytes(text), &jsonschema.Config{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return ctx.BuildFile(made).Unify(ctx.CompileBytes(written)).Validate(cue.Concrete(true))
}

func TestDocumentsMeetTheirSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	store := t.TempDir()
	run, err := results.Open(measured(t, store))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Get(run)
	if err != nil || got.Benchmark == nil || len(got.Benchmarks) != 2*7 || got.Benchmark.TrialID != *got.Winner { // two trials
		t.Fatalf("%d benchmarks, selected %v, %v", len(got.Benchmarks), got.Benchmark, err)
	}
	text, err := GotSchema()
	if err != nil {
		t.Fatal(err)
	}
	if err := meets(t, text, got); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]any{"a number for an id": 3, "no id": nil} {
		var whole map[string]any
		written, err := json.Marshal(got)
		if err != nil || json.Unmarshal(written, &whole) != nil {
			t.Fatal(err)
		}
		if whole["id"] = other; other == nil {
			delete(whole, "id")
		}
		if err := meets(t, text, whole); err == nil {
			t.Errorf("%s meets the schema", name)
		}
	}
	listing, err := Runs(store, Which{All: true})
	if err != nil || len(listing.Runs) != 1 {
		t.Fatalf("%+v, %v", listing, err)
	}
	if text, err = ListingSchema(); err != nil {
		t.Fatal(err)
	}
	if err := meets(t, text, listing); err != nil {
		t.Error(err)
	}
}
