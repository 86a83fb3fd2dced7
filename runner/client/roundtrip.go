package client

import (
	"context"
	"time"

	"sweetspot/runner/clock"
)

const (
	roundTrips    = 3           // on a connection that was used before
	roundTripWait = time.Second // for each
)

// RoundTrip is the least time in seconds that a few GETs of /models of the first URL take, one after the other, from having a connection that was used
// before to the response's first byte: the way there and back through whatever ends TCP in between, and what the service takes for so little. It is nil where the
// service does not answer them, or answers none on such a connection.
func (c *Client) RoundTrip(ctx context.Context) *float64 {
	var least *float64
	for try := range 1 + roundTrips { // the first may make the connection
		t := &trace{clock: c.config.Clock}
		answered := c.asks(ctx, t)
		if !answered && try > 0 {
			break
		}
		took := clock.Instant(t.firstByte.Load()).Sub(clock.Instant(t.connected.Load())).Seconds()
		if answered && t.reused.Load() && (least == nil || took < *least) {
			least = &took
		}
	}
	return least
}

// asks reports whether /models was answered.
func (c *Client) asks(ctx context.Context, t *trace) bool {
	ctx, cancel := context.WithTimeout(ctx, roundTripWait)
	defer cancel()
	models, _ := c.models(ctx, &c.bases[0], "", t)
	return models != nil
}
