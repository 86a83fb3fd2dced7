package client

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a TCP connection for which a loop waits, in the place of the runtime.
type socket struct {
	in, out direction
	fd      int
	loop    *loop
	cut     <-chan struct{} // closed where what is waited for is to be given up, as behind a deadline
	conn    struct{ local, remote net.Addr }

	// Under in's lock.
	reader   reader        // nil: whoever calls Read reads
	ended    chan struct{} // has a value once the reader has ended
	panicked any           // where it did so by that
	with     *reception    // of the reader's read that goes on
	arrivals arrivals
	more     bool // there may be more to read, of which the kernel will say nothing
	closed   bool // under out's too

	// Reads go on until nothing is there: the other end has closed, the connection has failed, or nothing is waited for any more.
	toTheLast bool
}

// direction is one in which bytes go.
type direction struct {
	mu       sync.Mutex    // while something is read or written
	ready    chan struct{} // has a value where something can be read or written, or may
	deadline deadline
}

func (d *direction) signal() {
	select {
	case d.ready <- struct{}{}:
	default: // nobody has seen the last one
	}
}

// wait returns when d may be ready, with an error where that is not to be waited for any more.
func (s *socket) wait(d *direction) error {
	if s.givenUp(d) {
		return os.ErrDeadlineExceeded
	}
	select {
	case <-d.ready:
		return nil
	case <-d.deadline.done():
	case <-s.cut:
	}
	return os.ErrDeadlineExceeded
}

func (s *socket) givenUp(d *direction) bool { return isClosed(d.deadline.done()) || isClosed(s.cut) }

// adopt takes a connection over from the runtime, to a. It is false where that can't be done.
func (s *loops) adopt(conn net.Conn, a *socket) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	a.fd, a.ended = -1, make(chan struct{}, 1)
	a.in.ready, a.out.ready = make(chan struct{}, 1), make(chan struct{}, 1)
	a.conn.local, a.conn.remote = conn.LocalAddr(), conn.RemoteAddr()
	raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) == nil {
			a.fd, _ = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		}
	})
	if a.fd < 0 {
		return false
	}
	if !s.add(a) {
		unix.Close(a.fd)
		return false
	}
	conn.Close() // the connection itself stays open
	return true
}

// happened takes what the kernel says has.
func (s *socket) happened(what uint32, with *reception, buf []byte) {
	if what&writable != 0 {
		s.out.signal()
	}
	if what&^writable == 0 {
		return
	}
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.toTheLast = s.toTheLast || what&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if s.reader == nil {
		s.in.signal()
	} else {
		s.drain(with, buf, readsInTurn)
	}
}

// How often a connection that has more and more to read is read in a row.
const (
	readsInTurn = 4       // before others have their turn, and a wait for it can be given up
	readsAtLast = 1 << 10 // once it is given up
)

// drain has the reader read what is there. The kernel says once that something has arrived, so nothing may be left but what it is asked to tell of again.
func (s *socket) drain(with *reception, buf []byte, turn int) {
	s.with = with
	defer func() {
		s.with = nil
		if s.panicked = recover(); s.panicked != nil {
			s.readerEnded()
		}
	}()
	s.more = true
	for reads := 0; s.more && s.reader != nil; reads++ {
		if reads == turn && s.loop.watch(s, unix.EPOLL_CTL_MOD, arriving|writable) == nil { // a writer may wait too
			return
		}
		if s.reader.read(buf) {
			s.readerEnded()
		}
	}
}

func (s *socket) readerEnded() {
	s.reader = nil
	s.ended <- struct{}{}
}

// each has r read whenever there may be something to read, until that ends: from one goroutine at a time, mostly the loop's. It is false where
// that is not to be waited for any more; what has arrived by then is read, though the loop may be late.
func (s *socket) each(r reader) (ended bool) {
	s.start(r)
	select {
	case <-s.ended:
		ended = true
	case <-s.in.deadline.done():
	case <-s.cut:
	}
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.reader != nil {
		s.toTheLast = true
		s.drainHere(readsAtLast)
	}
	if s.reader = nil; s.more {
		s.in.signal()
	}
	select {
	case <-s.ended: // since
		ended = true
	default:
	}
	if s.panicked != nil {
		panic(s.panicked)
	}
	return ended
}

