package pipeline

import (
	"strings"
	"testing"

	"sweetspot/schema"
)

// The same sessions are the same work wherever their file lies, and others are not.
func TestIdsAreOfAFilesContent(t *testing.T) {
	replayed := func(file, digest string) func(*schema.Preset) {
		return func(p *schema.Preset) {
			p.Trials[0].Spec.Workload = schema.Workload{DAG: &schema.DAG{File: file, SHA256: strings.Repeat(digest, 64)}}
		}
	}
	here := ids(t, replayed("agents.jsonl", "a"))
	if there := ids(t, replayed("/home/person/agents.jsonl", "a")); there != here {
		t.Errorf("the ids hang on the path: %v and %v", here, there)
	}
	if other := ids(t, replayed("agents.jsonl", "b")); other == here {
		t.Error("the ids do not hang on the content")
	}
	preset := chat()
	replayed("/home/person/agents.jsonl", "a")(preset)
	if got := planOf(t, preset).Trials[0].Workload; strings.Contains(got, "person") {
		t.Errorf("the workload that trials are compared by names the path: %s", got)
	}
	if preset.Trials[0].Spec.Workload.DAG.File != "/home/person/agents.jsonl" {
		t.Error("planning changed the preset")
	}
}
