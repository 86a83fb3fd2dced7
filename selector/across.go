package selector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweetspot/selector/format"
)

// Winner is the ranking of trials that were asked the same, and the best of them.
type Winner struct {
	TrialID  *string  `json:"trial_id"` // nil where no trial has a selected point, or where the trials ask for different workloads
	Name     string   `json:"trial_name"`
	PointID  *string  `json:"point_id"`
	Feasible bool     `json:"feasible"`
	Ranking  []Place  `json:"ranking"`          // best first; empty where the trials ask for different workloads
	RunnerUp *Margin  `json:"runner_up"`        // nil where there is no second trial with a selected point
	Groups   []Winner `json:"groups,omitempty"` // where the trials ask for different workloads: the winner of each, in the order of the trials
	Rule     Rule     `json:"rule"`
}

// Place is a trial's place in a ranking, by its selected point. A trial without one has no figures and stands last.
type Place struct {
	TrialID    string   `json:"trial_id"`
	Name       string   `json:"trial_name"`
	PointID    *string  `json:"point_id"`
	Feasible   bool     `json:"feasible"`
	Complete   bool     `json:"complete"`   // every point is eligible
	Throughput *float64 `json:"throughput"` // the maximized figure
	TTFT       *float64 `json:"ttft_s"`     // the statistic that the limit names, failures counted as infinite
	Unchecked  bool     `json:"unchecked"`  // another tool measured the selected point and does not say enough to check it in full

	From *From `json:"from,omitempty"` // the earlier run that measured it; nil for this one

	point *Judged
}

// Across ranks trials by their verdicts, which are in the order of the file: feasible ones first; then those that could be checked in full; then, where the rule says so, those whose every
// point is eligible; then by the throughput of the selected point, then by its time to first token, then by the order of the file. Only trials
// with the same workload are ranked together: more tokens a second from shorter prompts is no better configuration.
func Across(verdicts []Verdict, rule Rule) Winner {
	var workloads []string
	for i := range verdicts {
		if !slices.Contains(workloads, verdicts[i].Workload) {
			workloads = append(workloads, verdicts[i].Workload)
		}
	}
	if len(workloads) == 1 {
		return rule.rank(verdicts)
	}
	w := Winner{Ranking: []Place{}, Rule: rule}
	for _, workload := range workloads {
		same := slices.DeleteFunc(slices.Clone(verdicts), func(v Verdict) bool { return v.Workload != workload })
		w.Groups = append(w.Groups, rule.rank(same))
	}
	return w
}

// rank ranks trials of one workload.
func (r *Rule) rank(verdicts []Verdict) Winner {
	w := Winner{Ranking: make([]Place, len(verdicts)), Rule: *r}
	for i := range verdicts {
		w.Ranking[i] = r.place(&verdicts[i])
	}
	slices.SortStableFunc(w.Ranking, r.before)
	first := w.Ranking[0]
	if first.point == nil {
		return w
	}
	w.TrialID, w.Name, w.PointID, w.Feasible = &first.TrialID, first.Name, first.PointID, first.Feasible
	if len(w.Ranking) > 1 && w.Ranking[1].point != nil {
		second := w.Ranking[1]
		w.RunnerUp = r.ahead(first.point, second.point)
		w.RunnerUp.TrialID = second.TrialID
	}
	return w
}

func (r *Rule) place(v *Verdict) Place {
	p := Place{TrialID: v.TrialID, Name: v.trial(), PointID: v.Selected, Feasible: v.Feasible, Complete: v.Complete, From: v.From, point: v.Winner()}
	if p.point != nil {
		p.Throughput, p.TTFT = r.throughput(&p.point.Medians), r.ttft(&p.point.Medians)
		p.Unchecked = len(p.point.Unchecked) > 0
	}
	return p
}

