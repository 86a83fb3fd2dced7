package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A process that looks at a file first and is lost has not always wanted too much memory: what else ended it is said in its own words.
func TestWhyALookIsLost(t *testing.T) {
	for name, test := range map[string]struct{ script, table, preset string }{
		"more memory than it may":  {"echo 'runtime: out of memory: cannot allocate 8589934592-byte block (4194304 in use)' >&2; echo 'fatal error: out of memory' >&2; exit 2", "f.parquet: reading it needs more than 2048 MiB of memory, which a damaged page asks for: write the file anew from what it was made of", "needs more than 1024 MiB of memory to evaluate"},
		"killed":                   {"kill -9 $$", "f.parquet can't be read: the process that looks at it first was ended (signal: killed), as where the machine has no memory left: free some, and try again", "can't be evaluated: the process that looks at it first was ended (signal: killed), as where the machine has no memory left: free some, and try again"},
		"its own words":            {"echo 'sweetspot: bounding memory: operation not permitted' >&2; exit 1", "f.parquet can't be read: the process that looks at it first ended with exit status 1: sweetspot: bounding memory: operation not permitted", "can't be evaluated: the process that looks at it first ended with exit status 1: sweetspot: bounding memory: operation not permitted"},
		"a panic":                  {"printf 'panic: no such page\n\ngoroutine 1 [running]:\n' >&2; exit 2", "f.parquet can't be read: the process that looks at it first ended with exit status 2: panic: no such page", "can't be evaluated: the process that looks at it first ended with exit status 2: panic: no such page"},
		"no word, and no way back": {"exit 3", "f.parquet can't be read: the process that looks at it first ended with exit status 3", "can't be evaluated: the process that looks at it first ended with exit status 3"},
	} {
		dir := t.TempDir()
		program, prompts := filepath.Join(dir, "sweetspot"), filepath.Join(dir, "f.parquet")
		for file, text := range map[string]string{program: "#!/bin/sh\n" + test.script + "\n", prompts: "PAR1"} {
			if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		p := &process{executable: func() (string, error) { return program, nil }}
		file, err := os.Open(prompts)
		if err != nil {
			t.Fatal(err)
		}
		looked := &tables{process: p, sound: map[table]bool{}}
		if err := looked.readable("f.parquet", file); err == nil || err.Error() != test.table {
			t.Errorf("%s: %v\nwant %s", name, err, test.table)
		}
		file.Close()
		if got := p.givenUp("p.cue", []byte(`import "strings", a: strings.Repeat("a", 9)`)); !strings.Contains(got, test.preset) {
			t.Errorf("%s: %s\nwant %s", name, got, test.preset)
		}
	}
}
