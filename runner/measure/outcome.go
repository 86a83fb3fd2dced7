package measure

import "sweetspot/runner/clock"

// Span is the life of a session tree: from its session slot being taken to its being freed.
type Span struct{ Start, End clock.Instant }

// Outcome is all that the runner saw of one measurement of a point, before anything is computed from it.
type Outcome struct {
	Records  []Record // every request dispatched, in order of dispatch, of all phases
	Sessions []Span   // every session tree, in order of start
	Started  clock.Instant
	Finished clock.Instant

	// Target is how many requests should be in flight at once, TargetSessions how many session trees. 0: not bounded. Where requests can't be
	// kept at their cap, as with think time and in trees that join, Target is 0 and the sessions bind; in an open loop both are 0 and the rate
	// binds.
	Target, TargetSessions int64

	// Late are the measured requests of an open loop that had to wait for a slot, or behind an arrival that had to. Dropped are arrivals that were
	// due in the measured phase and were not dispatched in it. Both are 0 in a closed loop.
	Late, Dropped int64

	Aborted     string // why the point was given up; empty where it was not
	Interrupted bool   // the person stopped the run during the point

	ContextLength       *int64 // that the probe filled
	ContextLengthReason string // why the probe did not
	Health              Health // sampled during the measured phase

	KeptOpen int64 // responses of all phases that had not ended soon after [DONE], so that their slots stayed taken

	HTTPRTT *float64 // least time of a round trip on a connection in use, before and after the load, in seconds; nil where it is not known

	URLs int // addresses that requests were sent to; 0 is taken for 1

	Samples []Sample // what the service showed of itself, in order of time, from before the first request until after the last; empty where it shows nothing

	GPUs []GPUSample // what the GPUs were seen to do, in order of time, from before the first request until after the last; empty where nothing was seen
}
