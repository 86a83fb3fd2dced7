package simulator

import (
	"net/http"

	"sweetspot/runner/clock"
)

// eventWriter writes events, each with one write and one flush, and keeps when.
type eventWriter struct {
	clock  clock.Clock
	to     http.ResponseWriter
	flush  func() error
	events []LogEvent
	split  *splitter // nil: events are written whole
}

// write writes one event. It is stamped just before, so that no reader can have seen it earlier. An event that could not be written is not kept.
func (w *eventWriter) write(kind string, tokens int, data []byte) error {
	if w.split != nil {
		return w.split.write(w, LogEvent{Kind: kind, Tokens: tokens}, data)
	}
	w.events = append(w.events, LogEvent{At: w.clock.Now(), Kind: kind, Tokens: tokens})
	err := w.send(data)
	if err != nil {
		w.events = w.events[:len(w.events)-1]
	}
	return err
}

func (w *eventWriter) send(data []byte) error {
	if _, err := w.to.Write(data); err != nil {
		return err
	}
	return w.flush()
}

// close writes what is held back.
func (w *eventWriter) close() error {
	if w.split == nil {
		return nil
	}
	return w.split.drain(w)
}

// splitter writes a stream in pieces that begin and end at any byte: pieces of one event, and pieces that hold the end of one and the start of
// the next.
type splitter struct {
	seed    uint64
	drawn   uint64
	pending []byte
	ends    []int // where the events that are not written whole end in pending
	held    []LogEvent
}

// mostPieces bounds the pieces that an event is cut into.
const mostPieces = 4

// below draws a number from 0 to n-1.
func (s *splitter) below(n int) int {
	s.drawn++
	return int(mix(s.seed+s.drawn) % uint64(n))
}

// write takes an event and writes some of what is pending: nothing, a part, or all.
func (s *splitter) write(w *eventWriter, event LogEvent, data []byte) error {
	s.pending = append(s.pending, data...)
	s.ends = append(s.ends, len(s.pending))
	s.held = append(s.held, event)
	for range s.below(mostPieces + 1) {
		if len(s.pending) == 0 {
			return nil
		}
		if err := s.piece(w, 1+s.below(len(s.pending))); err != nil {
			return err
		}
	}
	return nil
}

// piece writes the first n bytes that are pending, and keeps the events that end with them.
func (s *splitter) piece(w *eventWriter, n int) error {
	now := w.clock.Now()
	if err := w.send(s.pending[:n]); err != nil {
		return err
	}
	s.pending = s.pending[n:]
	whole := 0
	for i := range s.ends {
		if s.ends[i] -= n; s.ends[i] <= 0 {
			s.held[i].At = now
			whole++
		}
	}
	w.events = append(w.events, s.held[:whole]...)
	s.ends, s.held = s.ends[whole:], s.held[whole:]
	return nil
}

func (s *splitter) drain(w *eventWriter) error {
	if len(s.pending) == 0 {
		return nil
	}
	return s.piece(w, len(s.pending))
}
