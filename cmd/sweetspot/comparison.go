package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sweetspot/selector/compare"
	"sweetspot/selector/figure"
	"sweetspot/selector/format"
	"sweetspot/selector/gate"
)

// printComparison writes a comparison on a page.
func printComparison(page page, d *compare.Document, conditions int) error {
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		if len(d.Comparisons) > 1 || len(d.Unpaired) > 0 {
			page.heading("trial " + c.Trial)
		}
		printSides(page, c)
		printDifferences(page, c)
		printWinners(page, c)
		printFigures(page, c)
		page.list(legend(c, d))
		printFronts(page, c.Fronts, func(side int) string { return compare.Label(side) })
	}
	if len(d.Unpaired) > 0 {
		var lines []string
		for _, u := range d.Unpaired {
			lines = append(lines, fmt.Sprintf("not compared: trial %s of %s: %s", u.Trial, u.Run, u.Reason))
		}
		page.list(lines)
	}
	if conditions > 0 {
		printGates(page, d, conditions)
	}
	return page.err()
}

func printSides(page page, c *compare.Comparison) {
	var rows [][]string
	for i, s := range c.Sides {
		chosen := "no winner"
		if w := c.Winners.Points[i]; w != nil {
			chosen = w.Load.Text()
			if !w.Feasible {
				chosen += ", which does not meet the limits"
			}
		}
		rows = append(rows, []string{s.Label, fmt.Sprintf("%s (%s)", s.RunID, s.RunName), s.TrialName, s.Status, chosen})
	}
	page.table([]string{"", "run", "trial", "status", "selected"}, []align{left, left, left, left, left}, rows)
}

func printDifferences(page page, c *compare.Comparison) {
	if len(c.Differences) == 0 {
		if len(c.Caveats) > 0 {
			page.list(c.Caveats)
			return
		}
		page.paragraph("Their specifications are the same.")
		return
	}
	header, aligned := []string{"what differs"}, []align{left}
	for _, s := range c.Sides {
		header, aligned = append(header, s.Label), append(aligned, left)
	}
	var rows [][]string
	for _, d := range c.Differences {
		row := []string{d.Path}
		for _, value := range d.Values {
			row = append(row, plainValue(value))
		}
		rows = append(rows, row)
	}
	page.table(header, aligned, rows)
	if len(c.Caveats) > 0 {
		page.list(c.Caveats)
	}
}

