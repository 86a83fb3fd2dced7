package client

import (
	"net"
	"sync/atomic"

	"sweetspot/runner/clock"
)

// wire is a connection of the transport's that notes when bytes arrive and leave, and from which the body of a response can be read past the
// transport.
//
// The transport keeps what it is good at: connections, requests, heads of responses. Its way of reading a chunked body, however, costs each event
// two locks, four layers and a second buffer, which with thousands of streams are rarely in the processor's caches. So wire lets the transport see
// a response up to the end of its head and no further; Send then reads the body with [chunks], and afterwards the transport is given an empty last
// chunk, which makes it take the connection back. A body that Send does not take (one that is not chunked, or over TLS, where wire sees only
// ciphertext) reaches the transport as it came, and so does everything after it on that connection.
//
// Two goroutines use it, the transport's and Send's, one after the other: the transport's channels order them.
type wire struct {
	net.Conn
	clock   clock.Clock
	arrived atomic.Int64
	sending atomic.Pointer[trace] // of the request that is under way

	state wireState
	head  headScanner
	held  []byte // arrived behind a head, not yet read
}

type wireState int

const (
	inHead  wireState = iota // what arrives is for the transport, up to the end of a head
	atBody                   // a head has ended; who reads the body is open
	aside                    // Send reads the body
	atEnd                    // the transport reads the last chunk of that body
	through                  // everything is for the transport
)

// lastChunk ends a chunked body.
const lastChunk = "0\r\n\r\n"

// Read is the transport's.
func (w *wire) Read(p []byte) (int, error) {
	if w.state == atBody {
		w.state = through
	}
	n, err := w.receive(p)
	switch {
	case w.state == inHead:
		if length := w.head.scan(p[:n]); length >= 0 {
			w.held = append(w.held, p[length:n]...)
			w.state, n = atBody, length
		}
	case w.state == atEnd && len(w.held) == 0:
		w.state, w.head = inHead, headScanner{}
	}
	return n, err
}

// receive reads what is held, else what arrives, and stamps it.
func (w *wire) receive(p []byte) (int, error) {
	if len(w.held) > 0 {
		n := copy(p, w.held)
		w.held = w.held[:copy(w.held, w.held[n:])]
		return n, nil
	}
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.arrived.Store(int64(w.clock.Now()))
	}
	return n, err
}

// Write is the transport's.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if t := w.sending.Load(); t != nil && err == nil {
		t.wrote.Store(int64(w.clock.Now()))
	}
	return n, err
}

// take hands the body of the response whose head has ended to the caller. It is false where the transport reads it.
func (w *wire) take() bool {
	if w.state != atBody {
		return false
	}
	w.state = aside
	return true
}

// giveBack ends the body that was taken.
func (w *wire) giveBack() {
	w.held = append(w.held[:0], lastChunk...)
	w.state = atEnd
}

// headScanner finds the end of a response's head: the empty line behind it. It passes over heads that announce another (statuses 100 to 199).
type headScanner struct {
	status [len("HTTP/1.1 2")]byte // the start of the status line, up to the status's first digit
	known  int
	line   int // bytes of the current line
}

// scan returns how many bytes of b belong to heads if the last of them ends in b, otherwise -1. b follows what was scanned before.
func (h *headScanner) scan(b []byte) int {
	for i, c := range b {
		if h.known < len(h.status) {
			h.status[h.known] = c
			h.known++
		}
		switch {
		case c == '\n' && h.line == 0:
			interim := h.status[len(h.status)-1] == '1'
			*h = headScanner{}
			if !interim {
				return i + 1
			}
		case c == '\n':
			h.line = 0
		case c != '\r':
			h.line++
		}
	}
	return -1
}
