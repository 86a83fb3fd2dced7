package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"sweetspot/pipeline"
	"sweetspot/runner/disk"
	"sweetspot/runner/target"
	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

// presetArgs name a preset and what to change in it.
type presetArgs struct {
	File string `arg:"" help:"Preset: a .cue, .yaml, .yml or .json file, or - for YAML on standard input."`

	Set                      []string `sep:"none" placeholder:"PATH=VALUE" help:"Set a field of the preset, such as load.repeats=3. May be given again."`
	Concurrency              *string  `placeholder:"SWEEP" help:"Live sessions: 4, 2,4,8 or 2..64 (doubling). Overrides the file, as do the next five."`
	RequestConcurrency       *string  `placeholder:"SWEEP" help:"Requests in flight, from dispatch to the end of the response."`
	WarmupRequestConcurrency *string  `placeholder:"SWEEP" help:"Requests in flight during warmup."`
	PrefillConcurrency       *string  `placeholder:"SWEEP" help:"Requests between dispatch and first token."`
	RequestRate              *string  `placeholder:"SWEEP" help:"Sessions started per second, whatever has become of those before, in the place of the file's closed loop: 4, 0.5,2 or 0.5..8 (doubling)."`
	ReplaySpeed              *string  `placeholder:"SWEEP" help:"How many times as fast as it was recorded a trace is replayed, in the place of the file's closed loop or rate: 1, 0.5,2 or 1..8 (doubling)."`

	named *target.Files
}

// read reads the preset and gives its text too. An error of the preset's own, or of reading it, exits as a wrong usage does.
func (a *presetArgs) read(p *process) (*schema.Preset, []byte, error) {
	text, err := a.text(p)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	if fault := p.givenUp(a.File, text); fault != "" {
		return nil, nil, exit{exitUsage, schema.Problems{{File: a.File, Line: 1, Column: 1, Message: fault}}}
	}
	preset, err := a.parse(p, a.File, text)
	return preset, text, invalid(err)
}

// parse reads a preset's text; name says how, by its ending.
func (a *presetArgs) parse(p *process, name string, text []byte) (*schema.Preset, error) {
	files := a.files(p)
	return schema.Read(name, text, schema.Options{Set: a.Set, Flags: a.flags(), Digest: files.Digest, Tokenizer: files.Tokenizer, Extent: files.Extent})
}

// invalid gives the faults of a preset their exit code; other errors stay as they are.
func invalid(err error) error {
	var problems schema.Problems
	if errors.As(err, &problems) {
		return exit{exitUsage, problems}
	}
	return err
}

// openFile opens a file that the preset names, which lies below the preset's own folder where its path is not absolute.
func (a *presetArgs) openFile(looked *tables, file string) (input.File, error) {
	if !filepath.IsAbs(file) && a.File != "-" {
		file = filepath.Join(filepath.Dir(a.File), file)
	}
	opened, err := disk.Open(file)
	if errors.Is(err, disk.ErrNoFile) {
		return nil, fmt.Errorf("%s is no file: it is read again and again", file)
	}
	if err != nil {
		return nil, err
	}
	if err := looked.readable(file, opened); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// files are those that the preset names, read whole once so that their faults are found before anything starts.
func (a *presetArgs) files(p *process) *target.Files {
	if a.named == nil {
		looked := &tables{process: p, sound: map[table]bool{}}
		a.named = target.NewFiles(func(file string) (input.File, error) { return a.openFile(looked, file) })
	}
	return a.named
}

// plan reads the preset and plans it.
func (a *presetArgs) plan(p *process) (*pipeline.Plan, error) {
	preset, _, err := a.read(p)
	if err != nil {
		return nil, err
	}
	return planOf(preset)
}

func planOf(preset *schema.Preset) (*pipeline.Plan, error) {
	plan, err := pipeline.NewPlan(preset)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return plan, nil
}

func (a *presetArgs) text(p *process) ([]byte, error) {
	if a.File == "-" {
		return readBounded(p.stdin)
	}
	file, err := disk.Open(a.File)
	if errors.Is(err, disk.ErrNoFile) {
		return nil, fmt.Errorf("reading the preset: %s is no file: a preset from a pipe is read as -, standard input, and is YAML", a.File)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the preset: %w", err)
	}
	defer file.Close()
	return readBounded(file)
}

// readBounded reads a little more than any preset may have, so that package schema can say that it is too long.
func readBounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, schema.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the preset: %w", err)
	}
	return text, nil
}

// flags are the sweeps given on the command line, by field name.
func (a *presetArgs) flags() map[string]string {
	given := map[string]string{}
	for name, sweep := range map[string]*string{
		"concurrency": a.Concurrency, "request_concurrency": a.RequestConcurrency,
		"warmup_request_concurrency": a.WarmupRequestConcurrency, "prefill_concurrency": a.PrefillConcurrency,
		"request_rate": a.RequestRate, "replay_speed": a.ReplaySpeed,
	} {
		if sweep != nil { // an empty one, such as a variable that is not set, is a fault and not ignored
			given[name] = *sweep
		}
	}
	return given
}

// overrides are all changes, as they are stored beside the preset.
func (a *presetArgs) overrides() []string {
	all := slices.Clone(a.Set)
	for name, sweep := range a.flags() {
		all = append(all, "load."+name+"="+sweep)
	}
	slices.Sort(all[len(a.Set):])
	return all
}
