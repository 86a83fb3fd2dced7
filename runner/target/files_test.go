package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweetspot/runner"
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

// Each kind of file is looked at again before each point.
func TestAPointFailsWhoseFileChanged(t *testing.T) {
	request := `{"messages": [{"role": "user", "content": "Plan."}], "max_tokens": 2}`
	for name, c := range map[string]struct {
		workload schema.Workload
		content  string
	}{
		"dag":      {schema.Workload{DAG: &schema.DAG{File: "f.jsonl"}}, `{"session_id": "a", "turns": [` + request + `]}`},
		"prompts":  {schema.Workload{Prompts: &schema.Prompts{File: "f.jsonl", OutputTokens: 2}}, `{"prompt": "Plan."}`},
		"sharegpt": {schema.Workload{ShareGPT: &schema.ShareGPT{File: "f.jsonl", OutputTokens: 2, Turns: "first"}}, `{"conversations": [{"from": "human", "value": "Plan."}, {"from": "gpt", "value": "Yes."}]}`},
		"trace":    {schema.Workload{Trace: &schema.Trace{File: "f.jsonl", Format: "mooncake"}}, `{"text_input": "Plan.", "output_length": 2}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			write := func(content string) {
				t.Helper()
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(c.content)
			config := configOf(t, newWitness(t).url)
			config.Spec.Workload = c.workload
			config.Files = NewFiles(func(string) (input.File, error) { return os.Open(path) })
			made, _, err := Prepare(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer made.Close()
			job := Job{Point: runner.Point{Load: schema.PointLoad{Concurrency: new(int64(1))}, Requests: 1, DrainTimeout: schema.Duration(time.Minute)}}
			if outcome, err := made.Measure(t.Context(), job, Watch{}); err != nil || outcome.Aborted != "" {
				t.Fatalf("before: %v, aborted %q", err, outcome.Aborted)
			}
			write(c.content + "\n")
			_, err = made.Measure(t.Context(), job, Watch{})
			if err == nil || !strings.Contains(err.Error(), "f.jsonl has changed since it was read: its SHA-256 was ") {
				t.Errorf("a point whose file changed gives %v", err)
			}
		})
	}
}

// A tokenizer.json is read once, known by its digest, and must stay what it was planned with.
func TestATokenizersFile(t *testing.T) {
	text, err := os.ReadFile("../tokenizer/testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	files := holding(t, string(text), &opened)
	sum, err := files.Tokenizer("tokenizer.json")
	// sha256sum runner/tokenizer/testdata/tokenizer.json
	if want := "5b69b2069bbe5a1dac3b7dc83d8b4cd1a3e67bb982f36c2279da598038d2ad4a"; sum != want || err != nil {
		t.Errorf("the digest is %s, %v, want %s", sum, err, want)
	}
	request := schema.Request{Tokenizer: "tokenizer.json", TokenizerSHA256: sum}
	tokens, err := files.tokenizer(request)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := tokens.Count("The service counts the tokens."); n != 6 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
	if opened != 1 {
		t.Errorf("the file was opened %d times", opened)
	}
	request.TokenizerSHA256 = strings.Repeat("0", 64)
	if _, err := files.tokenizer(request); err == nil || !strings.HasPrefix(err.Error(), "tokenizer.json is not the file that the run was planned with: ") {
		t.Errorf("another file gives %v", err)
	}
	if _, err := holding(t, "{}", &opened).Tokenizer("tokenizer.json"); err == nil || !strings.HasPrefix(err.Error(), `tokenizer.json: model.type is ""`) {
		t.Errorf("a file of another kind gives %v", err)
	}
}
