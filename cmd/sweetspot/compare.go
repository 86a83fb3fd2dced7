package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/selector/compare"
	"sweetspot/selector/figure"
	"sweetspot/selector/gate"
)

// compareCmd holds runs and trials against each other.
type compareCmd struct {
	Runs []string `arg:"" name:"run" help:"RUN or RUN:TRIAL, the first of which the others are held against. RUN is a run's id, the start of it, its preset's name, its directory, or latest. One run alone: its trials are held against its first."`
	storeFlag
	Metrics []string `placeholder:"FIGURE" help:"Figures to compare: numeric columns of the points table, or all. The usual ones and those that limits are on where nothing is said."`
	Ignore  []string `placeholder:"FIELD" help:"Match points whatever these fields of their loads are, such as prefill_concurrency."`
	Assume  string   `enum:"nothing,exact" default:"nothing" help:"What is assumed of repeats: nothing (a test by ranks tells changes from noise), or exact (figures have no noise)."`
	FailIf  []string `sep:"none" placeholder:"CHANGE" help:"Exit with 3 if this change is there, such as 'ttft_p50_s > +5%'. May be given again."`
	At      string   `enum:"selected,winners,every" default:"selected" help:"Where --fail-if is held: at the load that the first side selected, between the winners, or at every load of the first side."`

	JSON     bool `xor:"form" help:"Print the comparison as JSON."`
	CSV      bool `xor:"form" name:"csv" help:"Print a row for each point of each side."`
	Markdown bool `xor:"form" help:"Print it as Markdown, for a pull request."`
	ruleFlags
}

// Help is the command's manual.
func (compareCmd) Help() string {
	return `Points are matched by their loads (concurrency, caps, rate), trials by the values of their axes and by name, never by ids. A change is told from noise by the repeats of both sides: better or worse, ~ where
the repeats do not tell, ? where they are too few to (load.repeats: 4 or more). What differs between the specifications is listed, and so is every point that only one side has.

--fail-if compares the whole interval in which the change lies (95 %) with the threshold. Above it in whole: exit 3. Below it in whole: 0. Neither, or too few repeats to know: 1, since noise must neither trip a
gate nor open it. A percentage is of what the figure was, a signed number (+0.01, -20ms) a difference.

Each run is judged by its own rule; --max-ttft and its like judge all by another.

Exit codes: 0; 1 nothing could be compared, or a --fail-if could not be decided; 2 usage; 3 a --fail-if is there.`
}

// Run is the command.
func (c *compareCmd) Run(p *process) error {
	options, err := c.options(p)
	if err != nil {
		return exit{exitUsage, err}
	}
	runs, err := c.runs(p)
	if err != nil {
		return err
	}
	options.Figures = c.withLimits(options.Figures, runs)
	document := compare.New(results.SchemaVersion, runs, options)
	if err := c.print(p, &document, runs); err != nil {
		return err
	}
	return c.exit(&document)
}

// options reads the flags.
func (c *compareCmd) options(p *process) (compare.Options, error) {
	o := compare.Options{Assume: compare.Assumption(c.Assume), At: compare.At(c.At), Ignore: c.Ignore, Figures: figure.Usual()}
	for _, name := range c.Ignore {
		if !slices.Contains(compare.LoadFields(), name) {
			return o, fmt.Errorf("--ignore %s: it is no field of a load; they are %s", name, strings.Join(compare.LoadFields(), ", "))
		}
	}
	for _, text := range c.FailIf {
		condition, err := gate.ParseFailIf(text)
		if err != nil {
			return o, fmt.Errorf("--fail-if: %w", err)
		}
		if condition.Backwards() {
			fmt.Fprintf(p.stderr, "sweetspot: --fail-if %q is on a change for the better: more %s is %s\n", condition.Text, condition.Figure.Name, betterWhen(condition.Figure))
		}
		o.FailIf = append(o.FailIf, condition)
	}
	if len(c.Metrics) > 0 {
		o.Figures = nil
	}
	for _, name := range c.Metrics {
		if name == "all" {
			o.Figures = figure.All()
			break
		}
		f, err := figure.Find(strings.TrimSpace(name))
		if err != nil {
			return o, fmt.Errorf("--metrics: %w", err)
		}
		o.Figures = append(o.Figures, f)
	}
	return o, nil
}

func betterWhen(f figure.Figure) string {
	if f.Better == figure.Higher {
		return "better"
	}
	return "worse"
}

