package client

import (
	"io"
	"net"
	"testing"
	"time"

	"sweetspot/runner/clock"
)

// pair is a TCP connection: what near reads, far writes.
func pair(t *testing.T, c clock.Clock) (near *wire, far net.Conn) {
	var l loops
	near, far = pairIn(t, &l, c)
	t.Cleanup(l.close)
	return near, far
}

// pairIn is one that is read by one of some loops.
func pairIn(t *testing.T, l *loops, c clock.Clock) (near *wire, far net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	near = &newLink(conn, l, c).wire
	if !near.adopted {
		t.Fatal("the connection was left to the runtime")
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

// What has arrived before it is read is stamped with its arrival, however late that is. The kernel may need some packets to begin.
func TestBytesAreStampedWhenTheyArrive(t *testing.T) {
	c := clock.New()
	near, far := pair(t, c)
	buf := make([]byte, 10)
	const tries = 10_000
	for range tries {
		before := c.Now()
		io.WriteString(far, "x") // over the loopback, it has arrived when this returns
		written := c.Now()
		n, err := near.Read(buf)
		at := clock.Instant(near.arrived.Load())
		if n != 1 || err != nil || at < before || at > c.Now() {
			t.Fatalf("read %d, %v, stamped %v after it was written", n, err, at.Sub(before))
		}
		if at <= written {
			return
		}
	}
	t.Errorf("none of %d bytes that were read late was stamped when it arrived", tries)
}

func TestAnArrivalThatCanNotBe(t *testing.T) {
	near, _ := pair(t, clock.New())
	a, fd := &near.socket.arrivals, near.socket.fd
	now := time.Now()
	told := now.UnixNano()
	for _, c := range []struct {
		name     string
		off      time.Duration
		believed bool
	}{
		{"some time ago", 2 * time.Second, true}, {"before the clock was set back", -time.Hour, false}, {"before it was set forward", time.Hour, false},
	} {
		if age := a.age(fd, told, now.Add(c.off)); (age > 0) != c.believed {
			t.Errorf("%s: %v", c.name, age)
		}
	}
	a.outOfOrder++ // as if a segment had been counted in between
	if age := a.age(fd, told, now.Add(2*time.Second)); age != 0 {
		t.Errorf("with segments out of order: %v, want 0", age)
	}
}

func TestTheEndsOfAConnection(t *testing.T) {
	near, far := pair(t, clock.New())
	near.SetReadDeadline(time.Unix(1, 0))
	if _, err := near.Read(make([]byte, 1)); err == nil || !err.(net.Error).Timeout() {
		t.Errorf("behind the deadline: %v", err)
	}
	near.SetReadDeadline(time.Time{})
	far.Close()
	if n, err := near.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	near, far = pair(t, clock.New())
	io.WriteString(near, "unread")
	far.(*net.TCPConn).SetLinger(0)
	far.Close()
	want := "read tcp " + near.LocalAddr().String() + "->" + near.RemoteAddr().String() + ": read: connection reset by peer"
	if n, err := near.Read(make([]byte, 1)); n != 0 || err == nil || err.Error() != want {
		t.Errorf("after a reset: %d, %v, want %s", n, err, want)
	}
	if near.arrived.Load() != 0 {
		t.Error("nothing arrived, and is stamped")
	}
}
