package bench

import (
	"fmt"
	"strings"
)

// The lags up to which a level is trusted, in seconds: each is held against the 99th percentile.
//
// Exact is for who reads milliseconds: first tokens are stamped a millisecond late at most. Usable is where a point's own health would begin to
// be flagged as client_limited, which is five milliseconds.
const (
	exactLag  = 0.001
	usableLag = 0.005
)

// Exact reports whether first tokens are stamped within a millisecond of the service's write of them, all other events within five, and sleeping
// goroutines are run within five: 99 of 100 of each. A figure that is not known is not within anything.
func (l Level) Exact() bool { return within(l.FirstLagP99, exactLag) && l.Usable() }

// Usable reports whether all of them are within five milliseconds.
func (l Level) Usable() bool {
	return l.Error == nil && within(l.FirstLagP99, usableLag) && within(l.ChunkLagP99, usableLag) && within(l.SchedulingP99, usableLag)
}

func within(lag *float64, limit float64) bool { return lag != nil && *lag <= limit }

// upTo is how many of the levels, from the lowest on, are all trusted.
func (c Calibration) upTo(trusted func(Level) bool) int {
	for i, l := range c.Levels {
		if !trusted(l) {
			return i
		}
	}
	return len(c.Levels)
}

// Words says up to which load this machine's figures can be trusted, and what is late beyond it, in one paragraph.
func (c Calibration) Words() string {
	exact, usable := c.upTo(Level.Exact), c.upTo(Level.Usable)
	var text []string
	switch {
	case usable == 0:
		text = append(text, "Here and now no level can be trusted, since the lowest is late already.")
	case exact == usable:
		text = append(text, fmt.Sprintf("To the millisecond, and to 5 ms: up to %s.", c.Levels[usable-1].load()))
	case exact == 0:
		text = append(text, "No level keeps to the millisecond.", fmt.Sprintf("To 5 ms: up to %s.", c.Levels[usable-1].load()))
	default:
		text = append(text, fmt.Sprintf("To the millisecond: up to %s; to 5 ms: up to %s.", c.Levels[exact-1].load(), c.Levels[usable-1].load()))
	}
	if usable < len(c.Levels) {
		text = append(text, c.Levels[usable].beyond())
	} else {
		text = append(text, "That is the highest level tried.")
	}
	if usable == 0 {
		text = append(text, "Run again when nothing else runs on this machine, or measure from another.")
	} else {
		text = append(text, "The service ran on the same machine and took its share; with a service elsewhere there is more room.")
	}
	return strings.Join(text, " ")
}

// beyond says what makes a level untrusted.
func (l Level) beyond() string {
	if l.Error != nil {
		return fmt.Sprintf("At %d in flight: %s.", l.Streams, *l.Error)
	}
	var late []string
	for _, figure := range []struct {
		what string
		lag  *float64
	}{{"first tokens are stamped", l.FirstLagP99}, {"events are stamped", l.ChunkLagP99}, {"a sleeping goroutine is run", l.SchedulingP99}} {
		switch {
		case figure.lag == nil:
			late = append(late, figure.what+" no one knows how late")
		case *figure.lag > usableLag:
			late = append(late, fmt.Sprintf("%s up to %.1f ms late", figure.what, 1000**figure.lag))
		}
	}
	return fmt.Sprintf("At %d in flight %s (99 of 100).", l.Streams, strings.Join(late, ", "))
}

// load is a level in words.
func (l Level) load() string {
	return fmt.Sprintf("%d requests in flight, %.0f events a second", l.Streams, l.EventsPerSecond)
}

// Beyond warns of a plan that has more in flight at once than c says can be trusted to 5 ms; empty where it has not.
func Beyond(c Calibration, mostInFlight int64) string {
	usable := c.upTo(Level.Usable)
	if mostInFlight == 0 {
		return ""
	}
	plan, calibrated := fmt.Sprintf("the plan has up to %d requests in flight", mostInFlight), "the calibration of "+c.MeasuredAt.Format("2006-01-02")
	switch {
	case usable == 0:
		return fmt.Sprintf("%s, and by %s this machine can't be trusted as a client at all", plan, calibrated)
	case mostInFlight <= c.Levels[usable-1].Streams:
		return ""
	case usable == len(c.Levels):
		return fmt.Sprintf("%s, and %s goes up to %d: sweetspot calibrate --streams 1..%d looks further", plan, calibrated, c.Levels[usable-1].Streams, mostInFlight)
	}
	return fmt.Sprintf("%s, and by %s this machine's stamps are within 5 ms up to %s", plan, calibrated, c.Levels[usable-1].load())
}
