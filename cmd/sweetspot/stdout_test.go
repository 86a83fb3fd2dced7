package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noRoom is an output that nothing can be written to.
type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func ran(stdout io.Writer, args ...string) (code int, stderr string) {
	var told bytes.Buffer
	p := &process{stdin: strings.NewReader(""), stdout: stdout, stderr: &told, lookupEnv: func(string) (string, bool) { return "", false },
		environ: func() []string { return nil }, executable: os.Executable, notify: func(chan<- os.Signal) {}}
	return run(args, p), told.String()
}

func TestWhatCouldNotBePrintedIsAFailure(t *testing.T) {
	preset := filepath.Join(t.TempDir(), "p.yaml")
	text := "model: m\nservice: {simulator: {}}\nworkload: {fixed: {}}\nload: {concurrency: 1}\n"
	if err := os.WriteFile(preset, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--version"}, {"--help"}, {"validate", preset}, {"plan", preset}, {"init", "--list"}, {"schema"}, {"workload", preset}} {
		if code, said := ran(io.Discard, args...); code != exitOK {
			t.Fatalf("%v: exit %d where it can print: %s", args, code, said)
		}
		if code, said := ran(noRoom{}, args...); code != exitFailed || !strings.Contains(said, "no space left") {
			t.Errorf("%v: exit %d, %q where nothing can be printed", args, code, said)
		}
	}
	if code, _ := ran(noRoom{}, "validate", "no-such-file"); code != exitUsage {
		t.Errorf("another fault is hidden: exit %d", code)
	}
}
