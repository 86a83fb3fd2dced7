package presets

import (
	"math"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Benchmark is a trial's figures in short: those of its selected point, and between what they lie over all its points. Of a winner that was measured
// again to the end they are the later ones.
type Benchmark struct {
	PointID  string           `json:"point_id"` // selected
	Load     schema.PointLoad `json:"load"`     // of the selected point
	Eligible bool             `json:"eligible"` // the selected point can be trusted: it could be chosen, but where it was measured again it may not be
	Feasible bool             `json:"feasible"` // the selected point meets every limit
	// OutputTokPerS is the selected point's.
	OutputTokPerS *float64 `json:"output_tok_per_s"`
	TTFTStat      string   `json:"ttft_stat"` // statistic of TTFT
	UserTokPerS   Span     `json:"output_tok_per_s_user"`
	TTFT          Span     `json:"ttft_s"`
	Context       Context  `json:"context_length"`
}

// Span is the least and the most of a figure over points; nil where no point has it. Each is breached where its point does not meet the limit on the
// figure.
type Span struct {
	Min         *float64 `json:"min"`
	Max         *float64 `json:"max"`
	MinBreached bool     `json:"min_breached"`
	MaxBreached bool     `json:"max_breached"`
}

// Context is the context length of the selected point.
type Context struct {
	Tokens   *int64 `json:"tokens"`
	Reported bool   `json:"reported"` // the service says so; no request has filled it
	Breached bool   `json:"breached"` // it is below the least that was asked for, or not known
}

// finalPoints are the points of a trial that count: those that were measured again, where all of them were.
func finalPoints(v *selector.Verdict) (points []selector.Judged, stage string) {
	if v.Verification != nil && v.Verification.Reproduced != nil {
		return v.Verification.Points, "verify"
	}
	return v.Points, "sweep"
}

func benchmarkOf(v *selector.Verdict) *Benchmark {
	if v.Selected == nil {
		return nil
	}
	points, _ := finalPoints(v)
	i := slices.IndexFunc(points, func(p selector.Judged) bool { return p.PointID == *v.Selected })
	if i < 0 {
		return nil
	}
	selected := &points[i]
	made := &Benchmark{PointID: selected.PointID, Load: selected.Load, Eligible: selected.Eligible, Feasible: selected.Feasible, OutputTokPerS: finite(selected.Medians.OutputTokPerS),
		TTFTStat: v.Rule.Limits.TTFTStat, Context: contextOf(selected, v.Rule.Limits.MinContextLength)}
	for j := range points {
		p := &points[j]
		// 1 over the mean time per output token: its limit is broken where the figure is low.
		made.UserTokPerS.take(p.Medians.OutputTokPerSUser, breaches(p, "tpot"))
		made.TTFT.take(p.Medians.TTFT.Stat(made.TTFTStat), breaches(p, "ttft"))
	}
	return made
}

func (s *Span) take(value *float64, breached bool) {
	if value = finite(value); value == nil {
		return
	}
	if s.Min == nil || *value < *s.Min {
		s.Min, s.MinBreached = value, breached
	}
	if s.Max == nil || *value > *s.Max {
		s.Max, s.MaxBreached = value, breached
	}
}

func finite(v *float64) *float64 {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
		return nil
	}
	return v
}

// breaches reports whether a point does not meet its limit on a figure.
func breaches(p *selector.Judged, figure string) bool {
	return slices.ContainsFunc(p.Limits, func(h selector.Held) bool { return !h.Met && strings.HasPrefix(h.Figure, figure+"_all_") })
}

func contextOf(p *selector.Judged, least *int64) Context {
	m := &p.Medians
	made := Context{Tokens: m.ContextLength, Reported: isReported(m)}
	made.Breached = least != nil && (made.Tokens == nil || *made.Tokens < *least)
	return made
}

func isReported(m *measure.Point) bool {
	return m.ContextLength != nil && (m.ContextLengthSource == nil || *m.ContextLengthSource != "probe")
}
