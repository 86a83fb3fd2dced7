package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sweetspot/presets"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// presetGetCmd shows the final figures of a run.
type presetGetCmd struct {
	Run_ string `arg:"" name:"run" help:"A run's id, the start of it, its name, its directory, or latest."`
	storeFlag
	JSON    bool `xor:"form" help:"Print it as JSON; sweetspot schema --of get prints its JSON Schema."`
	Command bool `xor:"form" help:"Print the command line that the winner's service was started with, and nothing else."`
}

// Run is the command.
func (c *presetGetCmd) Run(p *process) error {
	run, err := c.find(p, c.Run_)
	if err != nil {
		return err
	}
	if c.Command {
		line, err := presets.Command(run)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, line)
		return err
	}
	got, broken, err := presets.Get(run)
	if err != nil {
		return err
	}
	p.warn(broken)
	if c.JSON {
		return printJSON(p.stdout, got)
	}
	return printGot(p.stdout, p.width(), got)
}

// printGot writes a run for a person: what it is in short, and the points of its winner with the verdict on them.
func printGot(out io.Writer, width int, got *presets.Got) error {
	listed := presets.Listed{ID: got.ID, Name: got.Name, Status: got.Status, Brief: got.Brief}
	fmt.Fprintf(out, "%s (%s): %s, begun %s\n\n", schema.Printable(got.Name), got.ID, statusText(&listed), got.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"))
	rows := [][]string{
		{"constraints", constraintsText(got.Brief.Constraints)}, {"rule", selector.Rule(got.Rule).Text()},
		{"benchmark", benchmarkText(got.Brief.Benchmark)}, {"trials", barsText(got.Brief.Trials)},
	}
	if got.Benchmark != nil {
		rows = append(rows, []string{"throughput", format.Optional(got.Benchmark.Metrics.OutputTokPerS, format.Number) + " tok/s"})
	}
	for _, reason := range got.Reasons {
		rows = append(rows, []string{"reason", reason})
	}
	for _, row := range rows {
		const label = 13
		text := strings.ReplaceAll(wrap(row[1], max(width-label, label)), "\n", "\n"+strings.Repeat(" ", label))
		fmt.Fprintf(out, "%-*s%s\n", label, row[0], text)
	}
	for i := range got.Document.Trials {
		trial := &got.Document.Trials[i]
		if !slices.Contains(got.Final, trial.TrialID) {
			continue
		}
		if err := printFinal(out, width, trial); err != nil {
			return err
		}
	}
	return nil
}

// printFinal writes the final points of a trial, and the verdict.
func printFinal(out io.Writer, width int, trial *selector.Verdict) error {
	fmt.Fprintf(out, "\ntrial %s\n", schema.Printable(trial.TrialName))
	shown := *trial
	if made := trial.Verification; made != nil && made.Reproduced != nil {
		fmt.Fprintln(out, "as it was measured again:")
		shown.Points = slices.Clone(made.Points)
		for i := range shown.Points {
			shown.Points[i].Selected = shown.Points[i].PointID == made.PointID
		}
	}
	if err := printCurve(out, width, &shown); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", wrap(trial.BesideReasons(), width))
	return err
}
