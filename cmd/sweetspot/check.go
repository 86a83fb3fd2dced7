package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
)

// checkCmd says whether stored runs are whole.
type checkCmd struct {
	Runs []string `arg:"" optional:"" name:"run" help:"A run's id, the start of it, its preset's name, its directory, or latest. May be given again."`
	storeFlag
	All  bool `help:"Every run of the store, the ones that can't be read too."`
	JSON bool `help:"Print what was found as JSON."`
}

// Help is the command's manual.
func (checkCmd) Help() string {
	return `Reads every file of the runs and changes nothing: checksums, rows, and whether points count what their requests are. A run that is running may be checked.

    broken       a file that is not what was written, or is missing: it does not
                 count
    partial      requests that had ended of a point that has no row: run --resume
                 keeps them, outside the tables
    left over    half-written files, which run --resume removes
    to measure   what run --resume would measure, and why

The exit code is 0 where nothing is broken, whatever is still to be measured, and 1 where something is.`
}

// Validate refuses what kong's types let through.
func (c *checkCmd) Validate() error {
	if c.All == (len(c.Runs) > 0) {
		return errors.New("give runs, or --all")
	}
	return nil
}

// checkDocument is what check --json prints.
type checkDocument struct {
	SchemaVersion int                 `json:"schema_version"`
	Whole         bool                `json:"whole"` // every run is
	Runs          []*pipeline.Checked `json:"runs"`
}

// Run is the command.
func (c *checkCmd) Run(p *process) error {
	dirs, err := c.dirs()
	if err != nil {
		return exit{exitUsage, err}
	}
	document := checkDocument{SchemaVersion: results.SchemaVersion, Whole: true, Runs: []*pipeline.Checked{}}
	for _, dir := range dirs {
		checked, err := pipeline.Check(dir)
		if err != nil {
			return exit{exitUsage, err}
		}
		document.Whole = document.Whole && checked.Whole
		document.Runs = append(document.Runs, checked)
		if !c.JSON {
			if err := printChecked(p.stdout, checked); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		if err := printJSON(p.stdout, document); err != nil {
			return err
		}
	}
	if !document.Whole {
		return exit{exitFailed, nil}
	}
	return nil
}

// dirs are those of the runs that are meant, whether they can be read or not.
func (c *checkCmd) dirs() ([]string, error) {
	var dirs []string
	for _, run := range c.Runs {
		dir, err := results.Locate(c.Store, run)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	if !c.All {
		return dirs, nil
	}
	entries, broken, err := results.Entries(c.Store)
	for _, entry := range entries {
		dirs = append(dirs, entry.Dir)
	}
	for _, fault := range broken {
		var of *results.Unreadable
		if errors.As(fault, &of) {
			dirs = append(dirs, of.Dir)
		}
	}
	return dirs, err
}

// printChecked prints what was found of one run, a line for each thing.
func printChecked(out io.Writer, c *pipeline.Checked) error {
	title := c.RunID
	if c.Name != "" {
		title = fmt.Sprintf("%s (%s)", schema.Printable(c.Name), c.RunID)
	}
	fmt.Fprintf(out, "%s: %s, in %s\n", title, c.Status, filepath.ToSlash(c.Dir))
	for _, t := range c.Tables {
		fmt.Fprintf(out, "  %-14s %d of %s whole, %s\n", t.Table, t.Whole, plural(t.Files, "file"), plural(int(t.Rows), "row"))
	}
	for _, b := range c.Broken {
		fmt.Fprintf(out, "  broken: %s: %s\n", schema.Printable(b.File), schema.Printable(b.Why))
	}
	for _, e := range c.Partial {
		fmt.Fprintf(out, "  partial: %s: %s\n", e.File, plural(int(e.Requests), "ended request"))
	}
	for _, name := range c.LeftOver {
		fmt.Fprintf(out, "  left over: %s\n", schema.Printable(name))
	}
	for _, u := range c.ToMeasure {
		fmt.Fprintf(out, "  to measure: %s %s, %s %d: %s\n", schema.Printable(u.TrialName), selector.LoadText(u.Load), u.Stage, u.Repeat, u.Why)
	}
	for _, name := range c.Searching {
		fmt.Fprintf(out, "  to measure: %s: its search has not ended\n", schema.Printable(name))
	}
	_, err := fmt.Fprintf(out, "  %s\n", verdictOf(c))
	return err
}

func verdictOf(c *pipeline.Checked) string {
	missing := len(c.ToMeasure)+len(c.Searching) > 0
	resume := fmt.Sprintf("sweetspot run PRESET --resume %s", c.RunID)
	switch {
	case c.Status == results.Running && c.Whole:
		return "whole as far as it is: it is being written"
	case c.Whole && missing:
		return "whole as far as it is: " + resume + " measures the rest"
	case c.Whole:
		return "whole"
	case c.Status == results.Unknown:
		return "broken: without its manifest it can't be shown or carried on; whole files can be read as Parquet"
	case missing:
		return "broken: " + resume + " measures what is named above"
	}
	return "broken"
}
