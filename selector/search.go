package selector

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// Probe is a load of a search with what was measured of it so far.
type Probe struct {
	Repeats    int64   // measurements made
	Again      *int64  // the first repeat that could not be judged and was tried once; nil where there is none
	Eligible   bool    // it can be judged
	Lagging    bool    // it can't, and only because the client was too slow: that says nothing of the service
	Feasible   bool    // eligible, and every limit is met
	Made       int64   // measurements, those that could not be judged and were made once more among them
	Close      string  // in words, why more requests could tell whether a limit is met: too close to call, or too few of them; empty where they could not
	Reasons    string  // in words, why it is not eligible or not feasible
	Throughput float64 // the figure to maximize, of an eligible one
}

// Step is what a search does next.
type Step struct {
	Load   int64  // to be measured; 0: the search has ended
	Repeat int64  // which repeat of it, from 0
	Why    string // in words: why this load, or why the search has ended
}

// Searched is how a search stands.
type Searched struct {
	schema.Search
	Points       int64  `json:"points"`       // loads tried
	Measurements int64  `json:"measurements"` // of all their repeats
	Ended        bool   `json:"ended"`
	Why          string `json:"why"`              // why it ended, or what comes next
	Holds        *int64 `json:"last_feasible"`    // the load below Breaks that meets the limits; null where none was found
	Breaks       *int64 `json:"first_infeasible"` // the load above Holds that does not; null where none was found
	// What Breaks does not meet, in words.
	Broken string `json:"broken"`
}

// Next decides what a search does next from the loads that were tried, by load. It decides from nothing else, so that a search that was stopped goes on
// as it would have. Each load is measured repeats times, a repeat that can't be judged once more, and a load that is too close to call again, until it is
// clear or was measured MaxRepeats times.
//
//  1. The load doubles from From on, until a limit is broken, throughput has fallen twice in a row, or To was tried. One load that can't be judged, or a
//     first one that breaks a limit, does not end that: two in a row do. A client that was too slow never ends it.
//  2. Between the last load that meets the limits and the first that does not, halfway, until the gap is within Tolerance.
//  3. Around the feasible load with the highest throughput, until the gaps to its neighbours are. The answer is that load, and it may lie far below the
//     limit where throughput falls before.
//
// No load outside From and To is ever given, and not more than MaxPoints of them.
func Next(s schema.Search, repeats int64, probes map[int64]Probe) (Step, Searched) {
	w := &walk{Search: s, repeats: max(repeats, 1), probes: probes, tried: map[int64]Probe{}}
	if w.double() && w.narrow() {
		w.refine()
	}
	return w.step, w.searched()
}

// walk goes the way of a search from its start, as far as what is known leads.
type walk struct {
	schema.Search
	repeats int64
	probes  map[int64]Probe
	tried   map[int64]Probe
	step    Step

	holds, breaks int64 // see [Searched]; 0 for none
}

// at is what is known of a load. Where more has to be measured, or no point is left, it is false and the walk's step says so.
func (w *walk) at(load int64, why string) (Probe, bool) {
	_, visited := w.tried[load]
	if !visited && int64(len(w.tried)) >= w.MaxPoints {
		return Probe{}, w.end("all %d points of max_points were tried: %s would come next, %s", w.MaxPoints, w.named(load), why)
	}
	p := w.probes[load]
	if p.Repeats > 0 {
		w.tried[load] = p
	}
	switch {
	case p.Repeats < w.repeats:
		w.step = Step{load, p.Repeats, why}
	case p.Again != nil:
		w.step = Step{load, *p.Again, "once more, it could not be judged: " + p.Reasons}
	case p.Close != "" && p.Repeats < w.MaxRepeats:
		w.step = Step{load, p.Repeats, "again, " + p.Close}
	default:
		return p, true
	}
	return p, false
}

// end ends the search.
func (w *walk) end(why string, args ...any) bool {
	w.step = Step{Why: fmt.Sprintf(why, args...)}
	return false
}

func (w *walk) named(load int64) string {
	return strings.ReplaceAll(w.Over, "request_concurrency", "request cap") + fmt.Sprintf(" %d", load)
}

