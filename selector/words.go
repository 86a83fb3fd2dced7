package selector

import (
	"fmt"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// Text says the verdict in one paragraph of plain words, without a line break: the winner, what it is ahead of, what the limits cost, where it
// stands in the ladder, what failed, and the rule.
func (v Verdict) Text() string { return v.text(v.rejections(func(Rejected) bool { return true })) }

// BesideReasons is [Verdict.Text] for where the points that are not eligible stand beside it, with their reasons: these are left out.
func (v Verdict) BesideReasons() string {
	return v.text(v.rejections(func(r Rejected) bool { return r.Eligible }))
}

func (v *Verdict) text(rejections string) string {
	sentences := []string{v.headline(rejections), v.fromText(), v.unmeasuredText()}
	if winner := v.Winner(); winner != nil {
		sentences = append(sentences, v.runnerUpText(), v.costText(winner), v.ladderText(winner), v.plateauText())
	}
	if v.Verification != nil {
		sentences = append(sentences, v.Verification.text(v.Winner()))
	}
	if v.Search != nil {
		sentences = append(sentences, v.Search.text())
	}
	sentences = append(sentences, v.tooCloseText(), v.failedText())
	sentences = append(sentences, v.disagreements()...)
	sentences = append(sentences, v.Notes...)
	sentences = append(sentences, "Rule: "+v.Rule.Text()+".")
	return paragraph(sentences)
}

func (v *Verdict) fromText() string {
	if v.From == nil {
		return ""
	}
	return fmt.Sprintf("It was measured earlier, in %s.", v.From.Text())
}

// paragraph joins what is not empty; messages of services may hold line breaks, which become blanks.
func paragraph(sentences []string) string {
	return strings.Join(strings.Fields(strings.Join(sentences, " ")), " ")
}

// sentence ends text with a full stop, unless it ends a sentence by itself, as the message of a service may.
func sentence(text string) string {
	if text == "" || strings.ContainsRune(".?!", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

func (v *Verdict) trial() string {
	if v.TrialName == "" {
		return "the trial"
	}
	return v.TrialName
}

func (v *Verdict) headline(rejections string) string {
	winner := v.Winner()
	switch {
	case winner != nil && v.Feasible:
		return fmt.Sprintf("%s: %s is selected with %s%s.", v.trial(), LoadText(winner.Load), v.Rule.rateText(winner), withinText(winner))
	case winner != nil:
		return fmt.Sprintf("%s: no point meets the limits; the fallback, not feasible, is %s with the lowest ttft %s of %s and %s: %s.", v.trial(), LoadText(winner.Load),
			v.Rule.Limits.TTFTStat, format.Optional(v.Rule.ttft(&winner.Medians), format.Seconds), v.Rule.rateText(winner), strings.Join(winner.Reasons, ", "))
	case len(v.Points) == 0:
		return v.trial() + ": no winner, there are no points."
	}
	return fmt.Sprintf("%s: no winner, %s. %s", v.trial(), v.whyNone(), sentence(rejections))
}

func (v *Verdict) whyNone() string {
	for _, p := range v.Points {
		if p.Eligible {
			return fmt.Sprintf("no point meets the limits and none has a ttft %s to fall back on", v.Rule.Limits.TTFTStat)
		}
	}
	return "no point is eligible"
}

// unmeasuredText counts the points that were not measured to their end, as in a run that was interrupted.
func (v *Verdict) unmeasuredText() string {
	n := len(v.pointsThat(func(p *Judged) bool {
		return p.Status == StatusIncomplete || p.Status == string(measure.PointInterrupted)
	}))
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d points were not measured to their end", n, len(v.Points))
	if v.Winner() != nil {
		text += ": another may be better"
	}
	return text + "."
}

// rejections says why points were rejected, those that are told; points with the same reasons are told together.
func (v *Verdict) rejections(told func(Rejected) bool) string {
	var texts []string
	for _, group := range v.ByReasons() {
		if !told(group) {
			continue
		}
		texts = append(texts, group.Loads+": "+strings.Join(group.Reasons, ", "))
	}
	return strings.Join(texts, "; ")
}

// Rejected are points that are not chosen for the same reasons.
type Rejected struct {
	Loads    string // in words, such as "concurrency 1; concurrency 2", or "all 5 points"
	Eligible bool   // they could be chosen, but for a limit
	Reasons  []string
}

// ByReasons groups the points that have reasons against them by those, in the order of the points.
func (v *Verdict) ByReasons() []Rejected {
	var groups []Rejected
	var sizes []int
	for _, p := range v.Points {
		i := slices.IndexFunc(groups, func(g Rejected) bool { return g.Eligible == p.Eligible && slices.Equal(g.Reasons, p.Reasons) })
		switch {
		case len(p.Reasons) == 0:
		case i >= 0:
			groups[i].Loads += "; " + LoadText(p.Load)
			sizes[i]++
		default:
			groups, sizes = append(groups, Rejected{LoadText(p.Load), p.Eligible, p.Reasons}), append(sizes, 1)
		}
	}
	if len(groups) == 1 && sizes[0] > 1 && sizes[0] == len(v.Points) {
		groups[0].Loads = fmt.Sprintf("all %d points", sizes[0])
	}
	return groups
}

// rateText is the throughput that ranks, in words.
func (r *Rule) rateText(p *Judged) string {
	text := format.Optional(r.throughput(&p.Medians), format.Number) + " tok/s"
	if r.maximized() == steadyThroughput {
		text += " steady"
	}
	return text
}

// withinText says each figure that a limit is on, or the median time to first token where there is no limit.
func withinText(p *Judged) string {
	if len(p.Limits) == 0 {
		return fmt.Sprintf(" and ttft p50 %s; no limit is set", format.Optional(usable(p.Medians.TTFT.P50), format.Seconds))
	}
	var texts []string
	for _, h := range p.Limits {
		texts = append(texts, fmt.Sprintf("%s %s (limit %s)", h.Name, format.Optional(h.Value, format.Seconds), format.Seconds(h.Limit)))
	}
	return " and " + strings.Join(texts, ", ")
}

func (v *Verdict) runnerUpText() string {
	m := v.RunnerUp
	if len(v.Points) == 1 {
		return ""
	}
	if m == nil && v.Feasible {
		return "No other point could be chosen."
	}
	if m == nil {
		return "No other point could be the fallback."
	}
	second := v.Point(&m.PointID)
	if m.Figure == v.Rule.maximized() {
		return fmt.Sprintf("It is %s ahead of the runner-up, %s (%s)%s.", format.Optional(m.Ahead, format.Percent), LoadText(second.Load), v.Rule.rateText(second), m.noiseText())
	}
	return fmt.Sprintf("The next lowest is %s with %s, %s more%s.", LoadText(second.Load), format.Seconds(m.Value), format.Optional(m.Ahead, format.Percent), m.noiseText())
}

// noiseText says whether the repeats tell a margin from noise.
func (n *Noise) noiseText() string {
	switch {
	case n.Distinct == nil:
		return fmt.Sprintf("; need >= %d repeats to tell that from noise", n.NeedRepeats)
	case *n.Distinct:
		return fmt.Sprintf("; the repeats tell that from noise (p=%.3f)", *n.P)
	}
	return fmt.Sprintf("; the repeats do not tell that from noise (p=%.3f)", *n.P)
}

func (v *Verdict) costText(winner *Judged) string {
	if len(v.Rule.limits()) == 0 || v.Unconstrained == nil {
		return ""
	}
	if v.Unconstrained.PointID == winner.PointID {
		if !v.Feasible {
			return ""
		}
		return "The limits cost no throughput: no eligible point has more."
	}
	best := v.Point(&v.Unconstrained.PointID)
	return fmt.Sprintf("Without the limits %s would be selected with %s: they cost %s of it.", LoadText(best.Load), v.Rule.rateText(best), format.Percent(v.Unconstrained.Share))
}

func (v *Verdict) ladderText(winner *Judged) string {
	last := v.Points[len(v.Points)-1]
	switch {
	case v.Search != nil && v.LastOfLadder && v.Search.isUpper(winner.Load):
		return "It is the upper bound of the search: raise load.search.to to know whether more load is better."
	case v.Search != nil:
		return ""
	case len(v.Points) == 1:
		return "It is the only point of the ladder: more levels are needed to know whether another is better."
	case v.LastOfLadder && v.Feasible && !fullPrefill(winner.Load):
		return "It is the last point of the ladder: extend the ladder to know whether more load is better."
	case v.LastOfLadder:
		return "It is the last point of the ladder."
	}
	return fmt.Sprintf("The ladder goes on to %s.", LoadText(last.Load))
}

// fullPrefill reports whether the prefill cap is as high as it can be: there is no ladder beyond it.
func fullPrefill(load schema.PointLoad) bool {
	return load.PrefillConcurrency != nil && *load.PrefillConcurrency == load.Slots()
}

func (v *Verdict) plateauText() string {
	if p := v.Point(v.PlateauFrom); p != nil {
		return fmt.Sprintf("Throughput levels off from %s on: a doubling of the load adds less than %s.", LoadText(p.Load), format.Percent(plateauGain))
	}
	return ""
}

func (v *Verdict) failedText() string {
	if v.RequestsFailed == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d requests failed", v.RequestsFailed, v.RequestsIssued)
	if winner := v.Winner(); winner != nil {
		text += fmt.Sprintf(", %d of them at the selected point", winner.Medians.Failed())
	}
	return text + "."
}

// tooCloseText names the points whose interval spans a limit: whether they meet it is not known.
func (v *Verdict) tooCloseText() string {
	var texts []string
	for _, p := range v.Points {
		if p.TooClose() {
			texts = append(texts, LoadText(p.Load)+", whose "+p.closeText())
		}
	}
	if len(texts) == 0 {
		return ""
	}
	text := "Too close to call: "
	if winner := v.Winner(); winner != nil && winner.TooClose() {
		text = "Whether the selected point meets its limits is not certain. Too close to call: "
	}
	return text + strings.Join(texts, "; ") + "."
}

// closeText says each limit that is too close to call, with the interval.
func (j *Judged) closeText() string { return j.heldText((*Held).tooClose) }

// heldText says each limit that is so, with the interval.
func (j *Judged) heldText(so func(*Held) bool) string {
	var texts []string
	for _, h := range j.Limits {
		if so(&h) {
			texts = append(texts, fmt.Sprintf("%s %s is %s at 95 %% (limit %s)", h.Name, format.Optional(h.Value, format.Seconds), format.Interval(h.Lower, h.Upper, format.Seconds), format.Seconds(h.Limit)))
		}
	}
	return strings.Join(texts, " and ")
}

// disagreements names the points at which some repeats met a limit and others did not.
func (v *Verdict) disagreements() []string {
	var texts []string
	for _, p := range v.Points {
		for _, h := range p.Limits {
			if h.RepeatsMet > 0 && h.RepeatsMet < h.Repeats {
				texts = append(texts, fmt.Sprintf("%d of %d repeats at %s met the limit on %s.", h.RepeatsMet, h.Repeats, LoadText(p.Load), h.Name))
			}
		}
	}
	return texts
}