// withLimits adds the figures that limits are on, unless figures were asked for: the statistic of the ok requests and, where a failure makes it
// another, that in which failures count as infinite.
func (c *compareCmd) withLimits(figures []figure.Figure, runs []compare.Run) []figure.Figure {
	if len(c.Metrics) > 0 {
		return figures
	}
	add := func(name string) {
		f, err := figure.Find(name)
		if err == nil && !slices.ContainsFunc(figures, func(g figure.Figure) bool { return g.Name == f.Name }) {
			figures = append(figures, f)
		}
	}
	for _, run := range runs {
		for _, side := range run.Sides {
			for _, point := range side.Verdict.Points {
				for _, held := range point.Limits {
					add(strings.Replace(held.Figure, "_all_", "_", 1))
					if point.Medians.Failed() > 0 {
						add(held.Figure)
					}
				}
			}
		}
	}
	return figures
}

// runs opens what the arguments name.
func (c *compareCmd) runs(p *process) ([]compare.Run, error) {
	var runs []compare.Run
	for _, argument := range c.Runs {
		name, trial, oneTrial := cutTrial(argument)
		run, err := c.find(p, name)
		if err != nil {
			return nil, err
		}
		rule, err := c.rule(run.Manifest().Rule)
		if err != nil {
			return nil, err
		}
		sides, broken, err := pipeline.Sides(run, rule)
		p.warn(broken)
		if err != nil {
			return nil, err
		}
		if oneTrial {
			if sides, err = onlyTrial(run, sides, trial); err != nil {
				return nil, exit{exitUsage, err}
			}
		}
		runs = append(runs, compare.Run{Name: argument, Sides: sides})
	}
	if err := distinct(runs); err != nil {
		return nil, err
	}
	return runs, enough(runs)
}

// cutTrial cuts RUN:TRIAL. A directory may have a colon in its name.
func cutTrial(argument string) (run, trial string, found bool) {
	if info, err := os.Stat(argument); err == nil && info.IsDir() {
		return argument, "", false
	}
	return strings.Cut(argument, ":")
}

func onlyTrial(run *results.Run, sides []compare.Side, trial string) ([]compare.Side, error) {
	var names []string
	for i := range sides {
		if sides[i].Verdict.TrialName == trial {
			return sides[i : i+1], nil
		}
		names = append(names, sides[i].Verdict.TrialName)
	}
	return nil, fmt.Errorf("finding trial %q of run %s: there is none of that name; its trials are %s", trial, run.ID(), strings.Join(names, ", "))
}

// enough holds that there are two sides or more, and a letter for each.
func enough(runs []compare.Run) error {
	sides := len(runs)
	if sides == 1 {
		sides = len(runs[0].Sides)
	}
	switch {
	case sides < 2:
		return exit{exitUsage, fmt.Errorf("comparing %s: it is one trial; name another run or trial, as RUN or RUN:TRIAL", runs[0].Name)}
	case sides > compare.MaxSides:
		return exit{exitUsage, fmt.Errorf("comparing %d sides: at most %d are held against each other; name fewer, as RUN:TRIAL", sides, compare.MaxSides)}
	}
	return nil
}

// distinct holds that no trial is held against itself: it would always do well.
func distinct(runs []compare.Run) error {
	seen := map[string]string{}
	for _, run := range runs {
		for i := range run.Sides {
			side := &run.Sides[i]
			key := side.RunID + ":" + side.Verdict.TrialName
			if before, twice := seen[key]; twice {
				return exit{exitUsage, fmt.Errorf("comparing %s with %s: both are trial %s of run %s", before, run.Name, side.Verdict.TrialName, side.RunID)}
			}
			seen[key] = run.Name
		}
	}
	return nil
}

// exit is what the comparison comes to.
func (c *compareCmd) exit(d *compare.Document) error {
	if !d.Compared() {
		return exit{exitFailed, errors.New("comparing: no figure is on two sides: what was printed is not a comparison. " + hint(d))}
	}
	switch d.State(len(c.FailIf)) {
	case gate.Tripped:
		return exit{code: exitInfeasible}
	case gate.Undecided:
		return exit{code: exitFailed}
	}
	return nil
}

// hint says what may bring sides together that have nothing in common.
func hint(d *compare.Document) string {
	if len(d.Comparisons) == 0 {
		return "No trial is in both: name one on each side, as RUN:TRIAL"
	}
	return "Loads that differ in one field alone are matched with --ignore FIELD"
}

func (c *compareCmd) print(p *process, d *compare.Document, runs []compare.Run) error {
	switch {
	case c.JSON:
		return printJSON(p.stdout, d)
	case c.CSV:
		return printComparisonCSV(p.stdout, d)
	case c.Markdown:
		return printComparison(&markdownPage{out: p.stdout}, d, len(c.FailIf))
	}
	return printComparison(&textPage{out: p.stdout, width: p.width()}, d, len(c.FailIf))
}
