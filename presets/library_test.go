package presets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func TestShippedPresetsAreValid(t *testing.T) {
	shipped, err := List()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range shipped {
		all = append(all, p.Name)
		preset, err := schema.Read(p.Name+".cue", p.Text, schema.Options{})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if preset.Name != p.Name {
			t.Errorf("%s.cue is named %s", p.Name, preset.Name)
		}
		if !strings.HasPrefix(p.Use, "Use it ") || !strings.HasSuffix(p.Use, ".") {
			t.Errorf("%s does not say in one line when to use it: %q", p.Name, p.Use)
		}
		stored := schema.Redact(p.Name+".cue", p.Text)
		if diff := cmp.Diff(string(p.Text), string(stored)); diff != "" {
			t.Errorf("%s has nothing to hide (-text +stored):\n%s", p.Name, diff)
		}
	}
	if diff := cmp.Diff([]string{"agents", "assistant", "chat", "levels", "long-context", "quickstart"}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLevels holds that levels.cue is the concurrency benchmark that it says it is.
func TestLevels(t *testing.T) {
	shipped, err := Read("levels")
	if err != nil {
		t.Fatal(err)
	}
	preset, err := schema.Read("levels.cue", shipped.Text, schema.Options{Set: []string{"model=tiny", "service.endpoint.url=http://h/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := preset.Trials[0].Spec
	if diff := cmp.Diff([]int64{1, 2, 4, 8, 16}, preset.Load.Concurrency); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&schema.Fixed{PromptTokens: 256, OutputTokens: 256}, spec.Workload.Fixed); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	if spec.Request.Cache != "shared" || spec.Request.Temperature != 0 || spec.Model != "tiny" || spec.Service.Endpoint.URL != "http://h/v1" {
		t.Errorf("spec: %+v", spec)
	}
	if preset.Load.MinRequests < 16 {
		t.Errorf("at least %d requests a level, want 16", preset.Load.MinRequests)
	}
}

func TestReadNamesWhatThereIs(t *testing.T) {
	_, err := Read("nosuch")
	want := `no preset named "nosuch" ships with sweetspot: there are agents, assistant, chat, levels, long-context, quickstart`
	if err == nil || err.Error() != want {
		t.Errorf("Read gives %v, want %s", err, want)
	}
}
