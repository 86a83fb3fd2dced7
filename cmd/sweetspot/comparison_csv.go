package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sweetspot/schema"
	"sweetspot/selector/compare"
)

// printComparisonCSV writes a row for each point of each side, compared or not, with the names of the results' columns. What a change is of stands
// behind the figure's name. A figure that is not known is empty.
func printComparisonCSV(out io.Writer, d *compare.Document) error {
	w := csv.NewWriter(out)
	written := false
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		if !written && len(c.Points) > 0 {
			if err := w.Write(csvHeader(&c.Points[0])); err != nil {
				return err
			}
			written = true
		}
		for j := range c.Points {
			for side, cell := range c.Points[j].Cells {
				if cell == nil {
					continue
				}
				if err := w.Write(csvRow(c, &c.Points[j], side, cell)); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

func csvHeader(p *compare.Point) []string {
	header := []string{"side", "run_id", "trial_id", "trial_name", "point_id"}
	header = append(header, compare.LoadFields()...)
	header = append(header, "status", "repeats", "eligible", "feasible", "selected", "pareto", "reasons")
	for _, r := range p.Figures {
		for _, suffix := range []string{"", "_relative", "_relative_low", "_relative_high", "_p", "_verdict"} {
			header = append(header, r.Figure+suffix)
		}
	}
	return header
}

func csvRow(c *compare.Comparison, p *compare.Point, side int, cell *compare.Cell) []string {
	s := &c.Sides[side]
	row := []string{s.Label, s.RunID, s.TrialID, s.TrialName, cell.PointID}
	row = append(row, csvLoad(cell.Point.Load)...)
	row = append(row, cell.Status, strconv.Itoa(cell.Repeats), strconv.FormatBool(cell.Eligible), strconv.FormatBool(cell.Feasible), strconv.FormatBool(cell.Selected),
		csvOptional(cell.Pareto), strings.Join(cell.Reasons, "; "))
	for _, r := range p.Figures {
		change := r.Changes[side]
		if change == nil {
			change = &compare.Change{}
		}
		row = append(row, csvOptional(r.Values[side].Median), csvOptional(change.Relative), csvOptional(change.RelativeLow), csvOptional(change.RelativeHigh),
			csvOptional(change.P), string(change.Verdict))
	}
	return row
}

// csvLoad has the fields in the order of [compare.LoadFields].
func csvLoad(l schema.PointLoad) []string {
	return []string{
		csvOptional(l.Concurrency), csvOptional(l.RequestConcurrency), csvOptional(l.PrefillConcurrency), csvOptional(l.RequestRate),
		csvOptional(l.ReplaySpeed), csvOptional(l.WarmupRequestConcurrency), csvOptional(l.AgenticWarmupRequestConcurrency),
	}
}

func csvOptional[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
