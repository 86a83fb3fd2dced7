package results

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

const (
	streamEnding = ".arrows"
	// flushEvery is how much of a measurement a kill can cost.
	flushEvery = time.Second
	// flushAt starts a flush before its time. Where they come faster than they can be written, maxWaiting bounds the memory they take.
	flushAt, maxWaiting = 1024, 65536
)

// Stream keeps the ended requests of a measurement that is still running in an append-only file, so that they survive a kill of the process. It
// is written by a goroutine of its own; whoever adds to it never waits for the disk.
type Stream struct {
	layout layout
	keys   measure.Keys
	now    func() clock.Instant
	file   *os.File
	buffer *bufio.Writer
	out    *ipc.Writer
	rows   []measure.RequestRow // of the batch being written

	wake   chan struct{}
	stop   chan struct{}
	exited chan error

	mu      sync.Mutex
	waiting []measure.Record
	dropped int64
	lag     time.Duration
}

// Stream starts the stream of the measurement that keys name. It must be closed before the measurement is written.
func (w *Writer) Stream(keys measure.Keys, now func() clock.Instant) (*Stream, error) {
	l, err := layoutOf[measure.RequestRow](Requests, w.ID())
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(w.path(MeasurementOf(keys).file(partial, streamEnding)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, fmt.Errorf("starting the stream of ended requests: %w", err)
	}
	s := &Stream{layout: l, keys: keys, now: now, file: file, buffer: bufio.NewWriterSize(file, 1<<20),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), exited: make(chan error, 1)}
	s.out = ipc.NewWriter(s.buffer, ipc.WithSchema(l.schema))
	go func() { s.exited <- s.run() }()
	return s, nil
}

// Add hands over a request that has ended; the record must not change any more. It may be called from several goroutines.
func (s *Stream) Add(record measure.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		s.dropped++
		return
	}
	s.waiting = append(s.waiting, record)
	if len(s.waiting) == flushAt {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Close writes what is waiting and ends the stream. Its error is the first of all writes: what was added after that is not in the file.
func (s *Stream) Close() error {
	close(s.stop)
	err := errors.Join(<-s.exited, s.file.Close())
	if err != nil {
		return fmt.Errorf("keeping ended requests in %s: %w", s.file.Name(), err)
	}
	return nil
}

// Lag is the longest time from a request's end to its being handed to the file.
func (s *Stream) Lag() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lag
}

// Dropped is the number of requests that are not in the stream because they came faster than they could be written.
func (s *Stream) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// run flushes at every tick and whenever enough is waiting. After an error it goes on taking what waits, so that memory stays bounded.
func (s *Stream) run() error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var first error
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-s.wake:
		case <-s.stop:
			ended = true
		}
		first = s.flush(first)
	}
	if first != nil {
		return first
	}
	return errors.Join(s.out.Close(), s.buffer.Flush())
}

func (s *Stream) flush(before error) error {
	s.mu.Lock()
	batch := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if before != nil || len(batch) == 0 {
		return before
	}
	if err := s.write(batch); err != nil {
		return err
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range batch {
		s.lag = max(s.lag, now.Sub(batch[i].Ended))
	}
	return nil
}

// write appends a batch: after it, the file is readable up to here.
func (s *Stream) write(batch []measure.Record) error {
	s.rows = s.rows[:0]
	for row := range requestRows(s.keys, batch) {
		s.rows = append(s.rows, row)
	}
	record := encode(s.layout, s.rows)
	defer record.Release()
	if err := s.out.Write(record); err != nil {
		return err
	}
	return s.buffer.Flush()
}
