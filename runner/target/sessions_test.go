package target

import (
	"errors"
	"io"
	"strings"
	"testing"

	"sweetspot/schema"
)

const agents = `{"session_id": "root", "turns": [{"messages": [{"role": "user", "content": "Plan."}]}]}`

func opening(content string) func(string) (io.ReadCloser, error) {
	return func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
}

func TestReadSessions(t *testing.T) {
	dag, sum, err := ReadSessions("agents.jsonl", opening(agents))
	if err != nil || dag.Roots() != 1 {
		t.Fatalf("ReadSessions gives %v, %v", dag, err)
	}
	// printf '%s' "$agents" | sha256sum
	if want := "0ad30d54b7aa1b7c6ddfd15fce7fdc9c945acccb769ad8b21269ffd4403f7fc3"; sum != want {
		t.Errorf("the digest is %s, want %s", sum, want)
	}
	gone := errors.New("gone")
	if _, _, err := ReadSessions("agents.jsonl", func(string) (io.ReadCloser, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("a file that is not there gives %v", err)
	}
	if _, _, err := ReadSessions("agents.jsonl", opening("{}")); err == nil || !strings.HasPrefix(err.Error(), "agents.jsonl:1: ") {
		t.Errorf("a file with a fault gives %v", err)
	}
}

// A file that changed between the plan and the trial is not what the ids say.
func TestAFileThatChangedIsRefused(t *testing.T) {
	spec := schema.Spec{Workload: schema.Workload{DAG: &schema.DAG{File: "agents.jsonl", SHA256: strings.Repeat("0", 64)}}}
	_, _, err := Prepare(t.Context(), Config{Spec: spec, Open: opening(agents)})
	if err == nil || !strings.Contains(err.Error(), "agents.jsonl is not the file that the run was planned with") {
		t.Errorf("Prepare gives %v", err)
	}
	if dag, err := sessionsOf(Config{Spec: schema.Spec{Workload: schema.Workload{Random: &schema.Random{}}}}); dag != nil || err != nil {
		t.Errorf("a workload without a file gives %v, %v", dag, err)
	}
}
