package runner

import (
	"math"
	"sync"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// Live shows how a point stands while it runs. Its zero value is ready, it can be read at any time by anyone, and used for one point after
// another; each begins it anew.
//
// Its means and peaks are those of the results: from the first measured dispatch to the last measured end.
type Live struct {
	mu                           sync.Mutex
	clock                        clock.Clock
	seen                         Snapshot // all but the gauges and Now
	from, to                     clock.Instant
	sessions, requests, prefills gauge
	ttfts                        histogram
}

// Snapshot is a reading of [Live].
type Snapshot struct {
	Phase   measure.Phase // empty before the start and after the last dispatch
	Planned int64         // measured requests to be dispatched; 0 where a duration bounds them
	Now     clock.Instant // of the reading; 0 before the start, as are the other instants
	Started clock.Instant // the point began
	From    clock.Instant // the first measured dispatch

	Warmup                        int64         // requests dispatched in warmup, the burst of agentic replay included
	Issued, OK, Failed, Cancelled int64         // measured requests: dispatched; ended
	OutputTokens                  int64         // of measured requests that were ok, as far as they are known
	TTFT                          time.Duration // median of measured requests that were ok, to 5 %; 0 before the first of them
	Sessions, Requests, Prefills  Gauge
}

// Gauge is how much of one dimension is in flight.
type Gauge struct {
	Now  int64
	Peak int64   // since From
	Mean float64 // time-weighted, since From
}

// Snapshot reads l.
func (l *Live) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen
	if s.Started.Happened() {
		s.Now = l.clock.Now()
	}
	window := l.offset(s.Now)
	s.From, s.TTFT = l.from, l.ttfts.median()
	s.Sessions, s.Requests, s.Prefills = l.sessions.read(window), l.requests.read(window), l.prefills.read(window)
	return s
}

// offset is how far an instant lies within the window; before and behind it the window's ends stand for it.
func (l *Live) offset(at clock.Instant) time.Duration {
	if !l.from.Happened() {
		return 0
	}
	if l.to.Happened() {
		at = min(at, l.to)
	}
	return max(0, at.Sub(l.from))
}

func (l *Live) begin(c clock.Clock, planned int64, at clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock, l.from, l.to = c, 0, 0
	l.seen = Snapshot{Planned: planned, Started: at}
	l.sessions, l.requests, l.prefills, l.ttfts = gauge{}, gauge{}, gauge{}, histogram{}
}

func (l *Live) enter(phase measure.Phase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Phase = phase
}

// closeWindow ends the window in which means and peaks are taken.
func (l *Live) closeWindow(at clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = at
}

func (l *Live) session(delta int64, at clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions.move(delta, l.offset(at))
}

func (l *Live) dispatched(phase measure.Phase, at clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch phase {
	case measure.Warmup, measure.AgenticWarmup:
		l.seen.Warmup++
	case measure.Measured:
		l.seen.Issued++
		if !l.from.Happened() {
			l.from = at
			l.sessions.open()
			l.requests.open()
			l.prefills.open()
		}
	}
	l.requests.move(1, l.offset(at))
	l.prefills.move(1, l.offset(at))
}

func (l *Live) firstToken(at clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefills.move(-1, l.offset(at))
}

// ended counts the end of a request; prefilling says that it had no first token before.
func (l *Live) ended(r *measure.Record, prefilling bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.offset(r.Ended)
	l.requests.move(-1, at)
	if prefilling {
		l.prefills.move(-1, at)
	}
	if r.Phase != measure.Measured {
		return
	}
	switch {
	case r.Status == measure.OK:
		l.seen.OK++
		l.ttfts.add(r.FirstToken.Sub(r.Dispatched))
		if r.OutputTokens != nil {
			l.seen.OutputTokens += *r.OutputTokens
		}
	case r.Status.Failed():
		l.seen.Failed++
	default:
		l.seen.Cancelled++
	}
}

// gauge counts what is in flight. A begin at t less and an end at t more make the area under the count up to any later T, whatever the order in
// which they are told: it is now*T plus their sum.
type gauge struct {
	now, peak int64
	sum       int64 // nanoseconds
}

// open begins the window, at which offsets are 0.
func (g *gauge) open() { g.peak, g.sum = g.now, 0 }

func (g *gauge) move(delta int64, at time.Duration) {
	g.now += delta
	g.peak = max(g.peak, g.now)
	g.sum -= delta * int64(at)
}

func (g *gauge) read(window time.Duration) Gauge {
	reading := Gauge{Now: g.now, Peak: g.peak, Mean: float64(g.now)}
	if window > 0 {
		reading.Mean = float64(g.now*int64(window)+g.sum) / float64(window)
	}
	return reading
}

// histogram counts times in buckets that are 5 % wide.
type histogram struct {
	buckets [64 * bucketsPerDoubling]int32
	n       int32
}

const bucketsPerDoubling = 14

func (h *histogram) add(d time.Duration) {
	h.n++
	h.buckets[int(math.Log2(float64(max(d, 1)))*bucketsPerDoubling)]++
}

// median is the middle of the bucket that holds it; 0 where nothing was counted.
func (h *histogram) median() time.Duration {
	var seen int32
	for i, count := range h.buckets {
		if seen += count; count > 0 && 2*seen >= h.n {
			return time.Duration(math.Exp2((float64(i) + 0.5) / bucketsPerDoubling))
		}
	}
	return 0
}