// double goes up from the lowest load. It is false where the search waits for a measurement, or has ended.
func (w *walk) double() bool {
	var bad []int64   // the last loads in a row that do not meet the limits
	var before *Probe // the last that does
	fallen := 0       // how often throughput fell in a row
	why := "the lowest load"
	for load := w.From; ; load = w.above(load) {
		p, known := w.at(load, why)
		if !known {
			return false
		}
		why = fmt.Sprintf("%s from %d, which %s", w.stepUp(load), load, p.said())
		switch {
		case p.Lagging:
		case !p.Feasible:
			bad = append(bad, load)
		default:
			if before != nil && p.Throughput < before.Throughput {
				fallen++
			} else {
				fallen = 0
			}
			w.holds, before, bad = load, &p, nil
		}
		if fallen == 2 || load == w.To || len(bad) == 2 || len(bad) == 1 && p.Eligible && w.holds > 0 {
			break
		}
	}
	switch {
	case w.holds == 0 && len(bad) > 1:
		return w.end("no load is feasible: neither %d nor %d is", bad[0], bad[1])
	case w.holds == 0 && len(bad) == 0:
		return w.end("no load is feasible: none from %d to %d could be judged", w.From, w.To)
	case w.holds == 0:
		return w.end("no load is feasible: %d is not", bad[0])
	case len(bad) > 0:
		w.breaks = bad[0]
		if last := bad[len(bad)-1]; w.tried[last].Eligible {
			w.breaks = last // what could not be judged below it says nothing
		}
	}
	return true
}

// above is the double of a load, and the upper bound after the last of them.
func (w *walk) above(load int64) int64 {
	if load > w.To/2 {
		return w.To
	}
	return 2 * load
}

func (w *walk) stepUp(load int64) string {
	if load > w.To/2 {
		return "up to the upper bound"
	}
	return "doubled"
}

// said is what came of a load, in words.
func (p *Probe) said() string {
	switch {
	case p.Feasible:
		return "is feasible"
	case p.Eligible:
		return "is not"
	}
	return "could not be judged"
}

// narrow looks for where the limits break.
func (w *walk) narrow() bool {
	for w.breaks > 0 && !w.near(w.holds, w.breaks) {
		middle := w.holds + (w.breaks-w.holds)/2
		broken := w.tried[w.breaks]
		p, known := w.at(middle, fmt.Sprintf("halfway between %d, which is feasible, and %d, which %s", w.holds, w.breaks, broken.said()))
		switch {
		case !known:
			return false
		case p.Feasible:
			w.holds = middle
		default:
			w.breaks = middle
		}
	}
	return true
}

// near reports whether nothing has to be tried between two loads.
func (w *walk) near(low, high int64) bool {
	return high-low <= 1 || float64(high-low) <= w.Tolerance*float64(low)
}

// refine looks for the highest throughput around the best load, until it is known to within the tolerance.
func (w *walk) refine() bool {
	for {
		loads := slices.Sorted(maps.Keys(w.tried))
		i := w.best(loads)
		best := loads[i]
		low, high := best, best
		if i > 0 && !w.near(loads[i-1], best) {
			low = loads[i-1]
		}
		if i+1 < len(loads) && !w.near(best, loads[i+1]) {
			high = loads[i+1]
		}
		if low == best && high == best {
			return w.end("nothing is left to try within %s of %d, the feasible load with the highest throughput", format.Percent(w.Tolerance), best)
		}
		if load, why := w.beside(loads, i, low, high); !w.try(load, why) {
			return false
		}
	}
}

func (w *walk) try(load int64, why string) bool {
	_, known := w.at(load, why)
	return known
}

// beside is the load to try next near the best, the ith, whose sides are open down to low and up to high. Where nothing feasible lies on one side, throughput
// is likely to rise up to the best: one load just short of it tells. Else it is the middle of the wider side.
func (w *walk) beside(loads []int64, i int, low, high int64) (load int64, why string) {
	best := loads[i]
	feasible := func(i int) bool { return i >= 0 && i < len(loads) && w.tried[loads[i]].Feasible }
	switch {
	case high == best && !feasible(i+1):
		load = min(best-1, int64(math.Ceil(float64(best)/(1+w.Tolerance))))
		if !w.near(load, best) {
			load++
		}
		return load, fmt.Sprintf("just below %d, to see whether throughput rises up to it", best)
	case low == best && !feasible(i-1):
		return best + max(1, int64(w.Tolerance*float64(best))), fmt.Sprintf("just above %d, to see whether throughput falls from it on", best)
	case float64(best)/float64(low) > float64(high)/float64(best):
		return low + (best-low)/2, fmt.Sprintf("halfway between %d, which has the highest throughput so far, and %d", best, low)
	}
	return best + (high-best)/2, fmt.Sprintf("halfway between %d, which has the highest throughput so far, and %d", best, high)
}

