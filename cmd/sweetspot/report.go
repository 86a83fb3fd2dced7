package main

import (
	"bytes"
	"fmt"
	"io"

	"sweetspot/pipeline"
	"sweetspot/pipeline/report"
	"sweetspot/runner/disk"
)

// reportCmd writes runs as one HTML page.
type reportCmd struct {
	Runs []string `arg:"" name:"run" help:"A run's id, the start of it, its preset's name, its directory, or latest; several are shown together."`
	storeFlag
	Output string `short:"o" required:"" placeholder:"FILE" help:"The file to write; - is standard output."`
}

// Run is the command.
func (c *reportCmd) Run(p *process) error {
	var runs []report.Judged
	for _, name := range c.Runs {
		run, err := c.find(p, name)
		if err != nil {
			return err
		}
		document, broken, err := pipeline.Read(run, nil)
		if err != nil {
			return err
		}
		p.warn(broken)
		runs = append(runs, report.Judged{Run: run, Document: document})
	}
	var page bytes.Buffer
	broken, err := report.Write(&page, runs)
	p.warn(broken)
	if err != nil {
		return err
	}
	if c.Output == "-" {
		_, err := p.stdout.Write(page.Bytes())
		return err
	}
	err = disk.Write(c.Output, func(w io.Writer) error {
		_, err := w.Write(page.Bytes())
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the report to %q: %w", c.Output, err)
	}
	fmt.Fprintf(p.stderr, "wrote %s: open it in a browser\n", c.Output)
	return nil
}
