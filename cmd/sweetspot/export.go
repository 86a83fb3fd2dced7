package main

import (
	"fmt"
	"io"
	"path/filepath"

	"sweetspot/pipeline/report"
	"sweetspot/pipeline/results"
	"sweetspot/runner/disk"
)

// exportCmd writes tables of stored runs for other tools.
type exportCmd struct {
	Runs []string `arg:"" name:"run" help:"A run's id, the start of it, its preset's name, its directory, or latest; several come into one file."`
	storeFlag
	Format string `required:"" enum:"parquet,arrow,csv,jsonl,notebook" placeholder:"FORMAT" help:"parquet, arrow (an IPC file), csv, jsonl, or notebook (a Jupyter notebook that reads the runs)."`
	Table  string `enum:"requests,points,trials,server_metrics,gpu" default:"points" placeholder:"TABLE" help:"The table to write: requests, points, trials, server_metrics or gpu (${default})."`
	Output string `short:"o" default:"-" placeholder:"FILE" help:"The file to write; standard output by default."`
}

// Run is the command.
func (c *exportCmd) Run(p *process) error {
	var runs []*results.Run
	for _, name := range c.Runs {
		run, err := c.find(p, name)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	if c.Output == "-" {
		return c.write(p.stdout, runs)
	}
	if err := disk.Write(c.Output, func(w io.Writer) error { return c.write(w, runs) }); err != nil {
		return fmt.Errorf("exporting to %q: %w", c.Output, err)
	}
	return nil
}

func (c *exportCmd) write(w io.Writer, runs []*results.Run) error {
	if c.Format != "notebook" {
		return results.Export(w, runs, results.Table(c.Table), results.Format(c.Format))
	}
	var dirs []string
	for _, run := range runs {
		dir, err := c.fromNotebook(run.Dir())
		if err != nil {
			return err
		}
		dirs = append(dirs, filepath.ToSlash(dir))
	}
	return report.WriteNotebook(w, dirs)
}

// fromNotebook is the path of a run's directory from the folder that the notebook will lie in.
func (c *exportCmd) fromNotebook(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil || c.Output == "-" {
		return absolute, err
	}
	folder, err := filepath.Abs(filepath.Dir(c.Output))
	if err != nil {
		return "", err
	}
	return filepath.Rel(folder, absolute)
}
