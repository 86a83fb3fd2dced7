package e2e

import (
	"bytes"
	"os/exec"
	"testing"
)

// A collection looks at all that packages made ready: of a short command it is a tenth of the time. Package heap puts off what comes after main begins.
func TestNothingIsCollectedBeforeMain(t *testing.T) {
	needServer(t)
	command := exec.Command(sweetspot, "--version")
	command.Env = append(command.Environ(), "GOGC=", "GODEBUG=gctrace=1")
	var told bytes.Buffer
	command.Stderr = &told
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if told.Len() > 0 {
		t.Errorf("what packages make ready at a start is more than 2.8 MB, and is collected:\n%s", &told)
	}
}
