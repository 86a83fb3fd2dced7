package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sweetspot": main})
}

// TestScripts runs testdata/script/*.txtar, each a session at the command line with its exact output. UPDATE=1 rewrites the outputs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") == "1",
		RequireExplicitExec: true,
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"try": try, "stored": stored, "damaged": damaged},
	})
}

// try runs a command whose exit code hangs on the machine: a client that was kept from running makes points that can't win.
func try(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: try COMMAND [ARG ...]")
	}
	_ = ts.Exec(args[0], args[1:]...)
}