// before orders places from best to last.
func (r *Rule) before(a, b Place) int {
	order := []int{trueFirst(a.point != nil, b.point != nil), trueFirst(a.Feasible, b.Feasible), trueFirst(!a.Unchecked, !b.Unchecked)}
	if r.Select.Across == acrossComplete {
		order = append(order, trueFirst(a.Complete, b.Complete))
	}
	return cmp.Or(append(order, cmp.Compare(orZero(b.Throughput), orZero(a.Throughput)), compareCap(a.TTFT, b.TTFT))...)
}

// trueFirst puts what holds before what does not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Text says in one paragraph of plain words which trial is best, how far it is ahead and by which rule.
func (w Winner) Text() string {
	if len(w.Groups) > 0 {
		texts := []string{fmt.Sprintf("The trials ask for %d different workloads and are not ranked together.", len(w.Groups))}
		for _, group := range w.Groups {
			texts = append(texts, "Of "+group.names()+": "+group.places())
		}
		return paragraph(append(texts, w.ruleText()))
	}
	if w.TrialID == nil {
		return w.places()
	}
	return paragraph([]string{w.places(), w.ruleText()})
}

// names names the ranked trials, the first of many.
func (w *Winner) names() string {
	const told = 4
	var names []string
	for i, p := range w.Ranking {
		if i == told && len(w.Ranking) > told+1 {
			names = append(names, fmt.Sprintf("%d more", len(w.Ranking)-told))
			break
		}
		names = append(names, p.Name)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

// places says which of the ranked trials is best and what stands behind it.
func (w *Winner) places() string {
	if w.TrialID == nil {
		return "No trial has a winner."
	}
	texts := []string{w.headline(), w.runnerUpText()}
	if others := w.without(); len(others) > 0 {
		texts = append(texts, fmt.Sprintf("Without a winner: %s.", strings.Join(others, ", ")))
	}
	if slices.ContainsFunc(w.Ranking, func(p Place) bool { return p.Unchecked }) {
		texts = append(texts, "Trials that another tool measured and that can't be checked in full stand behind those that can.")
	}
	return paragraph(texts)
}

func (w *Winner) ruleText() string {
	return fmt.Sprintf("Rule across trials: %s.", w.Rule.acrossText())
}

func (w *Winner) headline() string {
	text := fmt.Sprintf("%s is the best trial with %s", w.Name, w.figureText(0))
	if !w.Feasible {
		text += "; it does not meet the limits, nor does any other trial"
	}
	if from := w.Ranking[0].From; from != nil {
		text += "; it was measured earlier, in " + from.Text()
	}
	return text + "."
}

// figureText is the throughput of the trial at a place of the ranking, and where it was reached.
func (w *Winner) figureText(place int) string {
	p := w.Ranking[place].point
	return fmt.Sprintf("%s at %s", w.Rule.rateText(p), LoadText(p.Load))
}

// runnerUpText compares throughputs only where they decided: a feasible trial may win with less than an infeasible one has.
func (w *Winner) runnerUpText() string {
	if w.RunnerUp == nil {
		return ""
	}
	first, second := w.Ranking[0], w.Ranking[1]
	switch {
	case first.Feasible && !second.Feasible:
		return fmt.Sprintf("Next is %s with %s, which does not meet the limits.", second.Name, w.figureText(1))
	case first.Unchecked != second.Unchecked:
		return fmt.Sprintf("Next is %s with %s, which can't be checked in full.", second.Name, w.figureText(1))
	case w.Rule.Select.Across == acrossComplete && first.Complete && !second.Complete:
		return fmt.Sprintf("Next is %s with %s, whose curve is not complete.", second.Name, w.figureText(1))
	}
	return fmt.Sprintf("It is %s ahead of %s with %s%s.", format.Optional(w.RunnerUp.Ahead, format.Percent), second.Name, w.figureText(1), w.RunnerUp.noiseText())
}

// without names the trials that have no selected point.
func (w *Winner) without() []string {
	var names []string
	for _, p := range w.Ranking {
		if p.point == nil {
			names = append(names, p.Name)
		}
	}
	return names
}
