package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sweetspot/schema"
)

// evaluateCmd is the process that evaluates a CUE file before this one does: see [process.givenUp].
type evaluateCmd struct{}

// Run is the command.
func (evaluateCmd) Run(p *process) error {
	const most = 2 * schema.MostEvaluation // what package schema looks at, and as much for the rest
	limit := unix.Rlimit{Cur: most, Max: most}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("bounding memory: %w", err)
	}
	text, err := io.ReadAll(p.stdin)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, schema.GivenUp(text))
	return err
}

// longestEvaluation ends a process that evaluates a file and does not end by itself: package schema gives it less.
const longestEvaluation = 30 * time.Second

// givenUp says why a preset can't be evaluated within bounds; it is empty for one that can be, and for one that is not CUE. CUE is a program that can ask for any
// amount of memory at once, which Go can't refuse: it is evaluated in a process of its own first, which may be lost.
func (p *process) givenUp(name string, text []byte) string {
	if strings.ToLower(filepath.Ext(name)) != ".cue" || len(text) > schema.MaxSize || !schema.MayLeap(text) {
		return ""
	}
	self, err := p.executable()
	if err != nil {
		return fmt.Sprintf("can't be evaluated: finding this program, which does it in a process of its own: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestEvaluation)
	defer cancel()
	command := exec.CommandContext(ctx, self, "evaluate")
	command.Stdin = bytes.NewReader(text)
	said, err := command.Output()
	var lost *exec.ExitError
	switch {
	case errors.As(err, &lost):
		return schema.TooLarge()
	case err != nil:
		return fmt.Sprintf("can't be evaluated: %v", err)
	}
	return string(said)
}
