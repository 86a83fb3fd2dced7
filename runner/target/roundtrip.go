package target

import "context"

// roundTrip is the time in seconds of a round trip on a connection that was used before; nil where the service did not list its models before the first point, or
// does not now. It is for when no load runs, which it would disturb.
func (t *Target) roundTrip(ctx context.Context) *float64 {
	if !t.lists {
		return nil
	}
	return t.client.RoundTrip(ctx)
}

// lesser is the lesser of what a figure was before and is after, as far as they are known.
func lesser(before, after *float64) *float64 {
	if before == nil || after != nil && *after < *before {
		return after
	}
	return before
}
