package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// byteOrderMark is what some editors put in front of a file.
var byteOrderMark = []byte("\ufeff")

// JSONL is one JSON value a line. Empty lines are passed over.
type JSONL struct{}

// Read reads lines.
func (JSONL) Read(source Source, from Place) (Reader, error) {
	if from.Line == 0 {
		from.Line = 1
	}
	return &lines{read: bufio.NewReaderSize(source.From, 1<<16), at: from}, nil
}

type lines struct {
	read *bufio.Reader
	at   Place // of the line that comes next
	text []byte
}

// Next gives the next line that is not empty.
func (l *lines) Next() (Entry, error) {
	for {
		length, err := l.line()
		if err != nil && (err != io.EOF || length == 0) {
			return Entry{}, err
		}
		found := Entry{Place: l.at, Text: bytes.TrimSpace(bytes.TrimPrefix(l.text, byteOrderMark))}
		l.at.Line++
		l.at.Offset += length
		if len(found.Text) > 0 {
			l.at.Entry++
			return found, nil
		}
	}
}

// line reads a line into text and gives its length, its end included.
func (l *lines) line() (int64, error) {
	l.text = l.text[:0]
	for {
		part, err := l.read.ReadSlice('\n')
		l.text = append(l.text, part...)
		if err != bufio.ErrBufferFull {
			return int64(len(l.text)), err
		}
		if len(l.text) > maxEntry {
			return 0, fmt.Errorf("the line is longer than %d MiB", maxEntry>>20)
		}
	}
}
