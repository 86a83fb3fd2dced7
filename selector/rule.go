package selector

import (
	"fmt"
	"math"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// The figures that a rule can maximize.
const (
	wholeThroughput  = "output_tok_per_s"
	steadyThroughput = "steady_output_tok_per_s"
)

// The ways of comparing trials.
const (
	acrossSelected = "selected"
	acrossComplete = "complete"
)

// Rule is what points are judged by, as the preset declares it with its defaults filled in. Whatever else matters, the workload and whether the
// end-of-sequence token was ignored, stands in the rows.
type Rule struct {
	Limits schema.Limits `json:"limits"`
	Select schema.Select `json:"select"`
}

// maximized is the name of the figure that the winner has most of.
func (r *Rule) maximized() string {
	if r.Select.Maximize == steadyThroughput {
		return steadyThroughput
	}
	return wholeThroughput
}

// throughput is the figure to maximize; nil where it is not known, or no rate.
func (r *Rule) throughput(p *measure.Point) *float64 {
	if r.maximized() == steadyThroughput {
		return usable(p.SteadyOutputTokPS)
	}
	return usable(p.OutputTokPerS)
}

// ttft is the statistic of time to first token that a limit on it names, failures counted as infinite; nil where it is not known or infinite.
func (r *Rule) ttft(p *measure.Point) *float64 {
	return usable(p.TTFTAll.Stat(r.Limits.TTFTStat))
}

// ttftColumn is the column of that statistic.
func (r *Rule) ttftColumn() string { return "ttft_all_" + r.Limits.TTFTStat + "_s" }

// usable is v where it can be compared: a positive, finite number. Anything else is no measurement of a time or a rate.
func usable(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) || *v <= 0 {
		return nil
	}
	return v
}

// known reports whether a figure is a finite number that is not negative, as every share, rate and lag is.
func known(v *float64) bool { return v != nil && *v >= 0 && !math.IsInf(*v, 1) }

// limit is one declared limit on a time.
type limit struct {
	figure string // "ttft"
	stat   string // "p50"
	most   schema.Duration
	all    func(*measure.Point) measure.AllDist // the figure's statistics, failures counted as infinite
	values func(*measure.Point) int64           // how many ok requests had the figure
}

func (l *limit) name() string                    { return l.figure + " " + l.stat }
func (l *limit) column() string                  { return l.figure + "_all_" + l.stat + "_s" }
func (l *limit) value(p *measure.Point) *float64 { return l.all(p).Stat(l.stat) }

// interval is that of the statistic, and whether it leaves no doubt about a limit that the statistic meets or not: it lies wholly on the same side.
// clear is nil where too few requests leave the end open that could tell, and where there is no interval at all.
func (l *limit) interval(p *measure.Point, met bool) (lower, upper *float64, clear *bool) {
	lower, upper, _ = l.all(p).Interval(l.stat)
	nearest := lower
	if met {
		nearest = upper
	}
	if nearest == nil {
		return lower, upper, nil
	}
	sure := measure.Meets(nearest, l.most) == met
	return lower, upper, &sure
}

func (l *limit) text() string { return format.Seconds(l.most.Seconds()) }

// limits are the declared limits on times, in the order of the preset's fields.
func (r *Rule) limits() []limit {
	var declared []limit
	add := func(figure, stat string, most *schema.Duration, all func(*measure.Point) measure.AllDist, values func(*measure.Point) int64) {
		if most != nil {
			declared = append(declared, limit{figure, stat, *most, all, values})
		}
	}
	add("ttft", r.Limits.TTFTStat, r.Limits.MaxTTFT,
		func(p *measure.Point) measure.AllDist { return p.TTFTAll }, func(p *measure.Point) int64 { return p.TTFT.N })
	add("tpot", r.Limits.TPOTStat, r.Limits.MaxTPOT,
		func(p *measure.Point) measure.AllDist { return p.TPOTAll }, func(p *measure.Point) int64 { return p.TPOT.N })
	add("total_time", r.Limits.TotalTimeStat, r.Limits.MaxTotalTime,
		func(p *measure.Point) measure.AllDist { return p.TotalTimeAll }, func(p *measure.Point) int64 { return p.TotalTime.N })
	return declared
}

// Text says the rule in words: what is maximized, and under which limits.
func (r Rule) Text() string {
	var under []string
	for _, l := range r.limits() {
		under = append(under, l.name()+" at most "+l.text())
	}
	if r.Limits.MinContextLength != nil {
		under = append(under, fmt.Sprintf("context length at least %d", *r.Limits.MinContextLength))
	}
	under = append(under, "error rate at most "+format.Percent(r.Limits.MaxErrorRate))
	return "highest " + r.maximized() + " with " + strings.Join(under, ", ")
}

// acrossText says in words how trials are compared.
func (r Rule) acrossText() string {
	if r.Select.Across == acrossComplete {
		return "feasible trials first, then those whose every point is eligible, then by their selected point"
	}
	return "feasible trials first, then by their selected point"
}
