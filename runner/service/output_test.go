package service

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// portPattern finds what a test does not know.
var portPattern = regexp.MustCompile(`:\d{4,5}\b`)

func newOutput(t *testing.T) (*output, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	o, err := openOutput(path, func(s string) string { return strings.ReplaceAll(s, "hunter2hunter2", "REDACTED") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o, path
}

func TestSecretsDoNotReachTheLogHoweverTheyAreWritten(t *testing.T) {
	const secret = "hunter2hunter2"
	for size := 1; size <= len(secret)+3; size++ {
		o, path := newOutput(t)
		text := "the key is " + secret + "\rand " + secret + " again\nlast " + secret
		for len(text) > 0 {
			n := min(size, len(text))
			fmt.Fprint(o, text[:n])
			text = text[n:]
		}
		if got, want := o.String(), "the key is REDACTED | and REDACTED again | last REDACTED"; got != want {
			t.Errorf("in pieces of %d the end is %q", size, got)
		}
		o.close()
		if diff := cmp.Diff("the key is REDACTED\rand REDACTED again\nlast REDACTED\n", readFile(t, path)); diff != "" {
			t.Errorf("in pieces of %d:\n%s", size, diff)
		}
	}
}

func TestALineWithoutEndIsCut(t *testing.T) {
	const secret = "hunter2hunter2"
	for shift := range len(secret) {
		o, path := newOutput(t)
		long := strings.Repeat("x", shift) + strings.Repeat(secret, mostLine/len(secret)+1)
		fmt.Fprint(o, long)
		fmt.Fprint(o, long+"\nnext\n")
		o.close()
		log := readFile(t, path)
		if strings.Contains(log, "hunter") || !strings.HasSuffix(log, " … (the line is longer)\nnext\n") || len(log) > 2*cutLine {
			t.Errorf("the log has %d bytes: %.100s…", len(log), log)
		}
	}
}

func TestTheEndIsWhatATerminalCanShow(t *testing.T) {
	o, _ := newOutput(t)
	fmt.Fprint(o, "\x1b]0;title\x07\x1b[1;31mERROR\x1b[0m\tit is \x9b2J over\x00\n\n   \n"+strings.Repeat("y", mostKept)+"\nbye \xff\n")
	if got, want := o.String(), "bye \uFFFD"; got != want {
		t.Errorf("the end is %q, want %q", got, want)
	}
}

func TestALogHasABound(t *testing.T) {
	o, path := newOutput(t)
	o.written = mostWritten - 3
	fmt.Fprint(o, "one\ntwo\nthree\n")
	o.close()
	if diff := cmp.Diff("one\n\n== the rest is left out: the file is large enough\n", readFile(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestALogIsAddedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := openOutput(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(o, "after\n")
	o.close()
	if got := readFile(t, path); got != "before\nafter\n" {
		t.Errorf("the file is %q", got)
	}
}
