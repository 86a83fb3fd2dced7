//go:build linux

package main

import (
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
)

func at(ms int64) clock.Instant { return clock.Instant(time.Duration(ms) * time.Millisecond) }

func answered(read, first, ended, tokens int64) simulator.LogRequest {
	return simulator.LogRequest{
		Read: at(read), Ended: at(ended), OutputTokens: int(tokens),
		Events: []simulator.LogEvent{{At: at(read + 1), Kind: "role"}, {At: at(first), Kind: "content", Tokens: 1}},
	}
}

// A tool tries the service with one request before it drives two streams: what it is held against is the load alone.
func TestTheLoadBeginsWhereHalfOfTheStreamsAreInFlight(t *testing.T) {
	log := &simulator.Log{Requests: []simulator.LogRequest{
		answered(1000, 1100, 2000, 50),
		answered(5000, 5100, 6000, 10),
		answered(5010, 5130, 6000, 10),
		answered(5020, 5140, 6020, 10),
		answered(6000, 6100, 7000, 10),
	}}
	got, err := truthOf(log, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got.requests != 4 || got.events != 90 || got.tokensPerSecond != 20 || got.peakInFlight != 3 || got.meanInFlight != 1.995 {
		t.Errorf("got %+v", got)
	}
	if got.ttftP50 == nil || *got.ttftP50 != 0.11 { // of 100, 100, 120 and 120 ms
		t.Errorf("TTFT %v", *got.ttftP50)
	}
	if _, err := truthOf(log, 10); err == nil {
		t.Error("5 in flight were found where there were never more than 3")
	}
}
