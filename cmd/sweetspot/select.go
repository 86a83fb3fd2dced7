package main

import (
	"errors"
	"fmt"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector/gate"
)

// selectCmd judges a stored run by another rule.
type selectCmd struct {
	Run_ string `arg:"" name:"run" help:"A run's id, the start of it, its preset's name, its directory, or latest."`
	storeFlag
	ruleFlags
	requireFlag
	paretoFlag
	JSON   bool `xor:"form" help:"Print the run as JSON."`
	Strict bool `help:"Exit with 3 if the winner does not meet the limits."`
}

// ruleFlags change a rule. What is not given stays as the run has it.
type ruleFlags struct {
	MaxTTFT          *string `name:"max-ttft" placeholder:"TIME" help:"Limit on time to first token, such as 300ms; none takes it away."`
	TTFTStat         *string `name:"ttft-stat" placeholder:"STAT" help:"Statistic that it is held against: mean, max, p50, p90, p95 or p99."`
	MaxTPOT          *string `name:"max-tpot" placeholder:"TIME" help:"Limit on time per output token, such as 50ms, or none."`
	TPOTStat         *string `name:"tpot-stat" placeholder:"STAT" help:"Statistic that it is held against."`
	MaxTotalTime     *string `placeholder:"TIME" help:"Limit on total time, such as 20s, or none."`
	TotalTimeStat    *string `placeholder:"STAT" help:"Statistic that it is held against."`
	MinContextLength *string `placeholder:"TOKENS" help:"Least context length; none takes it away."`
	MaxErrorRate     *string `placeholder:"SHARE" help:"Highest error rate, 0 to 1."`
	Maximize         *string `placeholder:"FIGURE" help:"Figure to maximize: output_tok_per_s or steady_output_tok_per_s."`
	Across           *string `placeholder:"RULE" help:"How trials are compared: selected or complete."`
}

// requireFlag holds levels on the selected point.
type requireFlag struct {
	Require []string `sep:"none" placeholder:"LEVEL" help:"Exit with 3 unless the winner's selected point has this, such as 'ttft_p50_s <= 300ms'. May be given again."`
}

// read reads the requirements. An error exits as a wrong usage does.
func (f *requireFlag) read() ([]gate.Require, error) {
	var all []gate.Require
	for _, text := range f.Require {
		r, err := gate.ParseRequire(text)
		if err != nil {
			return nil, exit{exitUsage, fmt.Errorf("--require: %w", err)}
		}
		all = append(all, r)
	}
	return all, nil
}

// Run is the command.
func (c *selectCmd) Run(p *process) error {
	requirements, err := c.read()
	if err != nil {
		return err
	}
	run, err := c.find(p, c.Run_)
	if err != nil {
		return err
	}
	rule, err := c.rule(run.Manifest().Rule)
	if err != nil {
		return err
	}
	document, broken, err := pipeline.Read(run, rule)
	if err != nil {
		return err
	}
	p.warn(broken)
	document.Require(requirements)
	if err := errors.Join(p.printResult(document, c.JSON), c.print(p, document)); err != nil {
		return err
	}
	return verdictExit(document, c.Strict)
}

// rule is what a run is judged by: nil for its own.
func (f *ruleFlags) rule(own results.Rule) (*results.Rule, error) {
	changes := f.changes()
	if len(changes) == 0 {
		return nil, nil
	}
	limits, choice, err := schema.ReadRule(own.Limits, own.Select, changes)
	var problems schema.Problems
	if errors.As(err, &problems) {
		for i := range problems {
			_, field, _ := strings.Cut(problems[i].Path, ".")
			problems[i].File = "--" + strings.ReplaceAll(field, "_", "-")
		}
		return nil, exit{exitUsage, problems}
	}
	own.Limits, own.Select = limits, choice
	return &own, err
}

// changes are the flags given, as path=value of a preset.
func (f *ruleFlags) changes() []string {
	var changes []string
	for _, flag := range []struct {
		path  string
		value *string
	}{
		{"limits.max_ttft", f.MaxTTFT}, {"limits.ttft_stat", f.TTFTStat}, {"limits.max_tpot", f.MaxTPOT}, {"limits.tpot_stat", f.TPOTStat},
		{"limits.max_total_time", f.MaxTotalTime}, {"limits.total_time_stat", f.TotalTimeStat}, {"limits.min_context_length", f.MinContextLength},
		{"limits.max_error_rate", f.MaxErrorRate}, {"select.maximize", f.Maximize}, {"select.across", f.Across},
	} {
		switch {
		case flag.value == nil:
		case *flag.value == "none":
			changes = append(changes, flag.path+"=null")
		default:
			changes = append(changes, flag.path+"="+*flag.value)
		}
	}
	return changes
}

// verdictExit is the exit code of a judged run.
func verdictExit(d *pipeline.Document, strict bool) error {
	if code := d.Exit(strict); code != exitOK {
		return exit{code: code}
	}
	return nil
}
