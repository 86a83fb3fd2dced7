package selector

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector/format"
)

// What the figures of the selected point must exceed, unless it says otherwise, to be worth a word.
const (
	driftFactor   = 1.5 // of the time to first token, between the first and the last third
	waveFactor    = 2.0 // of its 95th percentile, with the first wave over without
	busyShare     = 0.8 // of the time that the client's processors had
	tokensAnEvent = 0.5 // what tokens for each event with text must fall below

	burstGap = 100e-6 // what the median gap between chunks, in seconds, must fall below: a single answer of 10,000 chunks a second is none of a model's
)

// ofLength are the workloads whose answers are meant to have the length asked for; elsewhere that is a most.
var ofLength = []string{"fixed", "random"}

// notes are what to know of the selected point, and of all points what tells of a broken model, a sentence each. They change nothing about who wins.
func (v *Verdict) notes() []string {
	notes := append([]string{}, v.cacheNotes()...)
	add := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	broken, where := v.degenerate()
	winner := v.Winner()
	if winner == nil {
		add(broken, "Every longer output repeated one text%s: the model may be broken.", where)
		return notes
	}
	p := &winner.Medians
	add(p.Workload == "fixed" && p.Cache == "shared", "One and the same prompt was sent throughout and the cache is shared: its ttft is that of a cached prompt.")
	if len(winner.Unchecked) > 0 {
		notes = append(notes, uncheckedText(winner))
	}
	for _, row := range winner.Repeats {
		if row.Planned != nil && row.Issued < *row.Planned {
			add(true, "It measured %d of the %d requests that were planned.", row.Issued, *row.Planned)
			break
		}
	}
	if few := winner.heldText((*Held).tooFew); few != "" {
		add(true, "How sure that is can't be said with so few requests: its %s.", few)
	}
	add(winner.Spread != nil, "Its throughput is spread over %s across the repeats.", format.Optional(winner.Spread, format.Percent))
	add(broken, "Every longer output repeated one text%s: the model may be broken.", where)
	add(p.ClientLimited, "The client lagged by %s at p99%s, which may have slowed what it measured.", format.Optional(worstLag(winner), format.Seconds), inWorst(winner))
	stat := v.Rule.Limits.TTFTStat
	if scheduled := usable(p.ScheduledRate); scheduled != nil && winner.Load.RequestRate != nil {
		asked := *winner.Load.RequestRate
		add(math.Abs(*scheduled-asked) > v.Rule.Select.Tolerance.Rate*asked,
			"The arrivals drawn came to %s/s where %s/s were asked for: a longer duration comes nearer.", format.Number(*scheduled), format.Number(asked))
	}
	add(p.Late > 0, "%d of %d requests waited for a slot: ttft %s is %s counted from when requests were due, %s from when they were sent.", p.Late, p.Issued,
		stat, format.Optional(p.TTFTScheduled.Stat(stat), format.Seconds), format.Optional(p.TTFT.Stat(stat), format.Seconds))
	if share := usable(p.CPUShare); share != nil {
		add(*share > busyShare, "The client used %s of its processors' time, which may have slowed what it measured.", format.Percent(*share))
	}
	if tokens := usable(p.TokensPerChunk); tokens != nil {
		add(*tokens < tokensAnEvent, "The service counts %s tokens for each event with text: its token counts may be wrong.", format.Number(*tokens))
	}
	if gap := p.ICL.P50; known(gap) {
		add(*gap < burstGap, "Half of its chunks came within %s of the one before, as from a proxy that holds a response back: tpot and icl are not the service's.", format.Seconds(burstGap))
	}
	if r := usable(p.OutputRatio); r != nil && !p.IgnoreEOS && slices.Contains(ofLength, p.Workload) {
		add(*r < v.Rule.Select.Tolerance.OutputLength, "Its answers had %s of the tokens asked for: request.ignore_eos has a service that knows it write all of them.", format.Percent(*r))
	}
	if p.Source == nil && p.OutputByTokenizer() {
		alone := *p.TokenSource == string(measure.FromTokenizer)
		add(alone, "Its tokens were counted by request.tokenizer on this machine, which knows no chat template.")
		add(!alone, "Its output tokens were counted by request.tokenizer on this machine: the service's usage counts the prompt alone.")
	}
	add(p.TokenSource != nil && *p.TokenSource == string(measure.FromTokenizerAndServer),
		"Its prompt tokens were counted by request.tokenizer on this machine, which knows no chat template: the service's usage counts the output alone.")
	if d := usable(p.TTFTDrift); d != nil {
		add(*d > driftFactor || *d < 1/driftFactor, "Its ttft drifts: the median of the last third of the requests is %s times that of the first.", format.Number(*d))
	}
	add(openingWave(p), "The opening wave explains its tail: ttft p95 is %s, and %s without the first requests.",
		format.Optional(p.TTFT.P95, format.Seconds), format.Optional(p.TTFTAfterWave, format.Seconds))
	add(v.Rule.Limits.MinContextLength != nil && p.ContextLengthSource != nil && *p.ContextLengthSource != "probe",
		"Its context length was reported; no request of the run has filled it.")
	return notes
}

// worstLag is the greatest of the repeats' lags.
func worstLag(p *Judged) *float64 {
	var worst *float64
	for i := range p.Repeats {
		if lag := usable(p.Repeats[i].LagP99); lag != nil && (worst == nil || *lag > *worst) {
			worst = lag
		}
	}
	return worst
}

func inWorst(p *Judged) string {
	if len(p.Repeats) < 2 {
		return ""
	}
	return " in the worst repeat"
}

// uncheckedText says what another tool's results leave open.
func uncheckedText(p *Judged) string {
	return fmt.Sprintf("It was measured by %s, which does not say enough to check: %s.", *p.Medians.Source, strings.Join(p.Unchecked, ", "))
}

// degenerate reports whether any point has degenerate output, and where unless it is the selected one alone.
func (v *Verdict) degenerate() (bool, string) {
	points := v.pointsThat(func(p *Judged) bool { return p.Medians.Degenerate })
	if len(points) == 0 || len(points) == 1 && points[0].Selected {
		return len(points) > 0, ""
	}
	var loads []string
	for _, p := range points {
		loads = append(loads, LoadText(p.Load))
	}
	return true, " at " + strings.Join(loads, "; ")
}

func openingWave(p *measure.Point) bool {
	with, without := usable(p.TTFT.P95), usable(p.TTFTAfterWave)
	return with != nil && without != nil && *with > waveFactor**without
}
