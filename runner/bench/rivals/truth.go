//go:build linux

package main

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/simulator"
)

// truth is what the service's own log says of a load, however the tool counts. Times are in seconds.
type truth struct {
	requests        int64 // of the load, without what the tool sent before it
	events          int64 // with a token, of all that the tool sent
	tokensPerSecond float64
	ttftP50         *float64 // from the request's being read to the write of its first token
	peakInFlight    int64
	meanInFlight    float64
}

// truthOf finds the load in a service's log: it begins with the earliest request that is still open when half of the streams are first in flight.
// What a tool sends before that (a request to try the service, calibration) counts as its events and as nothing else.
func truthOf(log *simulator.Log, streams int64) (truth, error) {
	begin, ok := beginning(log.Requests, (streams+1)/2)
	if !ok {
		return truth{}, errors.New("half of the streams were never in flight")
	}
	var t truth
	var end clock.Instant
	var open, tokens int64 // open in nanoseconds
	var ttft []float64
	for _, r := range log.Requests {
		t.events += int64(r.OutputTokens)
		if !r.Read.Happened() || r.Read < begin {
			continue
		}
		t.requests++
		tokens += int64(r.OutputTokens)
		open += int64(r.Ended - r.Read)
		end = max(end, r.Ended)
		if first, ok := r.FirstToken(); ok {
			ttft = append(ttft, first.At.Sub(r.Read).Seconds())
		}
	}
	slices.Sort(ttft)
	wall := end.Sub(begin).Seconds()
	t.tokensPerSecond, t.meanInFlight = float64(tokens)/wall, time.Duration(open).Seconds()/wall
	t.ttftP50, t.peakInFlight = measure.Quantile(ttft, 50), peak(log.Requests, begin)
	return t, nil
}

// edge is a request's being read, or its end.
type edge struct {
	at    clock.Instant
	opens bool
	read  clock.Instant
}

func edges(requests []simulator.LogRequest) []edge {
	var all []edge
	for _, r := range requests {
		if r.Read.Happened() {
			all = append(all, edge{r.Read, true, r.Read}, edge{r.Ended, false, r.Read})
		}
	}
	slices.SortFunc(all, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	return all
}

func beginning(requests []simulator.LogRequest, enough int64) (clock.Instant, bool) {
	open := map[clock.Instant]int64{}
	var inFlight int64
	for _, e := range edges(requests) {
		if !e.opens {
			inFlight--
			if open[e.read]--; open[e.read] == 0 {
				delete(open, e.read)
			}
			continue
		}
		inFlight++
		open[e.read]++
		if inFlight == enough {
			first := e.read
			for read := range open {
				first = min(first, read)
			}
			return first, true
		}
	}
	return 0, false
}

func peak(requests []simulator.LogRequest, begin clock.Instant) int64 {
	var inFlight, most int64
	for _, e := range edges(requests) {
		switch {
		case e.read < begin:
		case e.opens:
			inFlight++
			most = max(most, inFlight)
		default:
			inFlight--
		}
	}
	return most
}
