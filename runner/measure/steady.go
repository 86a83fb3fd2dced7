package measure

import (
	"fmt"
	"slices"
	"time"

	"sweetspot/runner/clock"
)

// steadyShare is the least share of the target that the mean in flight must have for the steady window to be called steady.
const steadyShare = 0.95

// shortestSteady is the least length in seconds of a steady window that a throughput is made of. Its ends cut through what comes at once: the tokens of all streams
// come with each step of an engine, tens of milliseconds apart, and a client's stamps may be some milliseconds late.
const shortestSteady = 1.0

// window is a stretch of time, its start included and its end not.
type window struct{ from, to clock.Instant }

// steady fills in the steady window of p: from the target's first being in flight, once the measured phase has begun, to the last measured
// dispatch. Before the measured phase nothing is asked to be steady: warmup has caps of its own, and a cold service.
func (p *Point) steady(o *Outcome, f *flights, g *gathered) {
	w, reason := steadyWindow(o, f, g)
	if reason == "" {
		p.SteadyStart, p.SteadyEnd = w.from, w.to
		p.SteadyMeanSessions = f.sessions.mean(w.from, w.to)
		p.SteadyMeanRequests = f.requests.mean(w.from, w.to)
		p.SteadyMeanPrefills = f.prefills.mean(w.from, w.to)
		reason = p.unsteady()
	}
	if reason == "" {
		p.SteadyOutputTokPS, reason = steadyThroughput(o.Records, w)
	}
	if reason != "" {
		p.SteadyReason = &reason
	}
}

func steadyWindow(o *Outcome, f *flights, g *gathered) (w window, reason string) {
	live, target, what := &f.requests, o.Target, "requests"
	if target == 0 {
		live, target, what = &f.sessions, o.TargetSessions, "sessions"
	}
	if target == 0 {
		return w, "neither requests nor sessions in flight have a target"
	}
	if g.counts.Issued == 0 {
		return w, "no request was measured"
	}
	from, reached := live.reach(target, g.firstDispatch, g.lastDispatch)
	if reached {
		return window{from, g.lastDispatch}, ""
	}
	var most int64
	if peak := live.peak(g.firstDispatch, g.lastDispatch); peak != nil {
		most = *peak
	}
	return w, fmt.Sprintf("at most %d of %d %s were in flight before the last was dispatched", most, target, what)
}

// unsteady says why the steady window is not steady, and is empty where it is.
func (p *Point) unsteady() string {
	asked, ok := p.Asked()
	if !ok || asked.Achieved == nil || *asked.Achieved >= steadyShare**asked.Target {
		return ""
	}
	return fmt.Sprintf("a mean of %.4g %s in flight is below %g %% of the target of %g", *asked.Achieved, asked.Dimension, 100*steadyShare, *asked.Target)
}

// trustSteady takes the steady throughput back where its window is too short to tell it: less than [shortestSteady], or than a request takes. Requests that began
// together do the same at the same time, so a part of their time may have all of their prefills in it, or none. TotalTime must have been described.
func (p *Point) trustSteady() {
	if p.SteadyOutputTokPS == nil {
		return
	}
	least, of := shortestSteady, ""
	if took := p.TotalTime.Mean; took != nil && *took > least {
		least, of = *took, ", which a request takes"
	}
	if length := p.SteadyEnd.Sub(p.SteadyStart).Seconds(); length < least {
		reason := fmt.Sprintf("its window of %.3g s is shorter than %.3g s%s: measure more requests (load.requests_per_slot, load.requests, or load.duration)", length, least, of)
		p.SteadyOutputTokPS, p.SteadyReason = nil, &reason
	}
}

// steadyThroughput is the rate of output tokens within w: those of each ok request, of whatever phase, spread evenly over its events.
func steadyThroughput(records []Record, w window) (perSecond *float64, reason string) {
	var tokens float64
	for i := range records {
		r := &records[i]
		if r.Status != OK || !w.overlaps(r) {
			continue
		}
		if r.OutputTokens == nil || len(r.Chunks) == 0 {
			return nil, "a request in it has no token count"
		}
		tokens += float64(*r.OutputTokens) * float64(w.chunks(r)) / float64(len(r.Chunks))
	}
	rate := tokens / w.to.Sub(w.from).Seconds()
	return &rate, ""
}

func (w window) overlaps(r *Record) bool { return r.Dispatched < w.to && r.Ended > w.from }

// chunks is how many of the events of r that carried a token lie within w.
func (w window) chunks(r *Record) int {
	if n := len(r.Chunks); n > 0 && r.Dispatched >= w.from && r.Dispatched.Add(time.Duration(r.Chunks[n-1])) < w.to {
		return n // as of nearly all
	}
	before := func(at clock.Instant) int {
		n, _ := slices.BinarySearch(r.Chunks, int64(at-r.Dispatched))
		return n
	}
	return before(w.to) - before(w.from)
}