// plainValue is JSON as a person writes it: text without quotes, a dash for nothing. A long value is cut.
func plainValue(value json.RawMessage) string {
	const most = 60
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	if string(value) == "null" {
		return format.None
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// printFigures writes a table for each figure that a side has anywhere, and names the others.
func printFigures(page page, c *compare.Comparison) {
	if len(c.Points) == 0 {
		page.paragraph("There are no points.")
		return
	}
	var none []string
	for i := range c.Points[0].Figures {
		f := c.Points[0].Figures[i].Column
		known := func(p compare.Point) bool {
			return slices.ContainsFunc(p.Figures[i].Values, func(v compare.Value) bool { return v.Median != nil })
		}
		if !slices.ContainsFunc(c.Points, known) {
			none = append(none, f.Name)
			continue
		}
		page.heading(figureTitle(f))
		header, aligned := changeHeader(c, "load")
		var rows [][]string
		for _, p := range c.Points {
			rows = append(rows, append([]string{p.Load.Text()}, figureCells(p.Cells, &p.Figures[i])...))
		}
		page.table(header, aligned, rows)
	}
	if len(none) > 0 {
		page.paragraph("Not known on any side: " + strings.Join(none, ", ") + ".")
	}
}

// What is said of a change that the repeats say nothing of.
const (
	textNoise   = "~"
	textUnknown = "?"
	textSame    = "="
)

// legend explains the marks that there are, with the reasons of points that can't be trusted, and lists the points that only one side has.
func legend(c *compare.Comparison, d *compare.Document) []string {
	lines := []string{"figures are medians over the repeats"}
	verdicts, needed := map[compare.Verdict]bool{}, int64(0)
	for _, p := range c.Points {
		for _, r := range p.Figures {
			for _, change := range r.Changes {
				if change != nil {
					verdicts[change.Verdict], needed = true, max(needed, change.NeedRepeats)
				}
			}
		}
	}
	if verdicts[compare.ForBetter] || verdicts[compare.ForWorse] || verdicts[compare.Changed] {
		lines = append(lines, meaning(d))
	}
	if verdicts[compare.Noise] {
		lines = append(lines, textNoise+" the repeats do not tell the sides apart: p >= 0.05, two-sided Mann-Whitney U test, which assumes nothing of how they are distributed")
	}
	if verdicts[compare.Unknown] {
		lines = append(lines, fmt.Sprintf("%s need >= %d repeats on each side to tell a change from noise, nothing being assumed of how they are distributed: set load.repeats", textUnknown, needed))
	}
	if verdicts[compare.Same] {
		lines = append(lines, textSame+" the same in every repeat")
	}
	lines = append(lines, markLines(c)...)
	for _, u := range c.Unmatched {
		lines = append(lines, fmt.Sprintf("not compared: %s: %s", u.Load.Text(), u.Reason))
	}
	return lines
}

func meaning(d *compare.Document) string {
	if d.Assume == compare.Exact {
		return "figures are taken as exact: every difference is a change"
	}
	return "in brackets: where the change lies, with 95 % confidence"
}

// markLines explain the marks of points.
func markLines(c *compare.Comparison) []string {
	var lines, reasons []string
	marks := map[string]bool{}
	for _, p := range c.Points {
		for i, cell := range p.Cells {
			mark := cellMark(cell)
			marks[mark] = true
			if mark == markRejected || mark == markBreached || mark == markSelected && !cell.Feasible {
				reasons = append(reasons, fmt.Sprintf("%s %s %s: %s", mark, c.Sides[i].Label, p.Load.Text(), strings.Join(cell.Reasons, "; ")))
			}
			if cell != nil && len(cell.Point.Unchecked) > 0 {
				reasons = append(reasons, fmt.Sprintf("%s %s: not checked, as %s does not say enough: %s", c.Sides[i].Label, p.Load.Text(),
					cmp.Or(text(cell.Point.Medians.Source), "its source"), strings.Join(cell.Point.Unchecked, ", ")))
			}
		}
	}
	for _, m := range []struct{ mark, meaning string }{
		{markSelected, "selected by its side"}, {markRejected, "not eligible: nothing is said of its changes"}, {markBreached, "does not meet a limit"},
	} {
		if marks[m.mark] {
			lines = append(lines, m.mark+" "+m.meaning)
		}
	}
	return append(lines, reasons...)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// printWinners puts the selected points side by side, whatever their loads.
func printWinners(page page, c *compare.Comparison) {
	for i, w := range c.Winners.Points {
		if w == nil {
			page.paragraph(fmt.Sprintf("%s has no winner. %s", c.Sides[i].Label, c.Sides[i].Text))
		}
	}
	if len(c.Winners.Figures) == 0 {
		return
	}
	page.heading("winners")
	header, aligned := changeHeader(c, "")
	loads := []string{"load"}
	cells := make([]*compare.Cell, len(c.Sides))
	for i, w := range c.Winners.Points {
		load := format.None
		if w != nil {
			load = w.Load.Text()
		}
		loads = append(loads, load)
		if i > 0 {
			loads = append(loads, "")
		}
	}
	rows := [][]string{loads}
	for i := range c.Winners.Figures {
		r := &c.Winners.Figures[i]
		if slices.ContainsFunc(r.Values, func(v compare.Value) bool { return v.Median != nil }) {
			rows = append(rows, append([]string{r.Figure}, figureCells(cells, r)...))
		}
	}
	page.table(header, aligned, rows)
}

// printGates says what came of every condition.
func printGates(page page, d *compare.Document, conditions int) {
	var lines []string
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		for _, g := range c.Gates {
			where := ""
			if g.Load != nil {
				where = " at " + g.Load.Text()
			}
			if c.Trial != "" {
				where += " of trial " + c.Trial
			}
			line := fmt.Sprintf("fail-if %s: %s in %s%s", g.Text, g.State, g.Side, where)
			if g.Change != nil {
				line += ": " + gateChange(g)
			}
			if g.Reason != "" {
				line += ": " + g.Reason
			}
			lines = append(lines, line)
		}
	}
	lines = append(lines, "conditions: "+string(d.State(conditions)))
	page.list(lines)
}

// gateChange is the change that a condition was held against, in the terms of the condition.
func gateChange(g compare.Gate) string {
	c := g.Change
	condition, err := gate.ParseFailIf(g.Text)
	if err != nil { // it was read before
		return ""
	}
	size, low, high := c.Absolute, c.AbsoluteLow, c.AbsoluteHigh
	write := func(v float64) string { return differenceText(condition.Figure, v) }
	if condition.Relative {
		size, low, high, write = c.Relative, c.RelativeLow, c.RelativeHigh, signedPercent
	}
	text := format.Optional(size, write)
	if low != nil && high != nil && c.P != nil {
		text += fmt.Sprintf(" (%s to %s)", write(*low), write(*high))
	}
	return text
}

// requiredText says whether a requirement is met, with the figure.
func requiredText(r gate.Required, named bool) string {
	text := fmt.Sprintf("require %s: not met", r.Text)
	if r.Met {
		text = fmt.Sprintf("require %s: met", r.Text)
	}
	if named && r.Trial != "" {
		text += " by " + r.Trial
	}
	f, err := figure.Find(r.Name)
	switch {
	case r.Value != nil && err == nil:
		level := r.Level
		has, limit := apart(f, *r.Value, level)
		return fmt.Sprintf("%s: %s has %s, the level is %s", text, r.Name, has, limit)
	case r.Reason != "":
		text += ": " + r.Reason
	}
	return text
}
