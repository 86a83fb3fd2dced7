package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweetspot/schema"
)

// initialise runs init with arguments before a file's name, and gives its exit code, what it printed and what it wrote.
func initialise(t *testing.T, name string, args ...string) (code int, stderr, written string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	var out, diagnostics bytes.Buffer
	code = run(append(append([]string{"init"}, args...), file), &process{stdout: &out, stderr: &diagnostics, lookupEnv: func(string) (string, bool) { return "", false }})
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return code, diagnostics.String(), string(text)
}

// listing is the URL of a service whose /models answers with body.
func listing(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) }))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func TestInitRefusesWhatAPresetCantHold(t *testing.T) {
	url := listing(t, `{"data":[{"id":"a"}]}`)
	for _, test := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{"a key in the place of its variable's name", "p.cue", []string{"--url", url, "--api-key-env", "sk-SEKRETx"}, "--api-key-env must be the name of an environment variable"},
		{"no scheme", "p.cue", []string{"--url", "127.0.0.1:9103"}, "--url must be the base of an OpenAI-compatible API"},
		{"no port", "p.cue", []string{"--url", "http://bob:SEKRET@127.0.0.1:99999/v1"}, "--url must be the base of an OpenAI-compatible API"},
		{"a file of another kind", "p.yaml", []string{"--url", url}, "p.yaml must end in .cue, as what init writes is CUE"},
		{"a shipped preset as another kind", "p.json", []string{"--from", "quickstart"}, "p.json must end in .cue"},
		{"a padded model", "p.cue", []string{"--url", url, "--model", " a"}, "--model must be the model's name as text"},
		{"a model that is not served", "p.cue", []string{"--url", url, "--model", "b"}, "the service does not serve b; it serves a"},
	} {
		code, stderr, written := initialise(t, test.file, test.args...)
		if code != exitUsage || written != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, want one line with %q; wrote %q", test.name, code, stderr, test.want, written)
		}
		if strings.Contains(stderr, "SEKRET") {
			t.Errorf("%s: a secret is shown: %s", test.name, stderr)
		}
	}
}

func TestInitPassesOverModelsThatNoPresetCanName(t *testing.T) {
	code, stderr, written := initialise(t, "p.cue", "--url", listing(t, `{"data":[{"id":""},{"id":" padded "},{"id":"x\u001b[31m"},{"id":"org/good"}]}`))
	if code != exitOK || !strings.Contains(written, "\nmodel: \"org/good\"\n") {
		t.Errorf("exit code %d, wrote %q", code, written)
	}
	if want := "sweetspot: chose model org/good: 3 before it have names that a preset can't hold\n"; stderr != want {
		t.Errorf("said %q, want %q", stderr, want)
	}
	if _, err := schema.Read("p.cue", []byte(written), schema.Options{}); err != nil {
		t.Errorf("what it wrote is not valid: %v", err)
	}
	code, stderr, written = initialise(t, "p.cue", "--url", listing(t, `{"data":[{"id":" "}]}`))
	if code == exitOK || written != "" || !strings.Contains(stderr, "names that a preset can't hold") {
		t.Errorf("with no good name: exit code %d, %q, wrote %q", code, stderr, written)
	}
}

func TestInitWritesNoPassword(t *testing.T) {
	url := strings.Replace(listing(t, `{"data":[{"id":"a"}]}`), "http://", "http://bob:SEKRETpw@", 1)
	code, stderr, written := initialise(t, "p.cue", "--url", url)
	if code != exitOK || strings.Contains(written+stderr, "SEKRET") || strings.Contains(written, "bob") {
		t.Errorf("exit code %d, %q, wrote %s", code, stderr, written)
	}
	if !strings.Contains(stderr, "user name and password of --url are not written") || !strings.Contains(written, `url: "http://127.0.0.1:`) {
		t.Errorf("said %q, wrote %s", stderr, written)
	}
}
