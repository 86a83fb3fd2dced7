package client

import (
	"bytes"
	"errors"
	"math/bits"
)

// maxEvent bounds one server-sent event, and so what a stream that never ends one can make the client keep.
const maxEvent = 1 << 20

const (
	firstBuffer = 4 << 10 // holds some ten events of a typical service
	leastRead   = 1 << 10 // free space that is worth a read
	keptBuffer  = 64 << 10
	leastKept   = 512 // holds what a read leaves of a typical event
)

var errEventTooLong = errors.New("an event is longer than 1 MiB")

// event is one server-sent event. Its data lies in the parser's buffer and is valid until the parser is given more bytes.
type event struct {
	data    []byte // of all its data lines, joined by line feeds
	failure bool   // it is called "error": by its event field, or in the place of its data field
}

// parser cuts a byte stream into server-sent events. Lines end in LF, CR or CR LF, each of which may be split over reads; a CR ends its line at
// once, so that no event waits for the byte behind it.
//
// The bytes of an event stay where they were read until it is complete; only what a read left unfinished is ever moved.
type parser struct {
	buf        []byte
	own        []byte // while buf is lent: its own
	start, end int    // buf[start:end] was read and belongs to no complete event
	line, scan int    // where the current line starts, and up to where it was searched for its end

	dataAt, dataEnd int
	hasData         bool
	failure         bool
	afterCR         bool // a line feed that comes next belongs to the line end before it
	begun           bool // the place of a byte order mark lies behind
}

// reset makes p ready for another stream. It keeps its buffer unless one stream made it large.
func (p *parser) reset() {
	buf := p.buf
	if len(buf) > keptBuffer {
		buf = nil
	}
	*p = parser{buf: buf}
}

// lend makes p read to buf until that is taken back, so that the many streams that one goroutine reads share a buffer. It makes events returned before invalid.
func (p *parser) lend(buf []byte) {
	if len(buf)-(p.end-p.start) >= leastRead {
		p.own = p.buf
		p.move(buf)
	}
}

// takeBack ends the use of what was lent. Only what is pending is kept.
func (p *parser) takeBack(buf []byte) {
	if len(buf) == 0 || len(p.buf) == 0 || &p.buf[0] != &buf[0] { // it was too small, and is no more in use
		return
	}
	own := p.own
	p.own = nil
	if pending := p.end - p.start; len(own) < pending {
		own = make([]byte, max(leastKept, 1<<bits.Len(uint(pending))))
	}
	p.move(own)
}

// free is where the next bytes are to be read to. It makes events returned before invalid.
//
// With nothing pending that is the buffer's start, so that with thousands of streams the processor's caches hold the few lines of each that are
// in use.
func (p *parser) free() []byte {
	if p.start == p.end || len(p.buf)-p.end < leastRead {
		p.makeRoom()
	}
	return p.buf[p.end:]
}

func (p *parser) makeRoom() {
	if len(p.buf)-(p.end-p.start) < leastRead {
		p.move(make([]byte, max(firstBuffer, 2*len(p.buf))))
	} else {
		p.move(p.buf)
	}
}

// move takes what is pending to the start of buf, and goes on there.
func (p *parser) move(buf []byte) {
	n := copy(buf, p.buf[p.start:p.end])
	p.line, p.scan, p.end = p.line-p.start, p.scan-p.start, n
	p.dataAt, p.dataEnd = p.dataAt-p.start, p.dataEnd-p.start
	p.start, p.buf = 0, buf
}

// filled says that n bytes were read to where free pointed.
func (p *parser) filled(n int) { p.end += n }

// next is the next complete event, false while there is none. Lines without an event before them (comments, keep-alives) leave nothing behind.
func (p *parser) next() (event, bool, error) {
	if !p.begun && !p.skipMark() {
		return event{}, false, nil
	}
	for {
		if p.afterCR && p.scan < p.end {
			p.skipLineFeed()
		}
		if !p.hasData && !p.failure {
			p.start = p.line
		}
		length := lineLength(p.buf[p.scan:p.end])
		if length < 0 {
			p.scan = p.end
			return event{}, false, p.bound()
		}
		stop := p.scan + length
		from := p.line
		p.afterCR = p.buf[stop] == '\r'
		p.line, p.scan = stop+1, stop+1
		if from < stop {
			p.field(from, stop)
		} else if e, ok := p.take(); ok {
			return e, true, nil
		}
		if err := p.bound(); err != nil {
			return event{}, false, err
		}
	}
}

// last is the event that the stream's end left without its blank line, false where there is none.
func (p *parser) last() (event, bool) {
	if p.line < p.end {
		p.field(p.line, p.end)
		p.line, p.scan = p.end, p.end
	}
	return p.take()
}

func (p *parser) bound() error {
	if p.scan-p.start > maxEvent {
		return errEventTooLong
	}
	return nil
}

// take ends the current event. A blank line after no data is none.
func (p *parser) take() (event, bool) {
	if !p.hasData && !p.failure {
		return event{}, false
	}
	e := event{failure: p.failure}
	if p.hasData {
		e.data = p.buf[p.dataAt:p.dataEnd]
	}
	p.start, p.hasData, p.failure = p.line, false, false
	return e, true
}

// field reads the line p.buf[from:to].
func (p *parser) field(from, to int) {
	line := p.buf[from:to]
	value := to
	if colon := bytes.IndexByte(line, ':'); colon >= 0 {
		line = line[:colon]
		value = from + colon + 1
		if value < to && p.buf[value] == ' ' {
			value++
		}
	}
	switch string(line) {
	case "data":
		p.append(value, to)
	case "event":
		p.failure = string(p.buf[value:to]) == "error"
	case "error": // how llama.cpp named its errors' data before it followed the specification
		p.failure = true
		p.append(value, to)
	}
}

// append joins p.buf[from:to], which lies behind the data so far, to it.
func (p *parser) append(from, to int) {
	if !p.hasData {
		p.hasData, p.dataAt, p.dataEnd = true, from, to
		return
	}
	p.buf[p.dataEnd] = '\n'
	p.dataEnd += 1 + copy(p.buf[p.dataEnd+1:], p.buf[from:to])
}

func (p *parser) skipLineFeed() {
	p.afterCR = false
	if p.buf[p.scan] == '\n' {
		p.line, p.scan = p.line+1, p.scan+1
	}
}

// skipMark skips a byte order mark at the start of the stream. It is false while the bytes may still become one.
func (p *parser) skipMark() bool {
	const mark = "\xef\xbb\xbf"
	head := p.buf[:min(p.end, len(mark))]
	if string(head) == mark {
		p.start, p.line, p.scan = len(mark), len(mark), len(mark)
	} else if string(head) == mark[:len(head)] {
		return false
	}
	p.begun = true
	return true
}

// lineLength is the number of bytes before the first line end in b, -1 where there is none.
func lineLength(b []byte) int {
	feed := bytes.IndexByte(b, '\n')
	if feed >= 0 {
		b = b[:feed]
	}
	if carriage := bytes.IndexByte(b, '\r'); carriage >= 0 {
		return carriage
	}
	return feed
}
