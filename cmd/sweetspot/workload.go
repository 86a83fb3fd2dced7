package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sweetspot/pipeline/results"
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

// descriptions is the document of [workloadCmd].
type descriptions struct {
	SchemaVersion int          `json:"schema_version"`
	Workloads     []*described `json:"workloads"`
}

// Run is the command.
func (c *workloadCmd) Run(p *process) error {
	preset, err := c.preset(p)
	if err != nil {
		return err
	}
	all, err := describeAll(c.files(p), preset)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, descriptions{results.SchemaVersion, all})
	}
	return printDescriptions(p.stdout, all)
}

// preset is the one named, or one made for a file.
func (c *workloadCmd) preset(p *process) (*schema.Preset, error) {
	if c.Format == nil {
		if err := c.noPreset(); err != nil {
			return nil, err
		}
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
	preset, err := c.parse(p, madeName, made)
	var problems schema.Problems
	if errors.As(err, &problems) {
		for i := range problems {
			c.place(&problems[i])
		}
	}
	return preset, invalid(err)
}

// madeName is how the preset that is made for a file is read.
const madeName = "workload.json"

// place says that a fault of the preset that was made for a file is the file's: nobody wrote that preset.
func (c *workloadCmd) place(p *schema.Problem) {
	if p.File == madeName {
		p.File, p.Line, p.Path = c.File, 0, "--format "+*c.Format
	}
}

// noPreset says of a file that can be no preset, by its ending, which formats it may have; nil of others.
func (c *workloadCmd) noPreset() error {
	may := map[string]string{
		".jsonl": "prompts (sharegpt, dag, weka, mooncake, bailian and batch are JSONL too)", ".csv": "prompts or burstgpt", ".parquet": "prompts",
	}[strings.ToLower(filepath.Ext(c.File))]
	if may == "" {
		return nil
	}
	return exit{exitUsage, fmt.Errorf("%s is no preset by its ending: say what it is, such as --format %s", c.File, may)}
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
		}{{"turns of a session", d.Turns}, {promptsTitle(d), d.Prompt}, {"output tokens", d.Output}} {
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

// promptsTitle says whose lengths the prompts' are.
func promptsTitle(d *described) string {
	switch {
	case d.PromptOf == nil || *d.PromptOf == workload.AllRequests:
		return "prompt tokens"
	case *d.PromptOf == workload.FirstTurns:
		return "prompt tokens of first turns"
	}
	return fmt.Sprintf("prompt tokens of %d requests", d.Prompt.N)
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
