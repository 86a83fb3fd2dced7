package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

const agents = `{"session_id": "root", "turns": [{"messages": [{"role": "user", "content": "Plan."}]}]}`

// holding gives files that all have one content, and counts how often one is opened.
func holding(t *testing.T, content string, opened *int) *Files {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewFiles(func(string) (input.File, error) {
		*opened++
		return os.Open(path)
	})
}

func dag(sum string) schema.Workload {
	return schema.Workload{DAG: &schema.DAG{File: "agents.jsonl", SHA256: sum}}
}

func TestFilesAreReadOnce(t *testing.T) {
	opened := 0
	files := holding(t, agents, &opened)
	for range 2 {
		sum, err := files.Digest(dag(""))
		// printf '%s' "$agents" | sha256sum
		if want := "0ad30d54b7aa1b7c6ddfd15fce7fdc9c945acccb769ad8b21269ffd4403f7fc3"; sum != want || err != nil {
			t.Errorf("the digest is %s, %v, want %s", sum, err, want)
		}
		if notes := files.Notes(dag(""), 1); notes != nil {
			t.Errorf("notes %q", notes)
		}
		if notes := files.Notes(dag(""), 2); len(notes) != 1 || notes[0] != "agents.jsonl has 1 entries, and a point may begin 2 sessions: they are then asked again, isolated ones with new nonces" {
			t.Errorf("notes %q", notes)
		}
	}
	if opened != 1 {
		t.Errorf("the file was opened %d times", opened)
	}
	gone := errors.New("gone")
	if _, err := NewFiles(func(string) (input.File, error) { return nil, gone }).Digest(dag("")); !errors.Is(err, gone) {
		t.Errorf("a file that is not there gives %v", err)
	}
	if _, err := holding(t, "{}", &opened).Digest(dag("")); err == nil || !strings.HasPrefix(err.Error(), "agents.jsonl:1: ") {
		t.Errorf("a file with a fault gives %v", err)
	}
}

// A file that changed between the plan and the trial is not what the ids say.
func TestAFileThatChangedIsRefused(t *testing.T) {
	opened := 0
	_, _, err := Prepare(t.Context(), Config{Spec: schema.Spec{Workload: dag(strings.Repeat("0", 64))}, Files: holding(t, agents, &opened)})
	if err == nil || !strings.Contains(err.Error(), "agents.jsonl is not the file that the run was planned with") {
		t.Errorf("Prepare gives %v", err)
	}
	var none *Files
	if contents, err := none.planned(schema.Workload{Random: &schema.Random{}}); contents != nil || err != nil {
		t.Errorf("a workload without a file gives %v, %v", contents, err)
	}
}