func (s *socket) start(r reader) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.reader = r
	select {
	case <-s.in.ready: // something arrived before
		s.drainHere(readsInTurn)
	default:
	}
}

func (s *socket) drainHere(turn int) {
	with := receptions.Get().(*reception)
	defer receptions.Put(with)
	s.drain(with, nil, turn)
}

// read reads to p. It says how long before now, the time at which it was read, that had arrived; 0 where that is not known. Where a
// reader calls it, it does not wait: it reads nothing where nothing is there.
func (s *socket) read(p []byte) (n int, now time.Time, age time.Duration, err error) {
	if s.with != nil {
		n, now, age, err = s.receive(s.with, p)
		if err == unix.EAGAIN {
			err = nil
		}
		return n, now, age, err
	}
	with := receptions.Get().(*reception)
	defer receptions.Put(with)
	for err = unix.EAGAIN; err == unix.EAGAIN; {
		if err := s.wait(&s.in); err != nil {
			return 0, now, 0, s.failed("read", err)
		}
		s.in.mu.Lock()
		n, now, age, err = s.receive(with, p)
		if s.more {
			s.in.signal()
		}
		s.in.mu.Unlock()
	}
	return n, now, age, err
}

// receive reads what is there. Its error is EAGAIN where nothing is.
func (s *socket) receive(with *reception, p []byte) (n int, now time.Time, age time.Duration, err error) {
	if s.closed {
		return 0, now, 0, s.failed("read", net.ErrClosed)
	}
	n, told, errno := with.receive(s.fd, p)
	s.more = n == len(p) || s.toTheLast && errno != unix.EAGAIN
	now = time.Now()
	switch {
	case errno == unix.EAGAIN:
		return 0, now, 0, errno
	case errno != 0:
		return 0, now, 0, s.failed("read", os.NewSyscallError("read", errno))
	case n == 0 && len(p) > 0:
		return 0, now, 0, io.EOF
	}
	return n, now, s.arrivals.age(s.fd, told, now), nil
}

func (s *socket) Read(p []byte) (int, error) {
	n, _, _, err := s.read(p)
	return n, err
}

func (s *socket) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if s.givenUp(&s.out) {
			return n, s.failed("write", os.ErrDeadlineExceeded)
		}
		taken, err := s.write(p[n:])
		if taken > 0 {
			n += taken
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			if err := s.waitToWrite(); err != nil {
				return n, s.failed("write", err)
			}
		case net.ErrClosed:
			return n, s.failed("write", err)
		default:
			return n, s.failed("write", os.NewSyscallError("write", err))
		}
	}
	return n, nil
}

func (s *socket) write(p []byte) (int, error) {
	p = p[:min(len(p), takenAtOnce)] // the processor is nobody else's meanwhile
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	n, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if err != 0 {
		return 0, err
	}
	return int(n), nil
}

// waitToWrite asks to be told when there is room, or that there is.
func (s *socket) waitToWrite() error {
	s.out.mu.Lock()
	err := net.ErrClosed
	if !s.closed {
		err = s.loop.watch(s, unix.EPOLL_CTL_MOD, arriving|writable)
	}
	s.out.mu.Unlock()
	if err != nil {
		return err
	}
	return s.wait(&s.out)
}

func (s *socket) failed(what string, err error) error {
	return &net.OpError{Op: what, Net: "tcp", Source: s.conn.local, Addr: s.conn.remote, Err: err}
}

// silent is whether nothing has arrived that is not read, and the other end is open.
func (s *socket) silent() bool {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.closed {
		return false
	}
	var peeked byte
	_, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&peeked)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return err == unix.EAGAIN
}

func (s *socket) Close() error {
	s.SetDeadline(time.Unix(1, 0)) // whoever waits has waited enough
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.closed {
		return s.failed("close", net.ErrClosed)
	}
	s.closed = true
	s.loop.remove(s)
	return unix.Close(s.fd)
}

func (s *socket) LocalAddr() net.Addr  { return s.conn.local }
func (s *socket) RemoteAddr() net.Addr { return s.conn.remote }

func (s *socket) SetDeadline(t time.Time) error {
	s.SetReadDeadline(t)
	return s.SetWriteDeadline(t)
}

func (s *socket) SetReadDeadline(t time.Time) error {
	s.in.deadline.set(t)
	return nil
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	s.out.deadline.set(t)
	return nil
}
