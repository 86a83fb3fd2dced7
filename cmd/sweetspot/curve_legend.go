package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// printLegend explains the marks and the columns that the curve has, with the reasons of points that are not eligible.
func printLegend(out io.Writer, width int, trial *selector.Verdict, columns []curveColumn) error {
	var lines []string
	has := func(holds func(selector.Judged) bool) bool { return slices.ContainsFunc(trial.Points, holds) }
	if winner := trial.Winner(); winner != nil && winner.Feasible {
		lines = append(lines, markSelected+" selected")
	} else if winner != nil && winner.Eligible {
		lines = append(lines, markSelected+" fallback: no point meets the limits")
	} else if winner != nil {
		lines = append(lines, markSelected+" selected, and not eligible when it was measured again")
	}
	if has(func(p selector.Judged) bool { return slices.ContainsFunc(p.Limits, breaches) }) {
		lines = append(lines, markBreached+" above its limit")
	}
	if i := slices.IndexFunc(trial.Points, func(p selector.Judged) bool { return p.Eligible && unsure(p) != "" }); i >= 0 {
		p := trial.Points[i]
		lines = append(lines, fmt.Sprintf("%s not checked, as %s does not say enough: %s", markUnsure, *p.Medians.Source, strings.Join(p.Unchecked, ", ")))
	}
	if has(func(p selector.Judged) bool { return slices.ContainsFunc(p.Limits, isClose) }) {
		lines = append(lines, markClose+" too close to its limit to call: its 95 % interval spans it")
	}
	for _, group := range trial.ByReasons() {
		if !group.Eligible {
			lines = append(lines, fmt.Sprintf("%s %s: not eligible: %s", markRejected, group.Loads, strings.Join(group.Reasons, "; ")))
		}
	}
	if has(func(p selector.Judged) bool { return p.Medians.Failed() > 0 && len(p.Limits) > 0 }) {
		lines = append(lines, "a time that has a limit counts failed requests as infinite")
	}
	for _, p := range trial.Points {
		for _, r := range p.Repeats {
			if text := failures(r); text != "" {
				lines = append(lines, fmt.Sprintf("not ok at %s: %s", selector.LoadText(p.Load), text))
			}
		}
	}
	for _, c := range columns {
		switch c.title {
		case titleRate:
			lines = append(lines, windowText(trial))
		case titlePerGPU:
			lines = append(lines, perGPUText(trial))
		case titleCost:
			lines = append(lines, titleCost+": of a million output tokens at that throughput, in the currency of price_per_gpu_hour")
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	for i, line := range lines {
		lines[i] = wrap(line, width)
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// windowText says what the figures are of.
func windowText(trial *selector.Verdict) string {
	var walls []float64
	for _, p := range trial.Points {
		if p.Medians.Wall != nil {
			walls = append(walls, *p.Medians.Wall)
		}
	}
	text := "tok/s: output tokens by the service's own count, over the time from the first measured dispatch to the last end"
	for _, p := range trial.Points {
		if p.Medians.OutputByTokenizer() {
			text = "tok/s: output tokens as request.tokenizer counted them on this machine, over the time from the first measured dispatch to the last end"
		}
		if p.Medians.Source != nil {
			text = fmt.Sprintf("tok/s: output tokens as %s counted them, over the time that it measured", *p.Medians.Source)
		}
	}
	if len(walls) == 0 {
		return text
	}
	least, most := format.Seconds(slices.Min(walls)), format.Seconds(slices.Max(walls))
	if least == most {
		return fmt.Sprintf("%s, %s", text, least)
	}
	return fmt.Sprintf("%s, %s to %s a point", text, least, most)
}

// perGPUText says what the figures per GPU are of; empty where no GPUs are known.
func perGPUText(trial *selector.Verdict) string {
	declared := slices.IndexFunc(trial.Points, func(p selector.Judged) bool { return p.Medians.GPUs != nil && p.Medians.GPUName != nil })
	if declared < 0 {
		return ""
	}
	p := &trial.Points[declared].Medians
	return fmt.Sprintf("%s: tok/s over the %d × %s below the service", titlePerGPU, *p.GPUs, *p.GPUName)
}

// failures counts the requests of a measurement that were not ok by class, with one message; empty where there are none.
func failures(p measure.Point) string {
	var classes []string
	for _, status := range measure.Statuses() {
		if n := *p.Of(status); n > 0 && status != measure.OK {
			classes = append(classes, fmt.Sprintf("%d %s", n, status))
		}
	}
	text := strings.Join(classes, ", ")
	if p.ErrorExample != nil && text != "" {
		text += "; such as " + *p.ErrorExample
	}
	return text
}
