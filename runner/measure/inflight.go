package measure

import "sweetspot/runner/clock"

// steps is how many of something were live over time: the sorted instants at which one began, and those at which one ended. An interval holds
// its start and not its end, so one that begins as another ends doesn't overlap it.
type steps struct{ starts, ends []clock.Instant }

// newSteps sorts the slices it is given, and keeps them. Another of their length is spare.
func newSteps(starts, ends, spare []clock.Instant) steps {
	sortKeys(starts, spare)
	sortKeys(ends, spare)
	return steps{starts, ends}
}

// walk calls visit with the number live at from, then at each later instant at which it may have changed, until visit returns false.
func (s steps) walk(from clock.Instant, visit func(at clock.Instant, live int64) bool) {
	var i, j int
	at := from
	for {
		for i < len(s.starts) && s.starts[i] <= at {
			i++
		}
		for j < len(s.ends) && s.ends[j] <= at {
			j++
		}
		// Everything that started, less everything that ended.
		if !visit(at, int64(i-j)) || j == len(s.ends) {
			return
		}
		at = s.ends[j]
		if i < len(s.starts) && s.starts[i] < at {
			at = s.starts[i]
		}
	}
}

// mean is the time-weighted mean from one instant to another; nil where no time lies between them.
func (s steps) mean(from, to clock.Instant) *float64 {
	if to <= from {
		return nil
	}
	var live int64
	for i, start := range s.starts {
		// The i-th start and the i-th end need not belong together: the sum of the differences is the same.
		live += int64(min(max(s.ends[i], from), to) - min(max(start, from), to))
	}
	mean := float64(live) / float64(to-from)
	return &mean
}

// peak is the most that were live at once from one instant until another; nil where no time lies between them.
func (s steps) peak(from, to clock.Instant) *int64 {
	if to <= from {
		return nil
	}
	var most int64
	s.walk(from, func(at clock.Instant, live int64) bool {
		if at >= to {
			return false
		}
		most = max(most, live)
		return true
	})
	return &most
}

// reach is the first instant from from on, and before to, at which target were live; false where there is none.
func (s steps) reach(target int64, from, to clock.Instant) (reached clock.Instant, ok bool) {
	s.walk(from, func(at clock.Instant, live int64) bool {
		if at < to && live >= target {
			reached, ok = at, true
		}
		return at < to && !ok
	})
	return reached, ok
}

// flights are the three dimensions of what is in flight.
type flights struct{ sessions, requests, prefills steps }

// flightsOf counts every request and session of every phase. What has no end yet is live until the point was finished.
func flightsOf(o *Outcome) flights {
	begun, answered, ended := make([]clock.Instant, len(o.Records)), make([]clock.Instant, len(o.Records)), make([]clock.Instant, len(o.Records))
	for i := range o.Records {
		r := &o.Records[i]
		begun[i], ended[i] = r.Dispatched, endOr(r.Ended, o.Finished, r.Dispatched)
		answered[i] = endOr(r.FirstToken, ended[i], r.Dispatched)
	}
	spare := make([]clock.Instant, max(len(o.Records), len(o.Sessions)))
	requests := newSteps(begun, ended, spare)
	sortKeys(answered, spare)
	opened, closed := make([]clock.Instant, len(o.Sessions)), make([]clock.Instant, len(o.Sessions))
	for i, s := range o.Sessions {
		opened[i], closed[i] = s.Start, endOr(s.End, o.Finished, s.Start)
	}
	return flights{sessions: newSteps(opened, closed, spare), requests: requests, prefills: steps{requests.starts, answered}}
}

// endOr is the end of an interval, or where it did not happen what stands for it; never before the start.
func endOr(end, instead, start clock.Instant) clock.Instant {
	if !end.Happened() {
		end = instead
	}
	return max(end, start)
}

// over fills in the figures of the whole window.
func (f *flights) over(from, to clock.Instant) InFlight {
	return InFlight{
		MeanSessions: f.sessions.mean(from, to), PeakSessions: f.sessions.peak(from, to),
		MeanRequests: f.requests.mean(from, to), PeakRequests: f.requests.peak(from, to),
		MeanPrefills: f.prefills.mean(from, to), PeakPrefills: f.prefills.peak(from, to),
	}
}
