package bench

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"sweetspot/runner/clock"
)

// poller is one thread that drives all streams with epoll: what the kernel alone takes.
type poller struct {
	script
	load    Load
	clock   clock.Clock
	epoll   int
	streams []polled // by lane
	byFD    map[int32]*polled
	left    int64 // streams that have not ended
	buf     buffer
	request []byte
	seen    []Exchange
}

// polled is one stream of a poller.
type polled struct {
	fd    int
	lane  int64
	round int64
	count counter
	now   Exchange
}

// runEpoll drives a load from one thread.
func runEpoll(ctx context.Context, s script, l Load) ([]Exchange, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := &poller{script: s, load: l, clock: clock.New(), left: l.Streams, byFD: map[int32]*polled{}, streams: make([]polled, l.Streams)}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	defer p.close()
	start, started := time.Now(), int64(0)
	events := make([]unix.EpollEvent, 1024)
	for p.left > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for started < l.Streams && time.Since(start) >= l.delay(started) {
			if err := p.start(started); err != nil {
				return nil, err
			}
			started++
		}
		n, err := unix.EpollWait(p.epoll, events, p.wait(start, started))
		if err != nil && err != unix.EINTR {
			return nil, fmt.Errorf("waiting for sockets: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if err := p.read(p.byFD[event.Fd]); err != nil {
				return nil, err
			}
		}
	}
	return p.seen, nil
}

// wait is how long to wait for sockets, in milliseconds: until the next stream starts, and no longer than a cancellation may take.
func (p *poller) wait(start time.Time, started int64) int {
	const most = 100
	if started == p.load.Streams {
		return most
	}
	return int(min(most, max(0, time.Until(start.Add(p.load.delay(started))).Milliseconds())))
}

// start connects a stream, which blocks for the moment that it takes on one machine, and sends its first request.
func (p *poller) start(lane int64) error {
	address, err := netip.ParseAddrPort(p.address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("making a socket: %w", err)
	}
	s := &p.streams[lane]
	s.fd, s.lane = fd, lane
	p.byFD[int32(fd)] = s
	dispatched := p.clock.Now()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("setting a socket up: %w", err)
	}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return p.send(s, dispatched)
}

// send sends a stream's next request, whose latency begins at an instant.
func (p *poller) send(s *polled, dispatched clock.Instant) error {
	s.count = counter{}
	ready := s.now.Ended // of the request before, if there was one
	s.now = Exchange{ID: fmt.Sprintf("%s-%d-%d", requestID, s.lane, s.round), Lane: s.lane, Spread: s.round == 0 && p.load.Spread > 0, Ready: ready}
	p.request = p.script.append(p.request[:0], s.now.ID)
	s.now.Dispatched = dispatched
	if n, err := unix.Write(s.fd, p.request); err != nil || n < len(p.request) {
		return fmt.Errorf("writing a request: %d of %d bytes: %w", n, len(p.request), err)
	}
	return nil
}

// read takes what is there of a stream, and sends its next request at the end of a response.
func (p *poller) read(s *polled) error {
	n, err := unix.Read(s.fd, p.buf.room())
	if err != nil || n == 0 {
		return fmt.Errorf("reading: %d bytes: %w", n, err)
	}
	ended := s.count.add(&p.buf, n)
	s.now.stamp(p.clock, &s.count, ended)
	if !ended {
		return nil
	}
	p.seen = append(p.seen, s.now)
	s.round++
	if s.round < p.load.rounds() {
		return p.send(s, p.clock.Now())
	}
	p.left--
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, s.fd, nil)
}

func (p *poller) close() {
	for fd := range p.byFD {
		_ = unix.Close(int(fd))
	}
	_ = unix.Close(p.epoll)
}