// best is the position of the feasible load with the highest throughput, the lowest of equals. There is one: double found it.
func (w *walk) best(loads []int64) int {
	best := -1
	for i, load := range loads {
		if p := w.tried[load]; p.Feasible && (best < 0 || p.Throughput > w.tried[loads[best]].Throughput) {
			best = i
		}
	}
	return best
}

func (w *walk) searched() Searched {
	s := Searched{Search: w.Search, Points: int64(len(w.tried)), Ended: w.step.Load == 0, Why: w.step.Why}
	for _, p := range w.tried {
		s.Measurements += p.Made
	}
	if !s.Ended {
		s.Why = fmt.Sprintf("%s: %s", w.named(w.step.Load), w.step.Why)
	}
	if w.breaks > 0 {
		s.Holds, s.Breaks, s.Broken = &w.holds, &w.breaks, w.tried[w.breaks].Reasons
	}
	return s
}

// NextOf is [Next] for the judged points of a series.
func NextOf(s schema.Search, repeats int64, v Verdict) (Step, Searched) {
	probes := map[int64]Probe{}
	for i := range v.Points {
		if load := searchedLoad(s, v.Points[i].Load); load != nil {
			probes[*load] = v.Rule.probe(&v.Points[i])
		}
	}
	return Next(s, repeats, probes)
}

func searchedLoad(s schema.Search, load schema.PointLoad) *int64 {
	if s.Over == "request_concurrency" {
		return load.RequestConcurrency
	}
	return load.Concurrency
}

// attempts is how often the repeats were tried in all.
func attempts(repeats []measure.Point) int64 {
	var made int64
	for i := range repeats {
		made += repeats[i].Attempt + 1
	}
	return made
}

func (r *Rule) probe(j *Judged) Probe {
	p := Probe{Repeats: int64(len(j.Repeats)), Made: attempts(j.Repeats), Eligible: j.Eligible, Feasible: j.Feasible, Reasons: strings.Join(j.Reasons, ", "), Throughput: orZero(r.throughput(&j.Medians))}
	if j.TooClose() {
		p.Close = "too close to call: " + j.closeText()
	} else if few := j.heldText((*Held).tooFew); j.Eligible && few != "" {
		p.Close = "too few requests to be sure: " + few
	}
	for i := range j.Repeats {
		row := &j.Repeats[i]
		if row.Status == measure.PointInterrupted || row.Attempt == 0 && len(r.ineligible(row)) > 0 {
			p.Again = &row.Repeat
			break
		}
	}
	p.Lagging = len(j.Repeats) > 0 && !j.Eligible
	for i := range j.Repeats {
		reasons := r.ineligible(&j.Repeats[i])
		p.Lagging = p.Lagging && (len(reasons) == 0 || len(reasons) == 1 && clientTooSlow(&j.Repeats[i]) != "")
	}
	return p
}

// text says how a search stands.
func (s *Searched) text() string {
	tried := fmt.Sprintf("%d loads in %d measurements", s.Points, s.Measurements)
	if s.Points == 1 {
		tried = "one load"
	}
	if !s.Ended {
		return sentence(fmt.Sprintf("The search tried %s and has not ended: next is %s", tried, s.Why))
	}
	text := fmt.Sprintf("The search tried %s from %d to %d and ended: %s.", tried, s.From, s.To, s.Why)
	if s.Breaks != nil {
		text += fmt.Sprintf(" What is feasible ends between %d and %d (%s).", *s.Holds, *s.Breaks, s.Broken)
	}
	return text
}

// isUpper reports whether a load is the highest that the search may try.
func (s *Searched) isUpper(load schema.PointLoad) bool {
	searched := searchedLoad(s.Search, load)
	return searched != nil && *searched == s.To
}
