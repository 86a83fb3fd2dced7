package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sweetspot/runner/target"
	"sweetspot/runner/workload"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// workloadCmd describes a workload.
type workloadCmd struct {
	presetArgs
	Format *string `placeholder:"FORMAT" help:"What FILE is, where it is no preset: mooncake, bailian, burstgpt, batch, weka, dag, prompts or sharegpt."`
	JSON   bool    `help:"Print the description as JSON."`
}

// Help is the command's manual.
func (workloadCmd) Help() string {
	return `FILE is a preset, whose trials' workloads are described, or with --format a file that a workload names, by itself.
Lengths are those asked for; the service's own count is not known here. Of a workload without an end the first 1,000 sessions are looked at.`
}

// described is a workload and the trials that have it.
type described struct {
	Trials []string `json:"trials"`
	workload.Description
}

// Run is the command.
func (c *workloadCmd) Run(p *process) error {
	preset, err := c.preset(p)
	if err != nil {
		return err
	}
	all, err := describeAll(c.files(), preset)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, all)
	}
	return printDescriptions(p.stdout, all)
}

// preset is the one named, or one made for a file.
func (c *workloadCmd) preset(p *process) (*schema.Preset, error) {
	if c.Format == nil {
		preset, _, err := c.read(p)
		return preset, err
	}
	key, fields := *c.Format, map[string]any{"file": filepath.Base(c.File)}
	switch key {
	case "mooncake", "bailian", "burstgpt", "batch":
		key, fields["format"] = "trace", key
	case "weka", "dag", "prompts", "sharegpt":
	default:
		return nil, exit{exitUsage, fmt.Errorf("--format: must be mooncake, bailian, burstgpt, batch, weka, dag, prompts or sharegpt, not %q", key)}
	}
	made, err := json.Marshal(map[string]any{
		"model": "model", "service": map[string]any{"simulator": map[string]any{}}, "workload": map[string]any{key: fields},
	})
	if err != nil {
		return nil, err
	}
	return c.readText(p, "workload.json", made)
}

// describeAll describes each workload of a preset once.
func describeAll(files *target.Files, preset *schema.Preset) ([]*described, error) {
	var all []*described
	known := map[string]*described{}
	for _, trial := range preset.Trials {
		key, err := json.Marshal([]any{trial.Spec.Workload, trial.Spec.Request})
		if err != nil {
			return nil, err
		}
		if known[string(key)] == nil {
			description, err := files.Describe(trial.Spec, preset.Load.Seed)
			if err != nil {
				return nil, err
			}
			known[string(key)] = &described{Description: description}
			all = append(all, known[string(key)])
		}
		known[string(key)].Trials = append(known[string(key)].Trials, trial.Name)
	}
	return all, nil
}

func printDescriptions(out io.Writer, all []*described) error {
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s (%s): %s\n", d.Workload, "trial "+strings.Join(d.Trials, ", "), contentsOf(d))
		var rows [][]string
		for _, row := range []struct {
			name string
			of   workload.Spectrum
		}{{"turns of a session", d.Turns}, {"prompt tokens", d.Prompt}, {"output tokens", d.Output}} {
			if row.of.N > 0 {
				s := row.of
				rows = append(rows, []string{
					"  " + row.name, count(s.Min), count(s.P50), count(s.P90), count(s.P99), count(s.Max), format.Number(*s.Mean),
				})
			}
		}
		header := []string{"", "min", "p50", "p90", "p99", "max", "mean"}
		if err := printTable(out, 2, header, []align{left, right, right, right, right, right, right}, rows); err != nil {
			return err
		}
		if d.SharedBlocks != nil {
			fmt.Fprintf(out, "  shared: %s of all blocks stand in a prefix that came before\n", format.Percent(*d.SharedBlocks))
		}
		if d.Duration != nil {
			fmt.Fprintf(out, "  duration: %s from the first session's start to the last's\n", time.Duration(*d.Duration*float64(time.Second)).Round(time.Millisecond))
		}
		for n, prompt := range d.First {
			fmt.Fprintf(out, "  %d: %s\n", n+1, prompt)
		}
	}
	return nil
}

// contentsOf is how much there is.
func contentsOf(d *described) string {
	text := fmt.Sprintf("%d sessions, %d requests", d.Sessions, d.Requests)
	if d.Forks > 0 {
		text += fmt.Sprintf(", %d forks", d.Forks)
	}
	return text
}

func count(n *int64) string {
	if n == nil {
		return format.None
	}
	return strconv.FormatInt(*n, 10)
}
