package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// printDocument writes a run for a person: for each trial its curve and its verdict, then how the trials compare.
func printDocument(out io.Writer, width int, d *pipeline.Document) error {
	for i := range d.Trials {
		trial := &d.Trials[i]
		if len(d.Trials) > 1 {
			fmt.Fprintln(out, schema.Printable("trial "+trial.TrialName+fromText(trial)))
		}
		if err := printCurve(out, width, trial); err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n\n", wrap(trial.BesideReasons(), width))
	}
	if len(d.Trials) > 1 {
		fmt.Fprintf(out, "%s\n\n", wrap(d.Across.Text(), width))
	}
	for _, r := range d.Requirements {
		fmt.Fprintf(out, "%s\n", wrap(requiredText(r, len(d.Trials) > 1), width))
	}
	if len(d.Requirements) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "run %s: %s%s\n", schema.Printable(d.RunID), d.Status, missingText(d))
	return nil
}

// missingText says that a run ended whole and is not whole any more.
func missingText(d *pipeline.Document) string {
	missing := 0
	for _, trial := range d.Trials {
		for _, p := range trial.Points {
			if p.Missing > 0 {
				missing++
			}
		}
	}
	if missing == 0 || d.Status != results.Completed {
		return ""
	}
	return fmt.Sprintf(" when it ended, yet of %s not all that was measured can be read now", plural(missing, "point"))
}

// fromText names the earlier run that measured a trial.
func fromText(trial *selector.Verdict) string {
	if trial.From == nil {
		return ""
	}
	return ", from " + trial.From.Text()
}

// curveColumn is a column of the curve. Columns that no point has anything in are left out.
type curveColumn struct {
	title string
	cell  func(selector.Judged) string
}

// Titles of columns that the legend explains.
const (
	titleRate   = "tok/s"
	titlePerGPU = "tok/s/gpu"
	titleCost   = "cost/Mtok"
)

// spare are the titles of columns that a narrow terminal does without, the first to go first.
var spare = []string{"cached", "p95", "tps/user", "steady", titlePerGPU}

// printCurve writes one row for each point of a trial, and what its marks mean.
func printCurve(out io.Writer, width int, trial *selector.Verdict) error {
	columns := slices.DeleteFunc(curveColumns(trial), func(c curveColumn) bool {
		return !slices.ContainsFunc(trial.Points, func(p selector.Judged) bool { return c.cell(p) != "" })
	})
	text, err := curveText(trial, columns, width)
	for _, title := range spare {
		if err != nil || fits(text, width) {
			break
		}
		columns = slices.DeleteFunc(columns, func(c curveColumn) bool { return c.title == title })
		text, err = curveText(trial, columns, width)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	return printLegend(out, width, trial, columns)
}

func fits(text string, width int) bool {
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line)-1 > width {
			return false
		}
	}
	return true
}

func curveText(trial *selector.Verdict, columns []curveColumn, width int) (string, error) {
	header := []string{""}
	aligned := []align{left}
	for _, c := range columns {
		header, aligned = append(header, c.title), append(aligned, right)
	}
	rows := make([][]string, len(trial.Points))
	for i, p := range trial.Points {
		rows[i] = []string{mark(p)}
		for _, c := range columns {
			rows[i] = append(rows[i], cmp.Or(c.cell(p), format.None))
		}
	}
	gap := 2
	if width < textWidth {
		gap = 1
	}
	var text strings.Builder
	err := printTable(&text, gap, header, aligned, rows)
	return text.String(), err
}

// cachedCell is the share of prompt tokens that came from the prefix cache; empty where none did or nobody says.
func cachedCell(p selector.Judged) string {
	if ratio := p.Medians.CacheHitRatio; ratio != nil && *ratio > 0 {
		return format.Percent(*ratio)
	}
	return ""
}

// The marks of a row and a figure. They are told apart without colour.
const (
	markSelected = ">"
	markRejected = "x"
	markBreached = "*"
	markUnsure   = "?"
	markClose    = "~"
)

func mark(p selector.Judged) string {
	switch {
	case !p.Eligible:
		return markRejected
	case p.Selected:
		return markSelected + unsure(p)
	}
	return unsure(p)
}

// unsure marks a point of another tool's that could be chosen and that could not be checked in full.
func unsure(p selector.Judged) string {
	if len(p.Unchecked) == 0 {
		return ""
	}
	return markUnsure
}

func curveColumns(trial *selector.Verdict) []curveColumn {
	limit := func(title string, of func(schema.PointLoad) *int64) curveColumn {
		return curveColumn{title, func(p selector.Judged) string { return optionalCount(of(p.Load)) }}
	}
	columns := []curveColumn{
		limit("c", func(l schema.PointLoad) *int64 { return l.Concurrency }),
		limit("req", func(l schema.PointLoad) *int64 { return l.RequestConcurrency }),
		limit("prefill", func(l schema.PointLoad) *int64 { return l.PrefillConcurrency }),
		limit("warmup", func(l schema.PointLoad) *int64 { return l.WarmupRequestConcurrency }),
		limit("agentic", func(l schema.PointLoad) *int64 { return l.AgenticWarmupRequestConcurrency }),
		{"rate", func(p selector.Judged) string { return optionalNumber(p.Load.RequestRate) }},
		{"speed", func(p selector.Judged) string { return optionalNumber(p.Load.ReplaySpeed) }},
		{"sent/s", sentCell},
		{"late", lateCell},
		{"sessions", func(p selector.Judged) string { return sessionsCell(trial, p) }},
		{"in flight", func(p selector.Judged) string { return inFlight(p) }},
		{"ok/fail", outcomes},
		{"cached", cachedCell},
		{titleRate, func(p selector.Judged) string { return optionalNumber(p.Medians.OutputTokPerS) }},
		{"steady", func(p selector.Judged) string { return steadyCell(trial, p) }},
		{"×", func(p selector.Judged) string { return optionalNumber(p.ThroughputScaling) }},
		{titlePerGPU, func(p selector.Judged) string { return optionalNumber(p.Medians.OutputTokPerSGPU) }},
		{titleCost, func(p selector.Judged) string { return optionalNumber(p.Medians.CostPerMillion) }},
		{"tps/user", func(p selector.Judged) string { return optionalNumber(p.Medians.OutputTokPerSUser) }},
	}
	return append(columns, timeColumns(trial)...)
}

