package client

import (
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"sweetspot/runner/clock"
)

// stillLoop is one that is not running, and loops that have no other.
func stillLoop(t *testing.T) (*loop, *loops) {
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l, &loops{all: slices.Repeat([]*loop{l}, nLoops())}
}

func TestALoopEndsWithItsLastConnection(t *testing.T) {
	l, all := stillLoop(t)
	near, far := pairIn(t, all, clock.New())
	ended := make(chan struct{})
	go func() {
		l.run()
		close(ended)
	}()
	l.close()
	io.WriteString(far, "x")
	if n, err := near.Read(make([]byte, 1)); n != 1 || err != nil { // the loop is still there
		t.Errorf("%d, %v", n, err)
	}
	near.Close()
	<-ended
	if err := l.epoll.Close(); err == nil {
		t.Error("its descriptor is still open")
	}
}

// acking is a reader that tells of each byte, and takes its time.
type acking struct {
	from io.Reader
	got  chan struct{}
}

func (a *acking) read([]byte) bool {
	n, err := a.from.Read(make([]byte, 1))
	if n > 0 {
		a.got <- struct{}{}
		for range 100 {
			runtime.Gosched() // so that the next byte comes meanwhile, and the runtime hears of it
		}
	}
	return err != nil
}

// What comes while a loop reads, or as it begins to wait, is not lost: nothing else would come.
func TestALoopMissesNothing(t *testing.T) {
	var all loops
	t.Cleanup(all.close)
	var streams sync.WaitGroup
	for range 20 {
		near, far := pairIn(t, &all, clock.New())
		a := &acking{near, make(chan struct{}, 1)}
		go near.socket.each(a)
		streams.Go(func() {
			for range 500 {
				io.WriteString(far, "x")
				<-a.got
			}
			far.Close()
		})
	}
	streams.Wait()
}

// counting is a reader that reads all there is, and is counted once it has read.
type counting struct {
	from io.Reader
	n    *atomic.Int64
}

func (c *counting) read(buf []byte) bool {
	c.from.Read(buf)
	c.n.Add(1)
	return true
}

// More connections than a loop looks at in one turn are all read, and others run between two turns.
func TestALoopWithMoreThanOneTurnHolds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, all := stillLoop(t)
	var read atomic.Int64
	var readers sync.WaitGroup
	const n = loopBatch + 20
	for range n {
		near, far := pairIn(t, all, clock.New())
		io.WriteString(far, "x")
		readers.Go(func() { near.socket.each(&counting{near, &read}) })
	}
	other, last := pairIn(t, all, clock.New())
	go io.WriteString(other, "x")
	last.Read(make([]byte, 1)) // the readers wait by then, and the runtime has heard that there is something for the loop
	go l.run()
	runtime.Gosched()
	if got := read.Load(); got > loopBatch {
		t.Errorf("%d connections were read before another goroutine ran", got)
	}
	readers.Wait()
	if got := read.Load(); got != n {
		t.Errorf("%d of %d connections were read", got, n)
	}
}
