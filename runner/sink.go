package runner

import (
	"fmt"
	"sync"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// sink hands ended requests on from a goroutine of its own. Adding one never waits: the queue has no bound, and is of pointers to records that are
// kept anyway.
type sink struct {
	take  func(*measure.Record)
	clock clock.Clock
	fault func(reason string) // told when take panics

	mu     sync.Mutex
	queue  []*measure.Record
	wake   chan struct{} // holds one token when there is something in the queue
	closed bool
	done   chan struct{}
	lag    time.Duration // longest from a measured request's end to its having been taken
}

func newSink(take func(*measure.Record), c clock.Clock) *sink {
	s := &sink{take: take, clock: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if take == nil {
		close(s.done)
		return s
	}
	go s.hand()
	return s
}

// add queues a record, which is not changed any more.
func (s *sink) add(r *measure.Record) {
	if s.take == nil {
		return
	}
	s.mu.Lock()
	s.queue = append(s.queue, r)
	s.mu.Unlock()
	s.signal()
}

func (s *sink) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close waits until every record has been handed on.
func (s *sink) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
	<-s.done
}

func (s *sink) hand() {
	defer close(s.done)
	var batch []*measure.Record
	for range s.wake {
		s.mu.Lock()
		batch, s.queue = s.queue, batch[:0]
		closed := s.closed
		s.mu.Unlock()
		for i, r := range batch {
			s.handOne(r)
			batch[i] = nil
		}
		if closed {
			return
		}
	}
}

func (s *sink) handOne(r *measure.Record) {
	if s.take == nil {
		return // it has panicked
	}
	defer func() {
		if p := recover(); p != nil {
			s.take = nil
			s.fault(fmt.Sprintf("storing a request panicked: %v (%s)", p, panicPlace()))
		}
	}()
	s.take(r)
	if r.Phase == measure.Measured {
		s.lag = max(s.lag, s.clock.Now().Sub(r.Ended))
	}
}
