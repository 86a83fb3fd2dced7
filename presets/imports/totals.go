package imports

import (
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// shortest is the shortest time, in seconds, that a clock tells.
const shortest = 1e-9

// milliseconds are the statistics of a time that another tool gives. Those that are missing, or too few requests for package measure to know them, are null.
type milliseconds struct{ mean, p50, p99 *float64 }

// totals are what a tool kept of a measurement whose requests it did not keep.
type totals struct {
	ok, failed        int64
	wall              float64 // seconds
	prompt, output    *int64  // tokens of the ok requests
	asked             *int64  // output tokens that the ok requests asked for
	ttft, tpot, total milliseconds
}

// row computes what can be. Rates are computed from the totals, whatever the tool says they are. With failed requests the figures that count them as infinite are
// not known. How a request failed is not known either: it stands in none of the classes.
func (t totals) row(load schema.PointLoad) measure.Point {
	p := measure.Point{PointLoad: load, Status: measure.PointCompleted, Counts: measure.Counts{Issued: t.ok + t.failed, OK: t.ok}}
	p.SuccessRate, p.ErrorRate = ratio(t.ok, p.Issued), ratio(t.failed, p.Issued)
	if load.RequestRate == nil {
		slots, lanes := load.Slots(), load.Lanes()
		p.TargetInFlight, p.TargetSessions = &slots, &lanes
	}
	p.TTFT, p.TPOT, p.TotalTime = t.ttft.dist(t.ok), t.tpot.dist(t.ok), t.total.dist(t.ok)
	if t.failed == 0 {
		p.TTFTAll, p.TPOTAll, p.TotalTimeAll = all(p.TTFT), all(p.TPOT), all(p.TotalTime)
	}
	if mean := p.TPOT.Mean; mean != nil && *mean > 0 {
		p.OutputTokPerSUser = ref(1 / *mean)
	}
	p.PromptTokens, p.OutputTokens, p.RequestedOK = t.prompt, t.output, t.asked
	if t.asked != nil && t.output != nil {
		p.OutputRatio = ratio(*t.output, *t.asked)
	}
	t.rates(&p)
	if p.OK == 0 {
		p.Status, p.Reason = measure.PointFailed, ref("no request was ok")
	}
	return p
}

func (t totals) rates(p *measure.Point) {
	if !(t.wall >= shortest) {
		return
	}
	p.Wall, p.RequestsPerS = ref(t.wall), ref(float64(t.ok)/t.wall)
	if t.output != nil {
		p.OutputTokPerS = ref(float64(*t.output) / t.wall)
	}
	if t.output != nil && t.prompt != nil {
		p.TotalTokPerS = ref(float64(*t.output+*t.prompt) / t.wall)
	}
}

func (m milliseconds) dist(n int64) measure.Dist {
	d := measure.Dist{Mean: seconds(m.mean, n, "mean"), P50: seconds(m.p50, n, "p50"), P99: seconds(m.p99, n, "p99")}
	if d.Mean != nil || d.P50 != nil || d.P99 != nil {
		d.N = n
	}
	return d
}

func all(d measure.Dist) measure.AllDist {
	return measure.AllDist{Mean: d.Mean, P50: d.P50, P99: d.P99}
}

// seconds is a statistic of n requests, null where so few do not tell it. What is no time is none.
func seconds(ms *float64, n int64, stat string) *float64 {
	if ms == nil || n < schema.MinSamples(stat) || *ms/1000 < shortest || *ms/1000 > longest.Seconds() {
		return nil
	}
	return ref(*ms / 1000)
}

func ratio(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	return ref(float64(part) / float64(whole))
}

func ref[T any](v T) *T { return &v }

// failedPoint is a load at which nothing was measured.
func failedPoint(load schema.PointLoad, why string) Point {
	slots, lanes := load.Slots(), load.Lanes()
	return Point{Load: load, Row: measure.Point{PointLoad: load, Status: measure.PointFailed, Reason: &why, TargetInFlight: &slots, TargetSessions: &lanes}}
}
