package client

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sweetspot/runner/clock"
)

// gathering is a reader that keeps what it reads, up to the end.
type gathering struct {
	from   io.Reader
	got    bytes.Buffer
	err    error
	before func() // called before each read
}

func (g *gathering) read(buf []byte) bool {
	if g.before != nil {
		g.before()
	}
	if buf == nil {
		buf = make([]byte, 100)
	}
	n, err := g.from.Read(buf)
	g.got.Write(buf[:n])
	g.err = err
	return err != nil
}

// However much arrives, and however it is cut up, a loop reads all of it, up to the end or the reset behind it.
func TestALoopReadsAll(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		near, far := pair(t, clock.New())
		sent := make([]byte, random.IntN(4*loopBuffer))
		for i := range sent {
			sent[i] = byte(i * i >> 8)
		}
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(loopBuffer))
				far.Write(rest[:n])
				rest = rest[n:]
			}
			far.Close()
		}()
		var before []byte
		if len(sent) > 10 && seed%2 == 0 { // as the head of a response, by another goroutine
			before = make([]byte, 10)
			if _, err := io.ReadFull(near, before); err != nil {
				t.Fatal(err)
			}
		}
		g := gathering{from: near}
		if !near.socket.each(&g) || g.err != io.EOF || !bytes.Equal(append(before, g.got.Bytes()...), sent) {
			t.Fatalf("seed %d: %d of %d bytes, or others; %v", seed, len(before)+g.got.Len(), len(sent), g.err)
		}
	}
}

func TestAResetIsSeenByALoop(t *testing.T) {
	near, far := pair(t, clock.New())
	g := gathering{from: near}
	g.before = func() { g.before = nil; io.WriteString(near, "unread"); far.(*net.TCPConn).SetLinger(0); far.Close() }
	io.WriteString(far, "x")
	if !near.socket.each(&g) || g.err == nil || !strings.HasSuffix(g.err.Error(), "read: connection reset by peer") || g.got.String() != "x" {
		t.Errorf("%q, %v", g.got.String(), g.err)
	}
}

// A wait ends when it is given up, and what comes next sees what has arrived meanwhile.
func TestAWaitThatIsGivenUp(t *testing.T) {
	for name, giveUp := range map[string]func(*wire, chan struct{}){
		"by a deadline":    func(w *wire, _ chan struct{}) { w.SetReadDeadline(time.Unix(1, 0)) },
		"with the request": func(_ *wire, cut chan struct{}) { close(cut) },
	} {
		near, far := pair(t, clock.New())
		cut := make(chan struct{})
		near.socket.cut = cut
		seen := make(chan struct{})
		g := gathering{from: near, before: sync.OnceFunc(func() { close(seen) })}
		io.WriteString(far, "x")
		go func() { <-seen; giveUp(near, cut) }()
		if near.socket.each(&g) || g.got.String() != "x" {
			t.Errorf("%s: ended, with %q", name, g.got.String())
		}
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the next read: %v", name, err)
		}
		near.SetDeadline(time.Time{})
		near.socket.cut = nil
		io.WriteString(far, "y")
		buf := make([]byte, 10)
		if n, err := near.Read(buf); string(buf[:n]) != "y" || err != nil {
			t.Errorf("%s: then %q, %v", name, buf[:n], err)
		}
	}
}

func TestAPanicOfAReader(t *testing.T) {
	near, far := pair(t, clock.New())
	io.WriteString(far, "x")
	defer func() {
		if p := recover(); p != "by the reader" {
			t.Errorf("panicked with %v", p)
		}
		far.Close()
		if g := (gathering{from: near}); !near.socket.each(&g) || g.got.String() != "x" || g.err != io.EOF { // the loop is still there
			t.Errorf("afterwards: %q, %v", g.got.String(), g.err)
		}
	}()
	near.socket.each(&gathering{from: near, before: func() { panic("by the reader") }})
}

