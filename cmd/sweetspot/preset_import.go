package main

import (
	"fmt"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/presets/imports"
	"sweetspot/schema"
)

// presetImportCmd brings results from elsewhere into the store.
type presetImportCmd struct {
	Paths []string `arg:"" name:"path" help:"Result files of one tool, or its folder. Several files of the same model and work are the points of one trial."`
	storeFlag
	Format      string  `placeholder:"FORMAT" help:"Format of the files: ${importFormats}. Found out by their content where it is left out."`
	Name        string  `placeholder:"NAME" help:"Name of the run; the format's where it is left out."`
	Concurrency *string `placeholder:"SWEEP" help:"Load that the file does not say; of dstack's reports, the ladder that was declared, all of which must be there."`
	JSON        bool    `help:"Print the run as JSON."`
}

// Help is the command's manual.
func (presetImportCmd) Help() string {
	return `Reads what another tool or an older form of saved presets holds and stores it as a run, in the same tables as any other: show, select, preset and
compare work on it. The files keep every byte; the run has copies without secrets. What a tool does not say, or measures by another definition, is null
or told. A load that several files have was repeated.`
}

// Run is the command.
func (c *presetImportCmd) Run(p *process) error {
	options := imports.Options{Format: c.Format, Name: c.Name}
	if c.Concurrency != nil {
		var err error
		if options.Concurrency, err = schema.ParseSweep(*c.Concurrency); err != nil {
			return exit{exitUsage, fmt.Errorf("--concurrency %w", err)}
		}
	}
	run, err := imports.Import(c.Store, c.Paths, options)
	if err != nil {
		return exit{exitUsage, err}
	}
	document, broken, err := pipeline.Read(run, nil)
	if err != nil {
		return err
	}
	p.warn(broken)
	for _, note := range run.Manifest().Imported.Notes {
		fmt.Fprintln(p.stderr, wrap("sweetspot: "+note, p.width()))
	}
	return p.printResult(document, c.JSON)
}

// importFormats are those that the command takes, in words.
func importFormats() string { return strings.Join(imports.Names(), ", ") }
