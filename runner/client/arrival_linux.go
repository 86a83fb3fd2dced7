package client

import (
	"encoding/binary"
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

// arrivals tells when what is read of a TCP connection had arrived, so that a client that is late does not make the service look slow.
// Where a read takes several segments, it is the last one's arrival.
//
// The kernel says it by the wall clock. It is compared with that clock at once, and only the difference is used.
type arrivals struct {
	outOfOrder uint32 // segments that came so, when it was asked last
}

// age is how long before now that had arrived of which the kernel told the time, in nanoseconds since 1970; 0 where it is not known.
func (a *arrivals) age(fd int, told int64, now time.Time) time.Duration {
	age := time.Duration(now.UnixNano() - told)
	if age < 0 || age > maxAge || age > suspectAge && a.disordered(fd) {
		return 0
	}
	return age
}

// disordered reports whether segments came out of order since it was called last; true where the kernel does not say.
func (a *arrivals) disordered(fd int) bool {
	before := a.outOfOrder
	var info unix.TCPInfo // [unix.GetsockoptTCPInfo] would allocate it, for each event of a client that is late as it is
	size := uint32(unsafe.Sizeof(info))
	_, _, err := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_INFO, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if err != 0 {
		return true
	}
	a.outOfOrder = info.Rcv_ooopack
	return a.outOfOrder != before
}

// reception is what one call of recvmsg needs. A few serve all connections, so that they stay in the processor's caches; [unix.Recvmsg] would allocate 128 bytes at
// each call.
type reception struct {
	message unix.Msghdr
	into    unix.Iovec
	control [64]byte // what the kernel tells beside the data
}

var receptions = sync.Pool{New: func() any { return newReception() }}

func newReception() *reception {
	r := new(reception)
	r.message.Iov, r.message.Control = &r.into, &r.control[0]
	r.message.SetIovlen(1)
	return r
}

// receive reads what is there to p, and says when it arrived: nanoseconds since 1970, 0 where the kernel does not say. It does not wait.
func (r *reception) receive(fd int, p []byte) (n int, arrived int64, err syscall.Errno) {
	r.into.Base = unsafe.SliceData(p)
	r.into.SetLen(len(p))
	defer func() { r.into.Base = nil }()
	for {
		r.message.SetControllen(len(r.control))
		n, _, err := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.message)), 0)
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
