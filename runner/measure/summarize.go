package measure

import (
	"fmt"
	"sync"

	"sweetspot/schema"
)

// clientLagLimit is the 99th percentile of the client's scheduling lag, in seconds, above which a point is flagged.
const clientLagLimit = 0.005

// Summarize computes a point's row from what the runner saw: every column but those of [Keys] and Workload, Model, Cache, IgnoreEOS, StartedAt
// ClockID, Source, RTT and [Hardware], which are not the runner's to know, and a context length that was not probed but only reported by the service. Goodput is held
// against limits; nothing else depends on them. The outcome is left as it is.
//
// What each figure means, and when it is null, stands in docs/reference/measurement.md.
func Summarize(o Outcome, load schema.PointLoad, limits schema.Limits) Point {
	o.Records = inOrder(o.Records)
	var f flights
	var counting sync.WaitGroup
	counting.Go(func() { f = flightsOf(&o) }) // beside gathering, and what comes of it beside the rest: each pair takes about as long
	g := gather(o.Records, &limits)
	counting.Wait()
	p := Point{PointLoad: load, Started: o.Started, Finished: o.Finished, Counts: g.counts, Health: o.Health}
	p.WarmupIssued, p.WarmupFailed = g.warmupIssued, g.warmupFailed
	p.AgenticWarmupIssued = positive(g.agenticIssued)
	p.Late, p.Dropped, p.KeptOpen, p.HTTPRTT = o.Late, o.Dropped, &o.KeptOpen, o.HTTPRTT
	p.TargetInFlight, p.TargetSessions = positive(o.Target), positive(o.TargetSessions)
	p.ClientLimited = o.Health.LagP99 != nil && *o.Health.LagP99 > clientLagLimit
	p.context(&o, &limits)
	p.shares(g)
	p.lengths(g)
	p.rates(g, &limits)
	var sorting sync.WaitGroup
	sorting.Go(func() {
		p.ICL = g.gaps.describe()
		p.inFlight(&o, &f, g)
	})
	p.latencies(g, o.firstWave())
	p.Server = serverOf(o.Samples, o.URLs, g.firstDispatch, g.lastEnd)
	p.ByURL = byURL(o.Records, o.URLs)
	p.Telemetry = telemetryOf(o.GPUs, g.firstDispatch, g.lastEnd, p.OutputTokens)
	p.ErrorExample = g.example()
	p.Status, p.Reason = statusOf(&o, &p)
	sorting.Wait()
	p.trustSteady()
	return p
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

// over is the ratio of two figures, nil where one is missing or the second is not above 0.
func over(a, b *float64) *float64 {
	if a == nil || b == nil || *b <= 0 {
		return nil
	}
	ratio := *a / *b
	return &ratio
}

func asFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func count(n int64) *float64 { return asFloat(&n) }

func (p *Point) context(o *Outcome, limits *schema.Limits) {
	p.ContextLength = o.ContextLength
	switch {
	case o.ContextLength != nil:
		source := "probe"
		p.ContextLengthSource = &source
	case o.ContextLengthReason != "":
		reason := o.ContextLengthReason
		p.ContextReason = &reason
	case limits.MinContextLength != nil:
		reason := "the context was not probed"
		p.ContextReason = &reason
	}
}

func (p *Point) shares(g *gathered) {
	p.SuccessRate = over(count(p.OK), count(p.Issued))
	p.ErrorRate = over(count(p.Failed()), count(p.Issued-p.Cancelled))
	p.Degenerate = g.long > 0 && g.repeating == g.long
}

func (p *Point) lengths(g *gathered) {
	p.PromptTokens, p.OutputTokens, p.CachedTokens = g.promptTokens.known(), g.outputTokens.known(), g.cachedTokens.known()
	p.CacheHitRatio = over(asFloat(p.CachedTokens), asFloat(p.PromptTokens))
	p.RequestedOK = g.askedOutput.known()
	p.OutputRatio = over(asFloat(p.OutputTokens), asFloat(p.RequestedOK))
	p.PromptRatio = over(asFloat(p.PromptTokens), asFloat(g.askedPrompt.known()))
	if p.PromptRatio != nil {
		p.PromptOff = &g.promptOff
	}
	p.TokenSource = g.tokenSource()
	p.TokensPerChunk = over(asFloat(p.OutputTokens), count(g.chunks))
}

// rates are over the whole window.
func (p *Point) rates(g *gathered, limits *schema.Limits) {
	p.Wall = g.lastEnd.SecondsSince(g.firstDispatch)
	p.OutputTokPerS = over(asFloat(p.OutputTokens), p.Wall)
	if p.OutputTokens != nil && p.PromptTokens != nil {
		p.TotalTokPerS = over(count(*p.OutputTokens+*p.PromptTokens), p.Wall)
	}
	p.RequestsPerS = over(count(p.OK), p.Wall)
	if limits.MaxTTFT != nil || limits.MaxTPOT != nil || limits.MaxTotalTime != nil {
		p.GoodputPerS = over(count(g.good), p.Wall)
	}
	if p.Issued > 1 {
		p.AchievedRate = over(count(p.Issued-1), g.lastDispatch.SecondsSince(g.firstDispatch))
	}
	if p.Issued > 1 && p.Open() {
		p.ScheduledRate = over(count(p.Issued-1), g.lastDue.SecondsSince(g.firstDue))
	}
}

func (p *Point) inFlight(o *Outcome, f *flights, g *gathered) {
	if g.counts.Issued > 0 {
		p.InFlight = f.over(g.firstDispatch, g.lastEnd)
	}
	p.steady(o, f, g)
}

// latencies sorts the values of g, once what needs their order of dispatch has been taken from them.
func (p *Point) latencies(g *gathered, wave int64) {
	var sorter floatSorter
	p.TTFTDrift = drift(g.ttft, &sorter)
	p.TTFTAfterWave = afterWave(g.ttft, wave, &sorter)
	for _, values := range [][]float64{g.ttft, g.ttftScheduled, g.ttfot, g.totalTime, g.tpot, g.queueDelay, g.iclMean} {
		sorter.sort(values)
	}
	p.TTFT, p.TTFOT, p.TotalTime, p.TPOT = describe(g.ttft), describe(g.ttfot), describe(g.totalTime), describe(g.tpot)
	p.TTFTScheduled = describe(g.ttftScheduled)
	p.QueueDelay, p.ICLMean = describe(g.queueDelay), describe(g.iclMean)
	p.OutputTokPerSUser = over(count(1), p.TPOT.Mean)
	failed := p.Failed()
	p.TTFTAll, p.TPOTAll, p.TotalTimeAll = describeAll(g.ttft, failed), describeAll(g.tpot, failed), describeAll(g.totalTime, failed)
}

// fewForDrift is how many requests it takes to say that time to first token drifts: ten in each third.
const fewForDrift = 30

// drift compares the last third with the first, as a service does that was still cold, or that falls behind. Values are in order of dispatch.
func drift(ttft []float64, sorter *floatSorter) *float64 {
	third := len(ttft) / 3
	if len(ttft) < fewForDrift {
		return nil
	}
	return over(sorter.percentile(ttft[len(ttft)-third:], 50), sorter.percentile(ttft[:third], 50))
}

// firstWave is how many requests are dispatched at once when a point starts without warmup.
func (o *Outcome) firstWave() int64 {
	if o.Target > 0 {
		return o.Target
	}
	return o.TargetSessions
}

// afterWave leaves out the first wave, so that a tail which only that wave has can be told from one of the service.
func afterWave(ttft []float64, wave int64, sorter *floatSorter) *float64 {
	if wave == 0 || int64(len(ttft)) <= wave {
		return nil
	}
	return sorter.percentile(ttft[wave:], 95)
}

// example is the commonest class of failure, the first in the order of [Statuses] among equals, and the message of its first request.
func (g *gathered) example() *string {
	var most int64
	var class Status
	for _, s := range Statuses() {
		if n := *g.counts.Of(s); s.Failed() && n > most {
			most, class = n, s
		}
	}
	if most == 0 {
		return nil
	}
	example := string(class)
	if message := g.examples[class]; message != "" {
		example += ": " + message
	}
	return &example
}

func statusOf(o *Outcome, p *Point) (PointStatus, *string) {
	why := func(s PointStatus, format string, args ...any) (PointStatus, *string) {
		reason := fmt.Sprintf(format, args...)
		return s, &reason
	}
	switch {
	case o.Interrupted:
		return why(PointInterrupted, "the run was interrupted during the point")
	case o.Aborted != "":
		return why(PointFailed, "%s", o.Aborted)
	case p.Issued == 0:
		return why(PointFailed, "no request was measured")
	case !p.Conserved():
		return why(PointFailed, "the requests by status do not add up to the %d issued", p.Issued)
	case p.OK == 0 && p.ErrorExample == nil:
		return why(PointFailed, "all %d requests were cancelled", p.Issued)
	case p.OK == 0:
		return why(PointFailed, "none of %d requests was ok: %s", p.Issued, *p.ErrorExample)
	}
	return PointCompleted, nil
}
