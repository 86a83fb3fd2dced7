package service

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sweetspot/schema"
)

// output takes what a service writes, line by line: without secrets, to a file, and the end of it for errors.
type output struct {
	redact func(string) string
	said   func(line string) // is told of each line; nil: nobody is
	file   *os.File          // nil: none

	mu      sync.Mutex
	part    []byte // of a line that has not ended
	long    bool   // the rest of the line is left out
	written int64  // to the file
	kept    []string
	bytes   int // of kept
}

// The bounds of what is kept of an output.
const (
	mostKept    = 600       // bytes of the end, for errors
	mostLine    = 64 << 10  // bytes of a line that is looked at whole: a secret in it is found
	cutLine     = 4 << 10   // bytes that are kept of a longer one
	mostWritten = 256 << 20 // bytes of the file
)

// openOutput opens the file for an output, behind what stands there. An empty path: only the end is kept.
func openOutput(path string, redact func(string) string, said func(string)) (*output, error) {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	o := &output{redact: redact, said: said}
	if path == "" {
		return o, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for the service's output: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600) // a pipe of that name must not be waited for
	if err != nil {
		return nil, fmt.Errorf("opening the file for the service's output: %w", err)
	}
	if info, err := file.Stat(); err == nil {
		o.written = info.Size()
	}
	o.file = file
	return o, nil
}

// head writes a line of sweetspot's own, which says what is started.
func (o *output) head(command string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(fmt.Sprintf("== %s: %s\n", time.Now().UTC().Format(time.RFC3339), o.redact(command)))
}

// Write never fails: a full disk must not end the service.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.part = append(o.part, b...)
	for {
		end := bytes.IndexAny(o.part, "\r\n") // a progress bar ends its lines with \r
		if end < 0 {
			break
		}
		o.line(string(o.part[:end]), string(o.part[end:end+1]))
		o.part = o.part[end+1:]
	}
	if len(o.part) > mostLine {
		o.line(string(o.part), "")
		o.part, o.long = nil, true
	}
	return len(b), nil
}

// line takes a line and what ended it.
func (o *output) line(text, end string) {
	if o.long { // its beginning was written
		o.long = end == ""
		o.write(end)
		return
	}
	text = o.redact(text)
	if end == "" {
		text = text[:min(cutLine, len(text))] + " … (the line is longer)"
	}
	o.write(text + end)
	if text = schema.Printable(text); text != "" {
		o.keep(text)
	}
}

func (o *output) write(text string) {
	if o.file == nil || o.written > mostWritten {
		return
	}
	if o.written += int64(len(text)); o.written > mostWritten {
		text += "\n== the rest is left out: the file is large enough\n"
	}
	_, _ = io.WriteString(o.file, text)
}

func (o *output) keep(text string) {
	text = text[:min(mostKept, len(text))]
	o.kept, o.bytes = append(o.kept, text), o.bytes+len(text)
	for o.bytes > mostKept {
		o.bytes -= len(o.kept[0])
		o.kept = o.kept[1:]
	}
	if o.said != nil {
		o.said(text)
	}
}

// String is the end of the output, as one line.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.kept
	if last := schema.Printable(o.redact(string(o.part))); last != "" && !o.long {
		lines = append(lines[:len(lines):len(lines)], last[:min(mostKept, len(last))])
	}
	return strings.Join(lines, " | ")
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.part) > 0 && !o.long {
		o.line(string(o.part), "\n")
		o.part = nil
	}
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// mostReport bounds a line in bytes: what a command wrote may stand in it, escaped.
const mostReport = 1 << 20

// lines hands each line that is written to it to each, without its end. The bytes are each's own.
type lines struct {
	part []byte
	each func(line []byte)
}

// Write never fails. What is longer than mostReport is handed on in pieces.
func (l *lines) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole && len(l.part) < mostReport {
			return len(b), nil
		}
		l.each(bytes.Clone(line))
		l.part = rest
	}
}
