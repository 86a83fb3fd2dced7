package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"sweetspot/runner/workload/input"
)

// mostTable is how many bytes of memory reading a Parquet file may take: its longest entry may have 256 MiB, and stands there several times over.
const mostTable = 2 << 30

// readRows reads the rows of the Parquet file on standard input. What is wrong with it is told by who reads it for them.
func (p *process) readRows() error {
	if err := boundMemory(mostTable); err != nil {
		return err
	}
	debug.SetMemoryLimit(mostTable / 2) // what is no longer used does not count
	file, ok := p.stdin.(*os.File)
	if !ok {
		return errors.New("standard input must be a Parquet file")
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	rows, err := input.Parquet{}.Read(input.Source{File: file, Size: info.Size()}, input.Place{})
	for err == nil {
		_, err = rows.Next()
	}
	return nil
}

// tables are the Parquet files that can be read within bounds.
type tables struct {
	process *process
	mu      sync.Mutex
	sound   map[table]bool
}

// table is a file as it was looked at.
type table struct {
	path     string
	size     int64
	modified time.Time
}

// readable is an error where reading a Parquet file would take more memory than it may: a page that is damaged can ask for any amount at once, which Go can't
// refuse. So the file is read in a process of its own first, which may be lost. It is read so once, and again when it has changed.
func (t *tables) readable(path string, file *os.File) error {
	if !strings.EqualFold(filepath.Ext(path), ".parquet") {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := table{path, info.Size(), info.ModTime()}
	if t.sound[key] {
		return nil
	}
	self, err := t.process.executable()
	if err != nil {
		return fmt.Errorf("%s can't be read: finding this program, which looks at it in a process of its own: %w", path, err)
	}
	command := exec.Command(self, "evaluate", "--parquet")
	command.Stdin = file
	_, err = command.Output() // with what it says of its end
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		if memory, why := lost(ended); !memory {
			return fmt.Errorf("%s can't be read: %s", path, why)
		}
		return fmt.Errorf("%s: reading it needs more than %d MiB of memory, which a damaged page asks for: write the file anew from what it was made of", path, mostTable>>20)
	case err != nil:
		return fmt.Errorf("%s can't be read: %w", path, err)
	}
	t.sound[key] = true
	return nil
}
