package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sweetspot/runner/clock"
)

const (
	headBuffer    = 1 << 10 // heads of responses are parsed through it
	requestBuffer = 4 << 10 // a request that fits leaves in one write
	leastHead     = 512     // free space for a read of a head

	// takenAtOnce is how many bytes of a request two kernels take between them, whether or not the service reads them.
	takenAtOnce = 64 << 10
)

var (
	headReaders    = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBuffer) }}
	requestWriters = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, requestBuffer) }}

	protocol    = []byte("HTTP/")
	errHeadSize = fmt.Errorf("the head of the response exceeds %d bytes", maxHeadBytes)
)

// link is a connection that carries one request after the other.
//
// What each event needs of it stands together, as in an exchange.
type link struct {
	tenure  tenure      // of the request that it carries
	chunked chunkedBody // of that request's response, where it is
	wire    wire
	conn    net.Conn      // the wire, or TLS over it
	held    []byte        // arrived, not yet read
	head    int           // of those, the bytes up to the end of a response's head
	since   clock.Instant // it has been idle
}

func newLink(conn net.Conn, loops *loops, c clock.Clock) *link {
	l := new(link)
	l.wire.init(conn, loops, c)
	l.conn = &l.wire
	return l
}

// plain is whether there is no TLS over the wire.
func (l *link) plain() bool { return l.conn == net.Conn(&l.wire) }

// Read reads what is held, else what arrives. It reads nothing from behind a head together with it.
func (l *link) Read(p []byte) (int, error) {
	if len(l.held) == 0 {
		return l.conn.Read(p)
	}
	if l.head > 0 {
		p = p[:min(len(p), l.head)]
	}
	n := copy(p, l.held)
	l.held, l.head = l.held[:copy(l.held, l.held[n:])], max(0, l.head-n)
	return n, nil
}

// writing is the sending of a request: done, with its error, or still going on.
type writing struct {
	err  error
	late <-chan error // of one that may still go on
}

// outcome is false while the request is being sent.
func (w *writing) outcome() (done bool, err error) {
	if w.late == nil {
		return true, w.err
	}
	select {
	case err := <-w.late:
		*w = writing{err: err}
		return true, err
	default:
		return false, nil
	}
}

// send writes a request, a long one on its own, since a service may answer before it has read all of one and read no further. Where it fails, what the
// service says is waited for a little, since it may be the reason.
func (l *link) send(c *call) writing {
	if len(c.body) <= takenAtOnce {
		return writing{err: l.write(c)}
	}
	written := make(chan error, 1)
	go func() { written <- l.write(c) }()
	return writing{late: written}
}

func (l *link) write(c *call) error {
	out := requestWriters.Get().(*bufio.Writer)
	out.Reset(l.conn)
	out.Write(c.target.head)
	if c.id != "" {
		out.WriteString("X-Request-Id: ")
		out.WriteString(c.id)
		out.Write(lineEnd)
	}
	if len(c.body) > 0 {
		out.WriteString("Content-Length: ")
		out.Write(strconv.AppendInt(out.AvailableBuffer(), int64(len(c.body)), 10))
		out.Write(lineEnd)
	}
	if c.single {
		out.WriteString("Connection: close\r\n")
	}
	out.Write(lineEnd)
	_, err := out.Write(c.body) // or the first error before it
	if err == nil {
		c.trace.wroteRequest(nil)
		err = out.Flush()
	}
	out.Reset(nil)
	requestWriters.Put(out)
	if err != nil {
		c.trace.wroteRequest(err)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // else the request was given up
		l.conn.SetReadDeadline(time.Now().Add(linger))
	}
	return err
}

// answers has the head that was parsed last of a streamed response. Nearly all are the same, but for a date and what else a service puts into each.
type answers struct{ last atomic.Pointer[answer] }

type answer struct {
	head     []byte
	response *http.Response // without its body
}

// answer reads the head of a response, and passes over those that announce another (statuses 100 to 199). A body that is not chunked is
// read through the reader that it returns. The response is not the caller's alone.
func (l *link) answer(t *trace, known *answers) (*http.Response, *bufio.Reader, error) {
	for {
		if err := l.awaitHead(t.gotFirstByte); err != nil {
			return nil, nil, err
		}
		head := l.held[:l.head]
		if last := known.last.Load(); last != nil && bytes.Equal(head, last.head) {
			l.skipHead()
			return last.response, nil, nil
		}
		head = bytes.Clone(head)
		response, in, err := l.parseHead()
		if err != nil {
			return nil, nil, err
		}
		if response.StatusCode == http.StatusOK && isChunked(response) {
			response.Body = http.NoBody
			known.last.Store(&answer{head, response})
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, in, nil
		}
	}
}

func (l *link) skipHead() {
	l.held = l.held[:copy(l.held, l.held[l.head:])]
	l.head = 0
}

// parseHead parses the head that is held. A chunked body is not read through the reader that it returns.
func (l *link) parseHead() (*http.Response, *bufio.Reader, error) {
	in := headReaders.Get().(*bufio.Reader)
	in.Reset(l)
	response, err := http.ReadResponse(in, nil)
	if err == nil && (in.Buffered() > 0 || l.head > 0) {
		err = errors.New("a blank line within its head")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("malformed HTTP response: %w", err)
	}
	if isChunked(response) {
		in.Reset(nil)
		headReaders.Put(in)
	}
	return response, in, nil
}

func isChunked(response *http.Response) bool {
	return len(response.TransferEncoding) == 1 && response.TransferEncoding[0] == "chunked"
}

// awaitHead reads until all of a response's head is held. It calls firstByte when something is.
func (l *link) awaitHead(firstByte func()) error {
	for searched := 0; ; {
		if l.head = headLength(l.held, searched); l.head > 0 {
			return nil
		}
		if start := l.held[:min(len(l.held), len(protocol))]; !bytes.HasPrefix(protocol, start) {
			return fmt.Errorf("malformed HTTP response: %q", l.held[:min(len(l.held), maxMessage)])
		}
		if searched = len(l.held); searched > maxHeadBytes {
			return errHeadSize
		}
		l.held = slices.Grow(l.held, leastHead)
		n, err := l.conn.Read(l.held[searched:cap(l.held)])
		l.held = l.held[:searched+n]
		switch {
		case n > 0 && searched == 0:
			firstByte()
		case n == 0 && err == io.EOF && searched > 0:
			return fmt.Errorf("%w within the head of the response", io.ErrUnexpectedEOF)
		case n == 0 && err != nil:
			return err
		}
	}
}

// headLength is the length of the head at b's start, with the empty line that ends it; 0 where that is not there yet. The first searched bytes
// of b have been looked at before.
func headLength(b []byte, searched int) int {
	for i := max(0, searched-2); ; {
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			return 0
		}
		i += end + 1
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return i + 1
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return i + 2
		}
	}
}

// alive is false where the service has closed the connection, or said what nobody asked for.
func (l *link) alive() bool {
	if l.wire.adopted {
		return l.wire.socket.silent()
	}
	conn, ok := l.wire.Conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Read(func(fd uintptr) bool {
		_, _, peeked = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && peeked == unix.EAGAIN
}
