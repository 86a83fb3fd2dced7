package service

import (
	"bytes"
	"io"
	"sync"
)

// mostTail is how much of a child's output is kept for errors.
const mostTail = 2 << 10

// tail keeps the end of what is written to it and passes all of it on.
type tail struct {
	mu   sync.Mutex
	kept []byte
	to   io.Writer // nil: nowhere
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - mostTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.to != nil {
		_, _ = t.to.Write(b) // a full disk must not end the child
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}

// firstLine gives the first line that is written to it to line, and passes the rest on.
type firstLine struct {
	line chan []byte // of capacity 1
	part []byte
	done bool
	to   io.Writer
}

// mostLine bounds a first line.
const mostLine = 64 << 10

func (f *firstLine) Write(b []byte) (int, error) {
	if f.done {
		return f.to.Write(b)
	}
	f.part = append(f.part, b...)
	line, rest, whole := bytes.Cut(f.part, []byte("\n"))
	if !whole && len(f.part) < mostLine {
		return len(b), nil
	}
	f.done = true
	f.line <- bytes.Clone(line)
	_, _ = f.to.Write(rest)
	f.part = nil
	return len(b), nil
}
