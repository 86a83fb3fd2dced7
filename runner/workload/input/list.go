package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// List is one JSON list; its elements are the entries.
type List struct{}

// Read reads elements.
func (List) Read(source Source, from Place) (Reader, error) {
	l := &elements{read: bufio.NewReaderSize(source.From, 1<<16), at: from}
	if from.Line > 0 {
		return l, nil
	}
	l.at.Line = 1
	c, err := l.skip()
	switch {
	case err == io.EOF:
		return nil, errors.New("the file is empty")
	case err == nil && c != '[':
		err = fmt.Errorf("must be a JSON list, which begins with [ and not %q", c)
	}
	return l, err
}

type elements struct {
	read  *bufio.Reader
	at    Place // of the byte that comes next
	text  []byte
	begun bool // an element was read
	ended bool // the list has ended
}

// Next gives the next element, whatever it is.
func (l *elements) Next() (Entry, error) {
	c, err := l.skip()
	switch {
	case err == io.EOF && l.ended:
		return Entry{}, io.EOF
	case err == io.EOF:
		return Entry{Place: l.at}, errors.New("the list has no end: ] is missing")
	case err != nil:
		return Entry{}, err
	case l.ended:
		return Entry{Place: l.at}, fmt.Errorf("%q stands behind the end of the list", c)
	case c == ']':
		l.ended = true
		return l.Next()
	case l.begun && c != ',':
		return Entry{Place: l.at}, fmt.Errorf("a comma must stand between elements, not %q", c)
	case l.begun:
		if c, err = l.skip(); err != nil {
			return Entry{Place: l.at}, errors.New("the list has no end: ] is missing")
		}
	}
	l.begun = true
	found := Entry{Place: l.at}
	found.Offset--
	l.at.Entry++
	l.text = append(l.text[:0], c)
	err = l.rest(c)
	found.Text = bytes.TrimSpace(l.text)
	return found, err
}

// rest reads an element behind its first byte into text, and stops before the comma or bracket that follows.
func (l *elements) rest(c byte) error {
	depth, quoted, escaped := 0, false, false
	for {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		next, err := l.read.Peek(1)
		switch {
		case err != nil:
			return errors.New("the list has no end: ] is missing")
		case depth <= 0 && !quoted && (next[0] == ',' || next[0] == ']'):
			return nil
		case len(l.text) > maxEntry:
			return fmt.Errorf("the element is longer than %d MiB", maxEntry>>20)
		}
		c, _ = l.next()
		l.text = append(l.text, c)
	}
}

// skip gives the next byte that is no blank.
func (l *elements) skip() (byte, error) {
	for {
		c, err := l.next()
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' && !l.mark(c) {
			return c, err
		}
	}
}

// mark passes over a byte-order mark at the start of the file, of which c is the first byte.
func (l *elements) mark(c byte) bool {
	rest, err := l.read.Peek(2)
	if l.at.Offset != 1 || err != nil || string(append([]byte{c}, rest...)) != string(byteOrderMark) {
		return false
	}
	_, _ = l.next()
	_, _ = l.next()
	return true
}

func (l *elements) next() (byte, error) {
	c, err := l.read.ReadByte()
	if err != nil {
		return 0, err
	}
	l.at.Offset++
	if c == '\n' {
		l.at.Line++
	}
	return c, nil
}
