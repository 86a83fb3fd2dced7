package client

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	loopBuffer = 64 << 10
	loopBatch  = 256 // connections that are looked at between two questions to the kernel
)

// loops wait for connections and read them. A goroutine of its own for each would be woken for every event, with its stack and its buffer out of the
// processor's caches where there are thousands, and would ask the kernel twice: for the event, and whether there is more.
type loops struct {
	mu     sync.Mutex
	all    []*loop
	closed bool
}

// add gives a socket a loop. It is false where that can't be done.
func (s *loops) add(a *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	for len(s.all) < nLoops() {
		l, err := newLoop()
		if err != nil {
			return false
		}
		s.all = append(s.all, l)
		go l.run()
	}
	return s.all[a.fd%len(s.all)].add(a)
}

// nLoops leaves processors to the requests' own goroutines.
func nLoops() int { return min(max(1, runtime.GOMAXPROCS(0)/2), 8) }

// close ends the loops once their connections are closed.
func (s *loops) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.all {
		l.close()
	}
	s.all = nil
}

// loop is a goroutine that reads what has arrived on many connections.
//
// None of the kernel's calls that it makes can wait, nor those with which a request's goroutine reads and writes, so the runtime is told of none ([unix.RawSyscall]):
// where there are few events, it would for each wake its thread that watches over such calls, which took a quarter of all CPU.
type loop struct {
	epoll     *os.File // can be read when one of the connections has something new, and so is waited for by the runtime
	raw       syscall.RawConn
	fd        int
	events    [loopBatch]unix.EpollEvent
	told      [loopBatch]*socket // of each event; nil where it has been closed since
	reception *reception
	buf       [loopBuffer]byte

	mu      sync.Mutex
	sockets []*socket // by descriptor
	count   int
	closing bool
}

func newLoop() (*loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // else the runtime would not wait for it
		unix.Close(fd)
		return nil, err
	}
	l := &loop{fd: fd, epoll: os.NewFile(uintptr(fd), "epoll"), reception: newReception()}
	if l.raw, err = l.epoll.SyscallConn(); err != nil {
		l.epoll.Close()
		return nil, err
	}
	return l, nil
}

func (l *loop) add(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.loop = l
	for len(l.sockets) <= s.fd {
		l.sockets = append(l.sockets, nil)
	}
	if l.watch(s, unix.EPOLL_CTL_ADD, arriving) != nil {
		return false
	}
	l.sockets[s.fd] = s
	l.count++
	return true
}

// What a loop is told of a socket: once where it is new, and at once where it is so when it is asked for.
const (
	arriving = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	writable = unix.EPOLLOUT
)

func (l *loop) watch(s *socket, how int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.fd, how, s.fd, &unix.EpollEvent{Events: events, Fd: int32(s.fd)}))
}

// remove is for a socket that will be closed next.
func (l *loop) remove(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sockets[s.fd] = nil
	l.count--
	l.closeUnused()
}

func (l *loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.closeUnused()
}

// closeUnused ends the loop, which closes what is its own.
func (l *loop) closeUnused() {
	if l.closing && l.count == 0 {
		l.epoll.SetReadDeadline(time.Unix(1, 0))
	}
}

// run reads what arrives until the loop has no more connections and is to have none.
//
// To the runtime all of it is one read, at whose start it forgets what it was told before. So the kernel need not be asked until it says that there is nothing more:
// of what comes behind a question the runtime is told, and the wait that follows ends at once.
func (l *loop) run() {
	defer l.epoll.Close()
	l.raw.Read(func(uintptr) bool {
		for l.turn() == loopBatch { // there may be more, of which the runtime is not told again
			runtime.Gosched() // a wait, in which others have their turn, may be far off
		}
		return false
	})
}

// turn takes what has happened since the last, up to a batch of it. It returns how many connections something has happened to.
func (l *loop) turn() int {
	n := l.ask()
	for i, s := range l.told[:n] {
		if s != nil {
			s.happened(l.events[i].Events, l.reception, l.buf[:])
		}
	}
	clear(l.told[:n])
	return n
}

func (l *loop) ask() int {
	n, err := uintptr(0), unix.EINTR
	for err == unix.EINTR {
		n, _, err = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.fd), uintptr(unsafe.Pointer(&l.events)), loopBatch, 0, 0, 0)
	}
	if err != 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.events[:n] {
		l.told[i] = l.sockets[e.Fd]
	}
	return int(n)
}
