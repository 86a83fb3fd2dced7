package selector

import (
	"fmt"
	"math"
	"slices"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// The client may lag by the greater of these: seconds, and a share of the point's median time to first token.
const (
	clientLagSeconds = 0.005
	clientLagShare   = 0.1
)

// gate is one condition of being eligible.
type gate struct {
	name   string
	reason func(*measure.Point) string // why the point does not pass; empty where it does
	// unsaid reports whether another tool's results lack what the gate looks at; nil for a gate that nothing passes unseen.
	unsaid func(*measure.Point) bool
}

func (r *Rule) gates() []gate {
	return []gate{
		{"error rate", r.tooManyErrors, nil},
		{"limits", r.unjudgeable, nil},
		{"output tokens", r.uncounted, nil},
		{"requests in flight", r.notInFlight, flightUnsaid},
		{"prompt length", r.promptLength, func(p *measure.Point) bool { return p.PromptRatio == nil }},
		{"output length", r.outputLength, func(p *measure.Point) bool { return p.OutputRatio == nil }},
		{"context length", r.contextTooShort, nil},
		{"client lag", clientTooSlow, func(p *measure.Point) bool { return p.LagP99 == nil }},
	}
}

// flightUnsaid holds where no instants of requests are known: then nobody can say how many were in flight, nor how often they were sent. Where they are, the gate
// judges them as it does sweetspot's own.
func flightUnsaid(p *measure.Point) bool {
	asked, ok := p.Asked()
	if ok && asked.Dimension == "rate" {
		return asked.Target == nil || asked.Achieved == nil
	}
	return ok && p.MeanRequests == nil
}

// skips reports whether the gate is not held against a point: another tool measured it and does not say what the gate looks at.
func (g *gate) skips(p *measure.Point) bool { return p.Source != nil && g.unsaid != nil && g.unsaid(p) }

// ineligible gives every reason why one measurement of a point can't be chosen from; none where it can. A figure that is not known is a reason, but for the few
// that other tools never say: those are named by [Rule.unchecked].
func (r *Rule) ineligible(p *measure.Point) []string {
	if p.Status != measure.PointCompleted {
		return []string{unfinished(p)}
	}
	var reasons []string
	for _, g := range r.gates() {
		if g.skips(p) {
			continue
		}
		if reason := g.reason(p); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// unchecked names the gates that are not held against one of the rows. It is not nil, so that it is a list in JSON.
func (r *Rule) unchecked(rows []measure.Point) []string {
	names := []string{}
	for _, g := range r.gates() {
		if slices.ContainsFunc(rows, func(p measure.Point) bool { return g.skips(&p) }) {
			names = append(names, g.name)
		}
	}
	return names
}

func unfinished(p *measure.Point) string {
	if p.Reason == nil {
		return string(p.Status)
	}
	return string(p.Status) + ": " + *p.Reason
}

func (r *Rule) tooManyErrors(p *measure.Point) string {
	most := r.Limits.MaxErrorRate
	if !known(p.ErrorRate) {
		return fmt.Sprintf("error rate is unknown (at most %s allowed)", format.Percent(most))
	}
	if *p.ErrorRate <= most {
		return ""
	}
	rate, limit := format.Apart(*p.ErrorRate, most, format.PercentTo, format.Digits-1)
	reason := fmt.Sprintf("error rate %s is above the limit of %s", rate, limit)
	if p.ErrorExample != nil {
		reason += fmt.Sprintf(" (%s)", *p.ErrorExample)
	}
	return reason
}

// unjudgeable names the first limit whose statistic is unknown or infinite.
func (r *Rule) unjudgeable(p *measure.Point) string {
	for _, l := range r.limits() {
		value := l.value(p)
		if usable(value) != nil {
			continue
		}
		switch n := l.values(p) + p.Failed(); {
		case value != nil && math.IsInf(*value, 1):
			return fmt.Sprintf("%s is infinite: %d of %d requests failed (limit %s)", l.name(), p.Failed(), p.Issued-p.Cancelled, l.text())
		case value != nil && !math.IsNaN(*value):
			return fmt.Sprintf("%s of %s is not a time that can be held against the limit of %s", l.name(), format.Seconds(*value), l.text())
		case n < schema.MinSamples(l.stat):
			had := fmt.Sprintf("and there were %d", n)
			if all := p.OK + p.Failed(); n < all {
				had = fmt.Sprintf("that have one, and %d of %d had", n, all)
			}
			return fmt.Sprintf("%s is unknown: it needs %d requests %s (limit %s)", l.name(), schema.MinSamples(l.stat), had, l.text())
		default:
			return fmt.Sprintf("%s is unknown (limit %s)", l.name(), l.text())
		}
	}
	return ""
}

// uncounted holds that output tokens are known, and the figure to maximize.
func (r *Rule) uncounted(p *measure.Point) string {
	if p.OutputTokens == nil {
		return "output tokens are unknown: at least one ok request has no count"
	}
	if r.throughput(p) != nil {
		return ""
	}
	if r.maximized() == steadyThroughput && p.SteadyReason != nil {
		return fmt.Sprintf("%s is unknown: %s", r.maximized(), *p.SteadyReason)
	}
	return r.maximized() + " is unknown"
}

// notInFlight holds the load that was kept up against the one that was asked for.
func (r *Rule) notInFlight(p *measure.Point) string {
	asked, ok := p.Asked()
	if !ok {
		return "in flight: nothing says how much there should have been"
	}
	if asked.Dimension == "rate" {
		return r.offRate(asked)
	}
	least, target := r.Select.Tolerance.InFlight, *asked.Target
	if !known(asked.Achieved) {
		reason := fmt.Sprintf("%s in flight in the steady window are unknown (at least %s of %g needed)", asked.Dimension, format.Percent(least), target)
		if p.SteadyReason != nil {
			reason += ": " + *p.SteadyReason
		}
		return reason
	}
	if *asked.Achieved >= least*target {
		return ""
	}
	got, needed := format.Apart(*asked.Achieved/target, least, format.PercentTo, format.Digits-1)
	reason := fmt.Sprintf("only %s of %g %s in flight (%s, at least %s needed)", format.Number(*asked.Achieved), target, asked.Dimension, got, needed)
	if kept := p.KeptOpen; kept != nil && *kept > p.Issued/2 {
		reason += fmt.Sprintf(": %d responses had not ended 5 ms after [DONE], and until then their slots stay taken: have the service, or a proxy before it, end them there, or ask for longer outputs", *kept)
	}
	return reason
}

func (r *Rule) offRate(asked measure.Asked) string {
	most := r.Select.Tolerance.Rate
	if !known(asked.Achieved) || !known(asked.Target) {
		return fmt.Sprintf("achieved request rate is unknown (within %s of the scheduled one needed)", format.Percent(most))
	}
	off := math.Abs(*asked.Achieved - *asked.Target)
	if off <= most**asked.Target {
		return ""
	}
	got, allowed := format.Apart(off / *asked.Target, most, format.PercentTo, format.Digits-1)
	sent, scheduled := format.Apart(*asked.Achieved, *asked.Target, format.NumberTo, format.Digits)
	return fmt.Sprintf("%s requests/s were sent, %s were scheduled (%s off, at most %s allowed)", sent, scheduled, got, allowed)
}

// sumTolerance is how far prompts of random words may be off what was asked for, all together, where the preset does not say.
const sumTolerance = 0.01

// promptLength holds prompts against the length asked for, which calibration met: a service that changes them since, or a template that differs,
// does other work. Each fixed prompt is judged, and random ones together. The prompts of other workloads have no length that was asked for.
func (r *Rule) promptLength(p *measure.Point) string {
	off, most, which := p.PromptOff, 0.0, "a prompt"
	switch p.Workload {
	case "fixed":
	case "random":
		most, which = sumTolerance, "all prompts together"
		if off = nil; p.PromptRatio != nil {
			apart := math.Abs(*p.PromptRatio - 1)
			off = &apart
		}
	default:
		return ""
	}
	if declared := r.Select.Tolerance.PromptLength; declared != nil {
		most = *declared
	}
	switch {
	case !known(off):
		return fmt.Sprintf("prompt length over what was asked for is unknown (at most %s off allowed)", format.Percent(most))
	case *off <= most:
		return ""
	}
	got, allowed := format.Apart(*off, most, format.PercentTo, format.Digits-1)
	return fmt.Sprintf("the length of %s is %s off what was asked for (at most %s allowed)", which, got, allowed)
}

// outputLength holds the output against what was asked for. A service that ends early has short, cheap requests, which only ignore_eos forbids. One
// that counts more tokens than max_tokens allows, by as much as the tolerance has below, has a throughput that nobody saw.
func (r *Rule) outputLength(p *measure.Point) string {
	if p.OutputRatio == nil && !p.IgnoreEOS {
		return ""
	}
	least := r.Select.Tolerance.OutputLength
	most := 2 - least
	switch {
	case !known(p.OutputRatio):
		return fmt.Sprintf("output length over what was asked for is unknown (%s to %s allowed)", format.Percent(least), format.Percent(most))
	case *p.OutputRatio > most:
		got, allowed := format.Apart(*p.OutputRatio, most, format.PercentTo, format.Digits-1)
		return fmt.Sprintf("output length is %s of what was asked for (at most %s allowed: a service that keeps to max_tokens can't have more)", got, allowed)
	case p.IgnoreEOS && *p.OutputRatio < least:
		got, needed := format.Apart(*p.OutputRatio, least, format.PercentTo, format.Digits-1)
		return fmt.Sprintf("output length is %s of what was asked for (at least %s needed with ignore_eos)", got, needed)
	}
	return ""
}

func (r *Rule) contextTooShort(p *measure.Point) string {
	least := r.Limits.MinContextLength
	switch {
	case least == nil || p.ContextLength != nil && *p.ContextLength >= *least:
		return ""
	case p.ContextLength != nil:
		return fmt.Sprintf("context length %d is below the limit of %d", *p.ContextLength, *least)
	case p.ContextReason != nil:
		return fmt.Sprintf("context length is unknown (at least %d needed): %s", *least, *p.ContextReason)
	}
	return fmt.Sprintf("context length is unknown (at least %d needed)", *least)
}

// clientTooSlow holds the client's own lag against what it measured.
func clientTooSlow(p *measure.Point) string {
	most := clientLagSeconds
	if median := usable(p.TTFT.P50); median != nil {
		most = max(most, clientLagShare**median)
	}
	if !known(p.LagP99) {
		return fmt.Sprintf("client lag p99 is unknown (at most %s allowed)", format.Seconds(most))
	}
	if *p.LagP99 <= most {
		return ""
	}
	lag, limit := format.Apart(*p.LagP99, most, format.SecondsTo, format.Digits)
	return fmt.Sprintf("client lag p99 %s is above the limit of %s: the client was too slow to be trusted", lag, limit)
}