// A request that is longer than what the kernels take is written as the service reads it.
func TestALongWrite(t *testing.T) {
	near, far := pair(t, clock.New())
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(far)
		got <- all
	}()
	if n, err := near.Write(sent); n != len(sent) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(sent), err)
	}
	near.Close()
	if !bytes.Equal(<-got, sent) {
		t.Error("other bytes have arrived")
	}
}

func TestAWriteThatNobodyReads(t *testing.T) {
	near, _ := pair(t, clock.New())
	sent := make([]byte, 16<<20)
	failed := make(chan error)
	go func() {
		_, err := near.Write(sent)
		failed <- err
	}()
	near.SetWriteDeadline(time.Unix(1, 0))
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind the deadline: %v", err)
	}
	near.SetWriteDeadline(time.Time{})
	go func() {
		_, err := near.Write(sent)
		failed <- err
	}()
	near.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("of a closed connection: %v", err)
	}
	if _, err := near.Write(sent); err == nil {
		t.Error("a closed connection was written to")
	}
	if near.Close() == nil {
		t.Error("it was closed twice")
	}
}

// What a reader leaves is there for the next, though the kernel has told of it already.
func TestWhatAReaderLeaves(t *testing.T) {
	near, far := pair(t, clock.New())
	io.WriteString(far, strings.Repeat("x", 150)) // read in pieces of 100 bytes, or by the loop at once
	first := &once{gathering{from: near}}
	if !near.socket.each(first) {
		t.Fatal("not ended")
	}
	rest := make([]byte, 150-first.got.Len())
	_, err := io.ReadFull(near, rest)
	if got := first.got.String() + string(rest); got != strings.Repeat("x", 150) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// once reads a little, once.
type once struct{ gathering }

func (o *once) read([]byte) bool { o.gathering.read(nil); return true }

func TestAReadThatWaitsIsGivenUp(t *testing.T) {
	near, _ := pair(t, clock.New())
	cut := make(chan struct{})
	near.socket.cut = cut
	failed := make(chan error)
	go func() {
		_, err := near.Read(make([]byte, 1))
		failed <- err
	}()
	time.AfterFunc(10*time.Millisecond, func() { close(cut) }) // it waits by then, most likely
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// A loop that is late does not make a service late: what arrived before the deadline is read behind it.
func TestWhatArrivedInTimeIsRead(t *testing.T) {
	for range 20 { // the loop may be in time
		near, far := pair(t, clock.New())
		late := &behind{gathering{from: near}, func() {
			io.WriteString(far, "y")
			far.Close()
			near.SetReadDeadline(time.Unix(1, 0))
		}}
		io.WriteString(far, "x")
		if !near.socket.each(late) || late.got.String() != "xy" || late.err != io.EOF {
			t.Fatalf("%q, %v", late.got.String(), late.err)
		}
	}
}

// behind is a reader behind whose first read something happens.
type behind struct {
	gathering
	first func()
}

func (b *behind) read(buf []byte) bool {
	ended := b.gathering.read(buf)
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return ended
}

// A service that sends without end does not keep a wait from being given up, nor others from being read.
func TestAConnectionThatIsNeverSilent(t *testing.T) {
	near, far := pair(t, clock.New())
	go func() {
		for full := make([]byte, 1<<20); ; {
			if _, err := far.Write(full); err != nil {
				return
			}
		}
	}()
	quiet, other := pairIn(t, &loops{all: slices.Repeat([]*loop{near.socket.loop}, nLoops())}, clock.New())
	reading := make(chan struct{}, 1)
	gaveUp := make(chan bool)
	go func() { gaveUp <- !near.socket.each(&unsated{near, reading}) }()
	<-reading
	<-reading
	io.WriteString(other, "x")
	if n, err := quiet.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the other: %d, %v", n, err)
	}
	near.SetReadDeadline(time.Unix(1, 0))
	if !<-gaveUp {
		t.Error("the reader has ended")
	}
}

// unsated reads little at once, and so always leaves some.
type unsated struct {
	from    io.Reader
	reading chan struct{}
}

func (u *unsated) read([]byte) bool {
	select {
	case u.reading <- struct{}{}:
	default:
	}
	_, err := u.from.Read(make([]byte, 1))
	return err != nil
}
