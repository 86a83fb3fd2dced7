package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// script is what the floor's tools write: one body for all requests.
type script struct {
	address string // HOST:PORT
	body    []byte
}

func newScript(address string, l Load) (script, error) {
	source, err := workload.New(l.spec(), workload.Seed{Load: 1}, workload.Calibration{})
	if err != nil {
		return script{}, err
	}
	session, err := source.Session(measure.Measured, 0)
	if err != nil {
		return script{}, err
	}
	request, err := session.Turns[0].Build(nil)
	if err != nil {
		return script{}, err
	}
	return script{address, request.Body}, nil
}

func (s script) append(b []byte, id string) []byte {
	return fmt.Appendf(b, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		s.address, id, len(s.body), s.body)
}

// counter counts the events of one response, whatever the reads that they come in.
type counter struct {
	events int
	tail   [4]byte // the newest bytes, which may begin an event or be part of the end
	kept   int
}

// The frame of a response: an event begins with data:, and the last chunk is empty.
var (
	eventStart  = []byte("data:")
	responseEnd = []byte("0\r\n\r\n")
)

// buffer is a read buffer with room before what is read for the bytes that a counter keeps.
type buffer [len(counter{}.tail) + 16<<10]byte

func (b *buffer) room() []byte { return b[len(counter{}.tail):] }

// add counts what was read to the buffer's room, and is true where the response ended with it.
func (c *counter) add(b *buffer, n int) (ended bool) {
	from := len(c.tail) - c.kept
	copy(b[from:], c.tail[:c.kept])
	seen := b[from : len(c.tail)+n]
	c.events += bytes.Count(seen, eventStart)
	c.kept = copy(c.tail[:], seen[max(0, len(seen)-len(c.tail)):])
	return bytes.HasSuffix(seen, responseEnd)
}

// The events of an answer that carry no token: the role before them; usage and [DONE] behind.
const (
	eventsBefore = 1
	eventsAfter  = 2
)

// tokens is how many tokens an answer of so many events has.
func tokens(events int) int64 { return int64(events - eventsBefore - eventsAfter) }

// runReader is the floor: a goroutine for each socket that writes, reads and counts.
func runReader(ctx context.Context, s script, l Load) ([]Exchange, error) {
	c := clock.New()
	seen, errs := make([][]Exchange, l.Streams), make([]error, l.Streams)
	start := time.Now()
	var streams sync.WaitGroup
	for lane := range l.Streams {
		streams.Go(func() {
			time.Sleep(time.Until(start.Add(l.delay(lane))))
			seen[lane], errs[lane] = s.stream(ctx, c, l, lane)
		})
	}
	streams.Wait()
	return gather(seen, errs)
}

// delay is when a stream starts, after the first.
func (l Load) delay(lane int64) time.Duration {
	return l.Spread * time.Duration(lane) / time.Duration(l.Streams)
}

// rounds is how many requests a stream of the floor makes: one more where the streams start one after the other, and that one does not count.
func (l Load) rounds() int64 {
	if l.Spread > 0 {
		return l.Requests + 1
	}
	return l.Requests
}

func gather(seen [][]Exchange, errs []error) ([]Exchange, error) {
	var all []Exchange
	for lane, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("stream %d: %w", lane, err)
		}
		all = append(all, seen[lane]...)
	}
	return all, nil
}

func (s script) stream(ctx context.Context, c clock.Clock, l Load, lane int64) ([]Exchange, error) {
	dispatched := c.Now() // of the first request: what a latency begins with, the connecting included, as the engine's
	ready := dispatched
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var buf buffer
	var request []byte
	seen := make([]Exchange, 0, l.rounds())
	for round := range l.rounds() {
		e := Exchange{ID: fmt.Sprintf("%s-%d-%d", requestID, lane, round), Lane: lane, Spread: round == 0 && l.Spread > 0, Ready: ready}
		request = s.append(request[:0], e.ID)
		if round > 0 {
			dispatched = c.Now()
		}
		e.Dispatched = dispatched
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		if err := s.read(conn, c, &buf, &e); err != nil {
			return nil, err
		}
		seen, ready = append(seen, e), e.Ended
	}
	return seen, nil
}

func (s script) read(conn io.Reader, c clock.Clock, buf *buffer, e *Exchange) error {
	var count counter
	for {
		n, err := conn.Read(buf.room())
		if err != nil {
			return err
		}
		ended := count.add(buf, n)
		e.stamp(c, &count, ended)
		if ended {
			return nil
		}
	}
}

// stamp takes the instants of the floor: that of the first token, and the end.
func (e *Exchange) stamp(c clock.Clock, count *counter, ended bool) {
	if !e.FirstToken.Happened() && count.events > eventsBefore {
		e.FirstToken = c.Now()
	}
	if ended {
		e.Ended, e.Tokens = c.Now(), tokens(count.events)
	}
}
