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

// evaluateCmd is the process that evaluates a CUE file, or reads a Parquet file, before this one does: see [process.givenUp] and [tables.readable].
type evaluateCmd struct {
	Parquet bool `help:"Read the rows of a Parquet file on standard input instead."`
}

// Run is the command.
func (c evaluateCmd) Run(p *process) error {
	if c.Parquet {
		return p.readRows()
	}
	const most = 2 * schema.MostEvaluation // what package schema looks at, and as much for the rest
	if err := boundMemory(most); err != nil {
		return err
	}
	text, err := io.ReadAll(p.stdin)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, schema.GivenUp(text))
	return err
}

// boundMemory ends the process where it asks for more bytes, or for more than it was allowed before.
func boundMemory(most uint64) error {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_DATA, &limit)
	if err == nil {
		limit.Max = min(limit.Max, most)
		limit.Cur = limit.Max
		err = unix.Setrlimit(unix.RLIMIT_DATA, &limit)
	}
	if err != nil {
		return fmt.Errorf("bounding memory: %w", err)
	}
	return nil
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
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("takes longer than %v to evaluate", longestEvaluation)
	case errors.As(err, &ended):
		if memory, why := lost(ended); !memory {
			return "can't be evaluated: " + why
		}
		return schema.TooLarge()
	case err != nil:
		return fmt.Sprintf("can't be evaluated: %v", err)
	}
	return string(said)
}
