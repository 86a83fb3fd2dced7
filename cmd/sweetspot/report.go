package main

import (
	"bytes"
	"errors"
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

// Run is the command. A run that is there and can't be read keeps the others from no page: it is told of once that is written.
func (c *reportCmd) Run(p *process) error {
	var runs []report.Judged
	var unread []error
	for _, name := range c.Runs {
		run, err := c.judged(p, name)
		var none exit
		switch {
		case errors.As(err, &none):
			return err
		case err != nil:
			unread = append(unread, err)
		default:
			runs = append(runs, run)
		}
	}
	if len(runs) > 0 {
		if err := c.write(p, runs); err != nil {
			return err
		}
	}
	return errors.Join(unread...)
}

func (c *reportCmd) judged(p *process, name string) (report.Judged, error) {
	run, err := c.find(p, name)
	if err != nil {
		return report.Judged{}, err
	}
	document, broken, err := pipeline.Read(run, nil)
	p.warn(broken)
	return report.Judged{Run: run, Document: document}, err
}

func (c *reportCmd) write(p *process, runs []report.Judged) error {
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
