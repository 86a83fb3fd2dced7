package client

import (
	"os"
	"runtime"
	"sync"
	"syscall"

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
type loop struct {
	epoll     *os.File // can be read when one of the connections has something new, and so is waited for by the runtime
	raw       syscall.RawConn
	fd        int
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
	go l.run()
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

func (l *loop) closeUnused() {
	if l.closing && l.count == 0 {
		l.epoll.Close()
	}
}

func (l *loop) run() {
	var events [loopBatch]unix.EpollEvent
	var sockets [loopBatch]*socket
	for {
		n := 0
		err := l.raw.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events[:], 0)
			return n > 0
		})
		if err != nil {
			return // closed
		}
		l.mu.Lock()
		for i, e := range events[:n] {
			sockets[i] = l.sockets[e.Fd]
		}
		l.mu.Unlock()
		for i, s := range sockets[:n] {
			if s != nil { // else it has been closed
				s.happened(events[i].Events, l.reception, l.buf[:])
			}
		}
		clear(sockets[:n])
	}
}
