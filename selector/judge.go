package selector

import (
	"cmp"
	"fmt"
	"slices"

	"sweetspot/runner/measure"
	"sweetspot/selector/format"
)

// Judge chooses a point of a series: the one with the highest throughput among those that are eligible and meet every declared limit; where none
// does, the eligible one with the lowest time to first token. Neither the order of points nor that of their rows matters.
func Judge(s Series, rule Rule) Verdict {
	v := Verdict{TrialID: s.TrialID, TrialName: s.TrialName, From: s.From, Workload: s.Workload, Status: statusFailed, Complete: len(s.Points) > 0, Rule: rule}
	planned := s.planned()
	for _, c := range s.Points {
		v.Points = append(v.Points, rule.judge(c, cmp.Or(c.Planned, planned)))
	}
	slices.SortStableFunc(v.Points, func(a, b Judged) int { return cmp.Or(CompareLoad(a.Load, b.Load), cmp.Compare(a.PointID, b.PointID)) })
	for i := range v.Points {
		p := &v.Points[i]
		v.Complete = v.Complete && p.Eligible
		v.RequestsIssued += p.Medians.Issued
		v.RequestsFailed += p.Medians.Failed()
	}
	v.scale()
	v.choose()
	v.Notes = v.notes()
	return v
}

// judge holds one point against the rule.
func (r *Rule) judge(c Candidate, planned int64) Judged {
	rows := latest(c.Repeats)
	j := Judged{PointID: c.PointID, Load: c.Load, Repeats: rows, Missing: planned - int64(len(rows))}
	if len(rows) > 0 {
		j.Medians = Medians(rows)
		j.pool(c.Pooled)
	}
	j.Medians.PointLoad, j.Medians.PointID = c.Load, c.PointID
	j.Status = string(j.Medians.Status)
	if j.Missing > 0 {
		j.Status = StatusIncomplete
	}
	j.Reasons = r.reasons(rows, planned)
	j.Eligible, j.Unchecked = len(j.Reasons) == 0, r.unchecked(rows)
	j.Limits = r.hold(&j)
	j.Feasible = j.Eligible
	for _, h := range j.Limits {
		j.Feasible = j.Feasible && h.Met
		if value := usable(h.Value); value != nil && !h.Met {
			had, limit := format.Apart(*value, h.Limit, format.SecondsTo, format.Digits)
			j.Reasons = append(j.Reasons, fmt.Sprintf("%s %s is above the limit of %s", h.Name, had, limit))
		}
	}
	j.Spread = spread(valuesOf(rows, r.throughput))
	return j
}

// pool puts the intervals of all repeats' requests in the place of those of one. Where the pool is of other requests, such as of fewer repeats, there
// are none.
func (j *Judged) pool(pooled *measure.Pooled) {
	if len(j.Repeats) == 1 {
		return
	}
	all := measure.Pooled{}
	if pooled != nil && pooled.Issued == j.Medians.Issued-j.Medians.Cancelled {
		all = *pooled
	}
	m := &j.Medians
	m.TTFTAll, m.TPOTAll = m.TTFTAll.WithIntervalsOf(all.TTFT), m.TPOTAll.WithIntervalsOf(all.TPOT)
	m.TotalTimeAll = m.TotalTimeAll.WithIntervalsOf(all.TotalTime)
}

// reasons are those of every repeat, named by its number from 0 unless all have the same, and of those that are missing. It is not nil, so that it is a list in JSON.
func (r *Rule) reasons(rows []measure.Point, planned int64) []string {
	reasons := []string{}
	if len(rows) == 0 {
		return append(reasons, "not measured")
	}
	if missing := planned - int64(len(rows)); missing > 0 {
		reasons = append(reasons, fmt.Sprintf("repeats missing: %d of %d", missing, planned))
	}
	each := make([][]string, len(rows))
	alike := len(rows) > 1
	for i := range rows {
		each[i] = r.ineligible(&rows[i])
		alike = alike && slices.Equal(each[i], each[0])
	}
	if alike {
		return append(reasons, named("each repeat", each[0])...)
	}
	for i := range rows {
		if planned > 1 {
			each[i] = named(fmt.Sprintf("repeat %d", rows[i].Repeat), each[i])
		}
		reasons = append(reasons, each[i]...)
	}
	return reasons
}

