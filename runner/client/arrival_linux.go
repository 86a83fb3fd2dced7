package client

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxAge is what is believed of the time since something arrived.
	maxAge = 10 * time.Second

	// suspectAge is from where on it is asked whether segments came out of order. One that came before its turn keeps the instant of its coming, though
	// what it follows was sent again and came a round trip later.
	suspectAge = 10 * time.Millisecond
)

// arrivals reads a TCP connection and asks the kernel when what is read arrived, so that a client that is late does not make the service look slow.
// Where a read takes several segments, it is the last one's arrival.
//
// The kernel says it by the wall clock. It is compared with that clock at once, and only the difference is used.
type arrivals struct {
	conn *net.TCPConn
	raw  syscall.RawConn

	// Of the read that goes on, and what came of it.
	into    []byte
	receive func(fd uintptr) (done bool)
	n       int
	err     syscall.Errno
	told    int64 // nanoseconds since 1970, 0 where the kernel does not say

	outOfOrder uint32 // segments that came so, when it was asked last
}

// newArrivals is nil where the kernel does not say when something arrived.
func newArrivals(conn net.Conn) *arrivals {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var refused error
	err = raw.Control(func(fd uintptr) { refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err != nil || refused != nil {
		return nil
	}
	a := &arrivals{conn: tcp, raw: raw}
	a.receive = a.tryReceive
	return a
}

// read reads to p. It says how long before now, the time at which it was read, that had arrived; 0 where that is not known.
func (a *arrivals) read(p []byte) (n int, now time.Time, age time.Duration, err error) {
	a.into = p
	err = a.raw.Read(a.receive)
	a.into = nil
	now = time.Now()
	switch {
	case err != nil:
		return 0, now, 0, err
	case a.err != 0:
		return 0, now, 0, &net.OpError{Op: "read", Net: "tcp", Source: a.conn.LocalAddr(), Addr: a.conn.RemoteAddr(), Err: os.NewSyscallError("read", a.err)}
	case a.n == 0 && len(p) > 0:
		return 0, now, 0, io.EOF
	}
	return a.n, now, a.age(now), nil
}

// tryReceive is false where nothing has arrived yet.
func (a *arrivals) tryReceive(fd uintptr) bool {
	r := receptions.Get().(*reception)
	a.n, a.told, a.err = r.receive(fd, a.into)
	receptions.Put(r)
	return a.err != unix.EAGAIN
}

func (a *arrivals) age(now time.Time) time.Duration {
	age := time.Duration(now.UnixNano() - a.told)
	if age < 0 || age > maxAge || age > suspectAge && a.disordered() {
		return 0
	}
	return age
}

// disordered reports whether segments came out of order since it was called last; true where the kernel does not say.
func (a *arrivals) disordered() bool {
	before, known := a.outOfOrder, false
	err := a.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO); err == nil {
			a.outOfOrder, known = info.Rcv_ooopack, true
		}
	})
	return err != nil || !known || a.outOfOrder != before
}

// reception is what one call of recvmsg needs. A few serve all connections, so that they stay in the processor's caches; [unix.Recvmsg] would allocate 128 bytes at
// each call.
type reception struct {
	message unix.Msghdr
	into    unix.Iovec
	control [64]byte // what the kernel tells beside the data
}

var receptions = sync.Pool{New: func() any {
	r := new(reception)
	r.message.Iov, r.message.Control = &r.into, &r.control[0]
	r.message.SetIovlen(1)
	return r
}}

func (r *reception) receive(fd uintptr, p []byte) (n int, arrived int64, err syscall.Errno) {
	r.into.Base = unsafe.SliceData(p)
	r.into.SetLen(len(p))
	defer func() { r.into.Base = nil }()
	for {
		r.message.SetControllen(len(r.control))
		n, _, err := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), 0)
		switch err {
		case 0:
			return int(n), r.arrived(), 0
		case unix.EINTR:
		default:
			return 0, 0, err
		}
	}
}

func (r *reception) arrived() int64 {
	if r.message.Controllen == 0 {
		return 0
	}
	header, data, _, err := unix.ParseOneSocketControlMessage(r.control[:r.message.Controllen])
	if err != nil || header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS || len(data) < 16 {
		return 0
	}
	seconds, nanoseconds := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	return int64(seconds)*int64(time.Second) + int64(nanoseconds)
}
