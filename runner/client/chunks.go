package client

import (
	"errors"
	"io"
	"strings"

	"sweetspot/runner/clock"
)

var errChunks = errors.New("malformed chunked encoding")

// chunks reads a chunked body (RFC 9112, section 7.1) from a link. Each read is one read of the connection, so that nothing that has arrived waits
// for what has not.
type chunks struct {
	link  *link
	part  chunkPart
	size  uint64 // of the chunk whose header is being read, then what is left of it
	width int    // hexadecimal digits of that header
	line  int    // bytes of the current trailer line
	whole bool   // the body has ended, and nothing came behind it
	err   error
}

type chunkPart int

const (
	chunkSize      chunkPart = iota // digits
	chunkExtension                  // up to the end of that line
	chunkData
	chunkEnd // the line end behind the data
	chunkTrailer
	chunkNone // the body has ended
)

// Read returns what of the body has arrived, which may be nothing. Its error stays.
func (c *chunks) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.link.Read(p)
	raw := p[:n]
	n, used := c.strip(raw)
	switch {
	case c.err != nil:
	case c.part == chunkNone:
		c.whole, c.err = used == len(raw) && len(c.link.held) == 0, io.EOF
	case err == io.EOF:
		c.err = io.ErrUnexpectedEOF
	default:
		c.err = err
	}
	return n, c.err
}

func (c *chunks) arrived() clock.Instant { return clock.Instant(c.link.wire.arrived.Load()) }

// strip takes the framing out of b, in place. It returns how many bytes of data are left and how many of b belong to the body.
func (c *chunks) strip(b []byte) (data, used int) {
	for used < len(b) && c.part != chunkNone && c.err == nil {
		if c.part == chunkData {
			n := int(min(c.size, uint64(len(b)-used)))
			copy(b[data:], b[used:used+n])
			data, used, c.size = data+n, used+n, c.size-uint64(n)
			if c.size == 0 {
				c.part = chunkEnd
			}
			continue
		}
		c.frame(b[used])
		used++
	}
	return data, used
}

// frame takes one byte that is no data.
func (c *chunks) frame(b byte) {
	switch {
	case b == '\n':
		c.lineEnd()
	case b == '\r': // only ever before a line feed
	case c.part == chunkSize:
		c.digit(b)
	case c.part == chunkTrailer:
		c.line++
	case c.part == chunkEnd:
		c.err = errChunks
	}
}

func (c *chunks) digit(b byte) {
	digit := strings.IndexByte("0123456789abcdefABCDEF", b)
	if digit > 15 {
		digit -= 6
	}
	switch {
	case digit >= 0 && c.width < 15:
		c.size, c.width = c.size<<4|uint64(digit), c.width+1
	case c.width > 0 && (b == ';' || b == ' ' || b == '\t'):
		c.part = chunkExtension
	default:
		c.err = errChunks
	}
}

func (c *chunks) lineEnd() {
	switch c.part {
	case chunkSize, chunkExtension:
		if c.width == 0 {
			c.err = errChunks
		}
		c.part, c.width = chunkData, 0
		if c.size == 0 {
			c.part = chunkTrailer
		}
	case chunkEnd:
		c.part = chunkSize
	case chunkTrailer:
		if c.line == 0 {
			c.part = chunkNone
		}
		c.line = 0
	}
}