// named says whose reasons they are.
func named(whose string, reasons []string) []string {
	told := make([]string, len(reasons))
	for i, reason := range reasons {
		told[i] = whose + ": " + reason
	}
	return told
}

// hold judges the medians over the repeats, and counts the repeats that met each limit by themselves.
func (r *Rule) hold(j *Judged) []Held {
	held := []Held{}
	for _, l := range r.limits() {
		h := Held{Figure: l.column(), Name: l.name(), Value: l.value(&j.Medians), Limit: l.most.Seconds(), Repeats: int64(len(j.Repeats))}
		h.Met = measure.Meets(h.Value, l.most)
		h.Lower, h.Upper, h.Clear = l.interval(&j.Medians, h.Met)
		for i := range j.Repeats {
			if measure.Meets(l.value(&j.Repeats[i]), l.most) {
				h.RepeatsMet++
			}
		}
		held = append(held, h)
	}
	return held
}

// choose marks the selected point and says how it stands beside the others.
func (v *Verdict) choose() {
	r := &v.Rule
	eligible := v.pointsThat(func(p *Judged) bool { return p.Eligible })
	slices.SortFunc(eligible, r.byThroughput)
	ranked, margin := v.pointsThat(func(p *Judged) bool { return p.Feasible }), r.ahead
	slices.SortFunc(ranked, r.byThroughput)
	if v.Feasible = len(ranked) > 0; v.Feasible {
		v.Status = statusCompleted
	} else {
		ranked, margin = v.pointsThat(func(p *Judged) bool { return p.Eligible && r.ttft(&p.Medians) != nil }), r.sooner
		slices.SortFunc(ranked, r.byTTFT)
	}
	if len(ranked) == 0 {
		return
	}
	winner := ranked[0]
	winner.Selected = true
	v.Selected = &winner.PointID
	level := levels(v.Points)
	v.LastOfLadder = !slices.ContainsFunc(v.Points, func(p Judged) bool { return level(p.Load) > level(winner.Load) })
	v.Unconstrained = r.cost(eligible[0], winner)
	if len(ranked) > 1 {
		v.RunnerUp = margin(winner, ranked[1])
		v.RunnerUp.TrialID = v.TrialID
	}
}

// pointsThat are the points of v for which is holds.
func (v *Verdict) pointsThat(is func(*Judged) bool) []*Judged {
	var points []*Judged
	for i := range v.Points {
		if is(&v.Points[i]) {
			points = append(points, &v.Points[i])
		}
	}
	return points
}

// byThroughput ranks by the maximized figure; of equals first the lower time to first token, then the lower load.
func (r *Rule) byThroughput(a, b *Judged) int {
	return cmp.Or(r.moreThroughput(a, b), r.lessTTFT(a, b), CompareLoad(a.Load, b.Load), cmp.Compare(a.PointID, b.PointID))
}

// byTTFT ranks by time to first token; of equals first the higher throughput, then the lower load.
func (r *Rule) byTTFT(a, b *Judged) int {
	return cmp.Or(r.lessTTFT(a, b), r.moreThroughput(a, b), CompareLoad(a.Load, b.Load), cmp.Compare(a.PointID, b.PointID))
}

func (r *Rule) moreThroughput(a, b *Judged) int {
	return cmp.Compare(orZero(r.throughput(&b.Medians)), orZero(r.throughput(&a.Medians)))
}

// lessTTFT puts those without a time last, like caps without a bound.
func (r *Rule) lessTTFT(a, b *Judged) int { return compareCap(r.ttft(&a.Medians), r.ttft(&b.Medians)) }

func (r *Rule) cost(best, winner *Judged) *Cost {
	most, got := r.throughput(&best.Medians), r.throughput(&winner.Medians) // known: both points are eligible
	return &Cost{PointID: best.PointID, Value: *most, Share: 1 - *got / *most}
}
