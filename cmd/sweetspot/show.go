package main

import (
	"errors"
	"fmt"
	"slices"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// storeFlag says where runs are stored.
type storeFlag struct {
	Store string `default:"./results" env:"SWEETSPOT_STORE" placeholder:"DIR" help:"Directory of the stored runs (${default})."`
}

// find opens the run that a person means, and says on standard error which others can't be read.
func (s storeFlag) find(p *process, run string) (*results.Run, error) {
	found, broken, err := results.Find(s.Store, run)
	var meant *results.Unreadable
	if errors.As(err, &meant) {
		broken = slices.DeleteFunc(broken, func(other error) bool { // it is told at the end
			var of *results.Unreadable
			return errors.As(other, &of) && of.Dir == meant.Dir
		})
		p.warn(broken)
		return nil, err
	}
	p.warn(broken)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return found, nil
}

// showCmd shows a stored run.
type showCmd struct {
	Run_ string `arg:"" name:"run" help:"A run's id, the start of it, its preset's name, its directory, or latest."`
	storeFlag
	paretoFlag
	JSON bool `xor:"form" help:"Print the run as JSON."`
}

// Run is the command.
func (c *showCmd) Run(p *process) error {
	run, err := c.find(p, c.Run_)
	if err != nil {
		return err
	}
	document, broken, err := pipeline.Read(run, nil)
	if err != nil {
		return err
	}
	p.warn(broken)
	if err := p.printResult(document, c.JSON); err != nil {
		return err
	}
	return c.print(p, document)
}

// warn names files that could not be read.
func (p *process) warn(broken []error) {
	for _, err := range broken {
		fmt.Fprintf(p.stderr, "sweetspot: left out: %s\n", schema.PrintableLines(err.Error()))
	}
}

// printResult prints a judged run for a person or as JSON.
func (p *process) printResult(d *pipeline.Document, asJSON bool) error {
	if asJSON {
		return printJSON(p.stdout, d)
	}
	return printDocument(p.stdout, p.width(), d)
}
