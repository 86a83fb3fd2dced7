package main

import (
	"fmt"
	"math"
	"strings"

	"sweetspot/selector/compare"
	"sweetspot/selector/figure"
	"sweetspot/selector/format"
)

func figureTitle(f figure.Figure) string {
	var said []string
	if f.Unit != "" {
		said = append(said, f.Unit)
	}
	if f.Better != figure.None {
		said = append(said, string(f.Better)+" is better")
	}
	if len(said) == 0 {
		return f.Name
	}
	return fmt.Sprintf("%s (%s)", f.Name, strings.Join(said, ", "))
}

// changeHeader has a column for each side, and one for the change of each but the first.
func changeHeader(c *compare.Comparison, first string) ([]string, []align) {
	header, aligned := []string{first}, []align{left}
	for i, s := range c.Sides {
		header, aligned = append(header, s.Label), append(aligned, right)
		if i > 0 {
			header, aligned = append(header, fmt.Sprintf("%s against %s", s.Label, c.Sides[0].Label)), append(aligned, left)
		}
	}
	return header, aligned
}

// figureCells are the cells of a row: the figure of each side with its mark, and its change.
func figureCells(cells []*compare.Cell, r *compare.FigureRow) []string {
	var texts []string
	for i, v := range r.Values {
		text := figureText(r.Column, v.Median)
		if mark := cellMark(cells[i]); mark != "" {
			text = mark + " " + text
		}
		texts = append(texts, text)
		if i > 0 {
			texts = append(texts, changeText(r.Column, r.Changes[i]))
		}
	}
	return texts
}

func cellMark(c *compare.Cell) string {
	switch {
	case c == nil:
		return ""
	case c.Selected:
		return markSelected
	case !c.Eligible:
		return markRejected
	case !c.Feasible:
		return markBreached
	}
	return ""
}

// figureText is a figure in words, in a scale that fits its unit.
func figureText(f figure.Figure, v *float64) string {
	switch {
	case f.Unit == "s":
		return format.Optional(v, format.Seconds)
	case isRatio(f):
		return format.Optional(v, format.Percent)
	}
	return format.Optional(v, format.Number)
}

// changeText is a change in words: its share with the interval it lies in, and whether it is for the better.
func changeText(f figure.Figure, c *compare.Change) string {
	if c == nil {
		return ""
	}
	switch c.Verdict {
	case compare.Missing:
		return format.None
	case compare.Same:
		return textSame
	case compare.Noise:
		return fmt.Sprintf("%s (p=%.3f)", textNoise, *c.P)
	case compare.Unknown:
		return sizeText(f, c) + " " + textUnknown
	case compare.Ineligible:
		return sizeText(f, c) + " " + markRejected
	}
	text := sizeText(f, c)
	if c.RelativeLow != nil && c.RelativeHigh != nil && c.P != nil {
		text += fmt.Sprintf(" (%s to %s)", signedPercent(*c.RelativeLow), signedPercent(*c.RelativeHigh))
	}
	if c.Verdict != compare.Changed {
		text += " " + string(c.Verdict)
	}
	return text
}

// sizeText is the share, or where the first side had nothing the difference.
func sizeText(f figure.Figure, c *compare.Change) string {
	switch {
	case c.Relative != nil:
		return signedPercent(*c.Relative)
	case c.Absolute != nil:
		return differenceText(f, *c.Absolute)
	}
	return format.None
}

// differenceText is a difference in the figure's own unit, with its sign; in percentage points (pp) where the figure is a percentage, since a percentage of it
// would be a share.
func differenceText(f figure.Figure, difference float64) string {
	size := math.Abs(difference)
	if isRatio(f) {
		return sign(difference) + strings.TrimSuffix(format.Percent(size), "%") + "pp"
	}
	return sign(difference) + figureText(f, &size)
}

// isRatio reports whether a figure is printed as a percentage.
func isRatio(f figure.Figure) bool { return strings.HasSuffix(f.Name, "_rate") && f.Unit == "" }

func signedPercent(share float64) string { return sign(share) + format.Percent(math.Abs(share)) }

func sign(v float64) string {
	switch {
	case v > 0:
		return "+"
	case v < 0:
		return "-"
	}
	return ""
}

// apart writes two values of a figure so that they can be told apart where they differ.
func apart(f figure.Figure, a, b float64) (string, string) {
	switch {
	case f.Unit == "s":
		return format.Apart(a, b, format.SecondsTo, format.Digits)
	case isRatio(f):
		return format.Apart(a, b, format.PercentTo, format.Digits-1)
	}
	return format.Apart(a, b, format.NumberTo, format.Digits)
}
