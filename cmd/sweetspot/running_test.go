package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a command in this process and gives what it wrote and its exit code.
func command(args ...string) (stdout, stderr string, code int) {
	var out, said bytes.Buffer
	code = run(args, &process{
		stdin: strings.NewReader(""), stdout: &out, stderr: &said, lookupEnv: func(string) (string, bool) { return "", false },
		executable: os.Executable, environ: func() []string { return nil }, notify: func(chan<- os.Signal) {},
	})
	return out.String(), said.String(), code
}

// A run is listed while it is running, and neither deleted, renamed nor written by another meanwhile. The service holds its first answer back until
// the test has looked.
func TestARunningRunIsListedAndLeftAlone(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-answer
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer service.Close()
	dir := t.TempDir()
	store, preset := filepath.Join(dir, "store"), filepath.Join(dir, "held.yaml")
	text := "model: m\nservice: {endpoint: {url: " + service.URL + "/v1}}\nworkload: {random: {}}\nload: {concurrency: 1}\n"
	if err := os.WriteFile(preset, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, said := make(chan int, 1), ""
	go func() {
		text, _, code := command("run", "-q", preset, "--store", store)
		said = text
		ended <- code
	}()
	select {
	case <-asked:
	case code := <-ended:
		t.Fatalf("the run ended with exit %d before it asked anything: %s", code, said)
	}
	if out, said, code := command("preset", "list", "--store", store); code != 0 || said != "" || !strings.Contains(out, "running (0/1)") {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if out, _, _ := command("preset", "get", "--json", "held", "--store", store); !strings.Contains(out, `"benchmarks": [],`) || !strings.Contains(out, "the run is running: 0 of 1 trials are done") {
		t.Errorf("get: %s", out)
	}
	for _, args := range [][]string{{"preset", "delete", "latest", "--yes"}, {"preset", "rename", "latest", "other"}, {"run", "-q", preset, "--resume", "latest"}} {
		out, said, code := command(append(args, "--store", store)...)
		if code != 1 || out != "" || !strings.Contains(said, "another process is writing it") {
			t.Errorf("%v: exit %d: %s%s", args, code, out, said)
		}
	}
	close(answer)
	if code := <-ended; code != 1 {
		t.Errorf("the run exits %d", code)
	}
	if out, _, _ := command("preset", "list", "--store", store); !strings.Contains(out, "  failed\n") {
		t.Errorf("list: %s", out)
	}
	if _, said, code := command("preset", "delete", "latest", "--yes", "--store", store); code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
}
