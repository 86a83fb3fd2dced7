package runner

import (
	"fmt"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/runner/slots"
)

// outcome is what the point gave, when everything has ended.
func (e *engine) outcome(health measure.Health) measure.Outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := measure.Outcome{
		Records: e.records.all(), Sessions: e.spans, Started: e.started, Finished: e.clock.Now(),
		Aborted: e.aborted, Interrupted: e.interrupted, Late: e.late, Dropped: e.dropped,
		ContextLength: e.contextLength, ContextLengthReason: e.contextReason, Health: health,
	}
	if e.probe != nil && o.ContextLength == nil {
		o.Interrupted = o.Interrupted || e.asked
		if o.ContextLengthReason == "" {
			o.ContextLengthReason = notProbed
		}
	}
	if !e.point.open() {
		o.TargetSessions = e.point.Load.Lanes()
		if !e.shaped.Load() {
			o.Target = e.point.Load.Slots()
		}
	}
	o.Health.Connections = connections(o.Records)
	if e.deps.Sink != nil && e.issued[measure.Measured] > 0 {
		lag := e.sink.lag.Seconds()
		o.Health.WriterLag = &lag
	}
	if violations := e.violations(o.Records); o.Aborted == "" && len(violations) > 0 {
		o.Aborted = "the engine's books do not balance: " + strings.Join(violations, "; ")
	}
	return o
}

// connections is how many connections measured requests opened.
func connections(records []measure.Record) *int64 {
	var opened int64
	for i := range records {
		r := &records[i]
		if r.Phase == measure.Measured && r.Connected.Happened() && !r.ConnReused {
			opened++
		}
	}
	return &opened
}

// violations checks conservation: every request that was issued has ended with one status, and every slot that was taken was freed. The lock is
// held.
func (e *engine) violations(records []measure.Record) []string {
	var found []string
	var issued int64
	for _, n := range e.issued {
		issued += n
	}
	if issued != e.finished || issued != int64(len(records)) {
		found = append(found, fmt.Sprintf("%d requests issued, %d ended, %d recorded", issued, e.finished, len(records)))
	}
	inTime := e.point.Duration == 0 || !e.timed.Happened() || e.overAt < e.deadline() // else the time may have ended before the count was reached
	if wanted := e.point.Requests; wanted > 0 && e.issued[measure.Measured] != wanted && !e.interrupted && inTime {
		found = append(found, fmt.Sprintf("%d of %d measured requests dispatched", e.issued[measure.Measured], wanted))
	}
	var counts measure.Counts
	for i := range records {
		if one := counts.Of(records[i].Status); one != nil {
			*one++
			counts.Issued++
		}
	}
	if counts.Issued != issued {
		found = append(found, fmt.Sprintf("%d requests issued, %d with a status", issued, counts.Issued))
	}
	for _, g := range []struct {
		name  string
		state slots.State
	}{{"session", e.gates.Sessions.State()}, {"request", e.gates.Requests.State()}, {"prefill", e.gates.Prefills.State()}} {
		if s := g.state; s.Taken != s.Freed || s.Held != 0 {
			found = append(found, fmt.Sprintf("%d %s slots taken, %d freed, %d held", s.Taken, g.name, s.Freed, s.Held))
		}
	}
	return found
}
