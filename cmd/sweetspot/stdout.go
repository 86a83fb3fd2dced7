package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// checked is standard output that remembers whether anything was written, and its first fault: most of what is printed goes through fmt, which nobody asks whether it was written.
type checked struct {
	to io.Writer

	mu    sync.Mutex
	begun bool
	fault error
}

// Write is the writer's own.
func (c *checked) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	if c.fault == nil {
		c.fault = err
	}
	return n, err
}

// exit is the exit code of a command that would end with code: what was not written is not done.
func (c *checked) exit(code int, stderr io.Writer) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fault == nil || code != exitOK && code != exitUsage:
		return code
	case code == exitOK:
		fmt.Fprintf(stderr, "sweetspot: writing to standard output: %v\n", c.fault)
	}
	return exitFailed // kong takes a --help that can't be printed for a wrong usage
}

// stdoutFile is the file that standard output is; nil where it is none.
func (p *process) stdoutFile() *os.File {
	out := p.stdout
	if c, ok := out.(*checked); ok {
		out = c.to
	}
	file, _ := out.(*os.File)
	return file
}
