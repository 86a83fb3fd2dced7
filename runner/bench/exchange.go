package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
)

// Exchange is one request as a tool saw it.
type Exchange struct {
	ID         string // as the service's log has it
	Lane       int64
	Spread     bool          // started while the streams were still being started: no part of the figures
	Ready      clock.Instant // the lane was free for it
	Dispatched clock.Instant
	FirstToken clock.Instant
	Ended      clock.Instant
	Tokens     int64
	Chunks     []int64 // stamps of the events with a token, in nanoseconds after Dispatched; nil: the tool stamps none
}

// Fidelity is how far a tool's stamps are behind the service's own instants, in seconds, sorted.
type Fidelity struct {
	Read  []float64 // the service had read the request, after its dispatch
	First []float64 // first tokens: the tool's stamp after the service's write
	Chunk []float64 // the same of every event with a token; empty where the tool stamps none
}

// Match holds exchanges against the service's log. It is an error if a request is in one and not in the other, was not answered whole, has
// other tokens or events in the log than in the tool's books, or has an effect before its cause: read before it was dispatched, or stamped before
// it was written.
func Match(exchanges []Exchange, log *simulator.Log) (Fidelity, error) {
	truth := make(map[string]*simulator.LogRequest, len(log.Requests))
	for i := range log.Requests {
		r := &log.Requests[i]
		if truth[r.ID] != nil {
			return Fidelity{}, fmt.Errorf("request %s: the service got it twice", r.ID)
		}
		truth[r.ID] = r
	}
	if len(exchanges) != len(truth) {
		return Fidelity{}, fmt.Errorf("%d requests, and the service got %d", len(exchanges), len(truth))
	}
	var f Fidelity
	for i := range exchanges {
		e := &exchanges[i]
		r := truth[e.ID]
		if r == nil {
			return Fidelity{}, fmt.Errorf("request %s: the service did not get it", e.ID)
		}
		if err := f.add(e, r); err != nil {
			return Fidelity{}, fmt.Errorf("request %s: %w", e.ID, err)
		}
	}
	slices.Sort(f.Read)
	slices.Sort(f.First)
	slices.Sort(f.Chunk)
	return f, nil
}

func (f *Fidelity) add(e *Exchange, r *simulator.LogRequest) error {
	if r.Outcome != "ok" {
		return fmt.Errorf("the service calls it %s", r.Outcome)
	}
	if int64(r.OutputTokens) != e.Tokens {
		return fmt.Errorf("%d tokens, and the service wrote %d", e.Tokens, r.OutputTokens)
	}
	if r.Read < e.Dispatched {
		return fmt.Errorf("read %v before it was dispatched", e.Dispatched.Sub(r.Read))
	}
	first, ok := r.FirstToken()
	if !ok || !e.FirstToken.Happened() {
		return fmt.Errorf("no first token: by the service's log %t", ok)
	}
	if e.FirstToken < first.At {
		return fmt.Errorf("the first token is stamped %v before it was written", first.At.Sub(e.FirstToken))
	}
	if !e.Spread {
		f.Read = append(f.Read, r.Read.Sub(e.Dispatched).Seconds())
		f.First = append(f.First, e.FirstToken.Sub(first.At).Seconds())
	}
	if e.Chunks == nil {
		return nil
	}
	return f.addChunks(e, r)
}

func (f *Fidelity) addChunks(e *Exchange, r *simulator.LogRequest) error {
	n := 0
	for _, event := range r.Events {
		if event.Tokens == 0 {
			continue
		}
		if n == len(e.Chunks) {
			return fmt.Errorf("%d events with a token, and the service wrote more", n)
		}
		lag := e.Dispatched.Add(time.Duration(e.Chunks[n])).Sub(event.At)
		if lag < 0 {
			return fmt.Errorf("event %d is stamped %v before it was written", n, -lag)
		}
		if !e.Spread {
			f.Chunk = append(f.Chunk, lag.Seconds())
		}
		n++
	}
	if n != len(e.Chunks) {
		return fmt.Errorf("%d events with a token, and the service wrote %d", len(e.Chunks), n)
	}
	return nil
}

// peakInFlight is the most exchanges that were between dispatch and end at once.
func peakInFlight(exchanges []Exchange) int64 {
	type step struct {
		at    clock.Instant
		delta int64
	}
	steps := make([]step, 0, 2*len(exchanges))
	for _, e := range exchanges {
		steps = append(steps, step{e.Dispatched, 1}, step{e.Ended, -1})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.delta, b.delta)) })
	var now, most int64
	for _, s := range steps {
		now += s.delta
		most = max(most, now)
	}
	return most
}

// turnaround is what lies between two requests of a lane, in seconds, sorted.
type turnaround struct {
	free   []float64 // from the end of a response, which is its [DONE], to the lane's being free: the rest of the body
	refill []float64 // from then to the dispatch of the next request
}

func turnaroundOf(exchanges []Exchange) turnaround {
	byLane := map[int64][]*Exchange{}
	for i := range exchanges {
		byLane[exchanges[i].Lane] = append(byLane[exchanges[i].Lane], &exchanges[i])
	}
	var t turnaround
	for _, lane := range byLane {
		slices.SortFunc(lane, func(a, b *Exchange) int { return cmp.Compare(a.Dispatched, b.Dispatched) })
		for i, e := range lane[1:] {
			if !e.Spread {
				t.free = append(t.free, e.Ready.Sub(lane[i].Ended).Seconds())
				t.refill = append(t.refill, e.Dispatched.Sub(e.Ready).Seconds())
			}
		}
	}
	slices.Sort(t.free)
	slices.Sort(t.refill)
	return t
}

// output is the throughput of the exchanges after the spread, from their first dispatch to their last end, and their times to first token,
// sorted.
func output(exchanges []Exchange) (perSecond float64, ttft []float64) {
	var tokens int64
	from, to := clock.Instant(math.MaxInt64), clock.Instant(0)
	for _, e := range exchanges {
		if e.Spread {
			continue
		}
		tokens += e.Tokens
		from, to = min(from, e.Dispatched), max(to, e.Ended)
		ttft = append(ttft, e.FirstToken.Sub(e.Dispatched).Seconds())
	}
	slices.Sort(ttft)
	if len(ttft) == 0 {
		return 0, nil
	}
	return float64(tokens) / to.Sub(from).Seconds(), ttft
}