// capitals writes the name of a limited statistic as titles have it.
var capitals = strings.NewReplacer("ttft", "TTFT", "tpot", "TPOT")

// timeColumns are the usual statistics of times, and those that a limit is held against.
func timeColumns(trial *selector.Verdict) []curveColumn {
	usual := []struct {
		title, name string
		of          func(selector.Judged) *float64
	}{
		{"TTFT p50", "ttft p50", func(p selector.Judged) *float64 { return p.Medians.TTFT.P50 }},
		{"p95", "ttft p95", func(p selector.Judged) *float64 { return p.Medians.TTFT.P95 }},
		{"p99", "ttft p99", func(p selector.Judged) *float64 { return p.Medians.TTFT.P99 }},
		{"TPOT", "tpot p50", func(p selector.Judged) *float64 { return p.Medians.TPOT.P50 }},
	}
	var columns []curveColumn
	shown := map[string]bool{}
	for _, u := range usual {
		shown[u.name] = true
		columns = append(columns, curveColumn{u.title, func(p selector.Judged) string { return timeCell(p, u.name, u.of(p)) }})
	}
	for _, p := range trial.Points {
		for _, h := range p.Limits {
			if !shown[h.Name] {
				shown[h.Name] = true
				columns = append(columns, curveColumn{capitals.Replace(h.Name), func(p selector.Judged) string { return timeCell(p, h.Name, nil) }})
			}
		}
	}
	return columns
}

// held is the limit of that name held against the point, nil where there is none.
func held(p selector.Judged, name string) *selector.Held {
	if i := slices.IndexFunc(p.Limits, func(h selector.Held) bool { return h.Name == name }); i >= 0 {
		return &p.Limits[i]
	}
	return nil
}

// breaches reports whether a limit is known not to be met.
func breaches(h selector.Held) bool { return !h.Met && h.Value != nil }

// isClose reports whether the interval of the figure spans its limit.
func isClose(h selector.Held) bool { return h.Clear != nil && !*h.Clear }

// timeCell is a time in words. Where a limit is held against it, it is the figure that is judged, in which failures count as infinite, with a mark
// if it is above, and one if that is not certain.
func timeCell(p selector.Judged, name string, seconds *float64) string {
	h := held(p, name)
	if h != nil && h.Value != nil {
		seconds = h.Value
	}
	if seconds == nil {
		return ""
	}
	text := format.Seconds(*seconds)
	if h != nil && breaches(*h) {
		text += markBreached
	}
	if h != nil && isClose(*h) {
		text += markClose
	}
	return text
}

// inFlight is what was achieved: in the steady window where there is one, else in the whole.
func inFlight(p selector.Judged) string {
	if steady := p.Medians.SteadyMeanRequests; steady != nil {
		return format.Number(*steady)
	}
	return optionalNumber(p.Medians.MeanRequests)
}

// sentCell is the rate that an open loop achieved.
func sentCell(p selector.Judged) string {
	if !p.Load.Open() {
		return ""
	}
	return optionalNumber(p.Medians.AchievedRate)
}

// lateCell counts the arrivals of an open loop that waited for a slot or were dropped, over all repeats.
func lateCell(p selector.Judged) string {
	var late int64
	for _, r := range p.Repeats {
		late += r.Late + r.Dropped
	}
	if late == 0 {
		return ""
	}
	return strconv.FormatInt(late, 10)
}

// sessionsCell is the sessions in flight of every point once one of them has them more than 5 % apart from the requests: where sessions are single
// requests they are the same.
func sessionsCell(trial *selector.Verdict, p selector.Judged) string {
	const far = 0.05
	apart := func(p selector.Judged) bool {
		sessions, requests := p.Medians.MeanSessions, p.Medians.MeanRequests
		return sessions != nil && requests != nil && math.Abs(*sessions-*requests) > far**requests
	}
	if !slices.ContainsFunc(trial.Points, apart) {
		return ""
	}
	if steady := p.Medians.SteadyMeanSessions; steady != nil {
		return format.Number(*steady)
	}
	return optionalNumber(p.Medians.MeanSessions)
}

// outcomes counts ok and failed requests over all repeats.
func outcomes(p selector.Judged) string {
	var ok, failed int64
	for _, r := range p.Repeats {
		ok, failed = ok+r.OK, failed+r.Failed()
	}
	if len(p.Repeats) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", ok, failed)
}

// steadyCell is the steady throughput of every point once one of them has it more than 5 % apart from the whole window's.
func steadyCell(trial *selector.Verdict, p selector.Judged) string {
	const far = 0.05
	apart := func(p selector.Judged) bool {
		whole, steady := p.Medians.OutputTokPerS, p.Medians.SteadyOutputTokPS
		return whole != nil && steady != nil && math.Abs(*steady-*whole) > far**whole
	}
	if !slices.ContainsFunc(trial.Points, apart) {
		return ""
	}
	return optionalNumber(p.Medians.SteadyOutputTokPS)
}

func optionalNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return format.Number(*v)
}

func optionalCount(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
