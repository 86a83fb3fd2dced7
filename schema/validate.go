package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Read reads, changes and validates a preset. filename says how src is read, by its ending (.cue, .yaml, .yml, .json), and stands in problems; "-" is
// standard input, read as YAML. No other file is opened but by opts.Digest and opts.Tokenizer, and nothing is fetched.
//
// The preset has all defaults filled in; each of its trials, and each point of its load, has been checked. An error is [Problems], every fault
// found, or says that the specification itself is broken.
func Read(filename string, src []byte, opts Options) (*Preset, error) {
	preset, err := read(filename, src, opts)
	var problems Problems
	if !errors.As(err, &problems) {
		return preset, err
	}
	refused := opts.refused(problems)
	for _, assignment := range slices.Sorted(maps.Keys(refused)) {
		asText := opts
		asText.texts = append(slices.Clip(opts.texts), assignment)
		again, fault := read(filename, src, asText)
		if left := (Problems)(nil); fault != nil && (!errors.As(fault, &left) || left.of(refused[assignment])) {
			continue // no text is taken there either
		}
		opts, preset, err = asText, again, fault
	}
	return preset, err
}

func read(filename string, src []byte, opts Options) (*Preset, error) {
	root, problems := readTree(filename, src)
	if root == nil {
		return nil, problems.sorted()
	}
	defs, err := compile()
	if err != nil {
		return nil, err
	}
	v := &validator{definitions: defs, problems: problems, faults: map[string]Problems{}, digest: opts.Digest, tokenizer: opts.Tokenizer, extent: opts.Extent, digests: map[string]digested{}}
	v.override(root, opts)
	v.replaceSearch(root)
	preset, err := v.preset(root)
	if err != nil {
		return nil, err
	}
	if preset == nil {
		return nil, v.problems.sorted()
	}
	if preset.Name == "" {
		preset.Name = nameOf(filename)
	}
	return preset, nil
}

// validator collects the problems of one preset.
type validator struct {
	*definitions
	problems  Problems
	overrides []override
	faults    map[string]Problems // of values by their places, so that what many trials share is judged once
	digest    func(Workload) (string, error)
	tokenizer func(file string) (string, error)
	extent    func(Workload) Extent
	digests   map[string]digested // by workload
}

func (v *validator) override(root *node, opts Options) {
	overrides, problems := opts.overrides()
	v.problems = append(v.problems, problems...)
	for _, o := range overrides {
		replaceLoop(root.get("load"), o)
		replaceAmount(root.get("load"), o)
	}
	for _, o := range overrides {
		root.set(o)
	}
	v.overrides = overrides
}

var unfitForName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nameOf makes a preset's name of its file's.
func nameOf(filename string) string {
	base := filepath.Base(filename)
	name := strings.TrimLeft(unfitForName.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-"), "._-")
	if name == "" || name == "latest" {
		return "preset"
	}
	return name[:min(len(name), 64)]
}

// settings are what holds for the whole preset. A part that has problems is nil.
type settings struct {
	name     string
	load     *Load
	limits   *Limits
	choice   *Select
	verify   bool
	previous []string
}

func (v *validator) preset(root *node) (*Preset, error) {
	fillTrials(root.get("trials"))
	v.sweeps(root.get("load"))
	common, err := v.settingsOf(root)
	if err != nil {
		return nil, err
	}
	all, problems := trials(root)
	v.problems = append(v.problems, problems...)
	validated, err := v.trials(all)
	if err != nil {
		return nil, err
	}
	v.ineffective(root, all)
	v.load(root, common, validated)
	v.verification(root, common)
	if len(v.problems) > 0 {
		return nil, nil
	}
	return &Preset{Name: common.name, Trials: validated, Load: *common.load, Limits: *common.limits, Select: *common.choice, Verify: common.verify, Previous: common.previous}, nil
}

// fillTrials makes "baseline:" of YAML a trial without changes.
func fillTrials(n *node) {
	if n == nil {
		return
	}
	for _, f := range n.fields {
		if f.value.kind == null {
			f.value.kind = object
		}
	}
}

// settingsOf validates all but what a trial may change.
func (v *validator) settingsOf(root *node) (*settings, error) {
	v.unknown(root)
	common := &settings{}
	for _, s := range v.definitions.settings.fields {
		n := root.get(s.name)
		if n == nil && s.optional {
			continue
		}
		written, problems := v.check(s, n, root.place)
		v.problems = append(v.problems, problems...)
		if written == nil {
			continue
		}
		if err := common.take(s.name, written); err != nil {
			return nil, fmt.Errorf("reading the validated %s: %w", s.name, err)
		}
	}
	return common, nil
}

// take reads a validated part. Trials and matrix are read from the tree, which keeps their order.
func (s *settings) take(name string, written []byte) error {
	switch name {
	case "name":
		return decode(written, &s.name)
	case "load":
		s.load = &Load{}
		if err := decode(written, s.load); err != nil {
			return err
		}
		*s.load = s.load.withDefaults()
	case "limits":
		s.limits = &Limits{}
		return decode(written, s.limits)
	case "select":
		s.choice = &Select{}
		return decode(written, s.choice)
	case "verify":
		return decode(written, &s.verify)
	case "previous":
		return decode(written, &s.previous)
	}
	return nil
}

// unknown reports fields that no preset has.
func (v *validator) unknown(root *node) {
	names := append(v.definitions.settings.names(), v.definitions.spec.names()...)
	for _, f := range root.fields {
		if !slices.Contains(names, f.name) {
			message, _ := stranger(f.name, names)
			v.problems = append(v.problems, f.key.problem(message))
		}
	}
}

// decode reads JSON strictly: that the types know every field of the specification is held here too.
func decode(src []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// ineffective reports overrides that no trial is left with.
func (v *validator) ineffective(root *node, all []trial) {
	for _, o := range v.overrides {
		if !slices.Contains(specFields, o.path[0]) || o.value.kind == null || root.at(o.path) == nil {
			continue
		}
		if !slices.ContainsFunc(all, func(t trial) bool { return t.spec.at(o.path).comesFrom(o.place.file) }) {
			message := "has no effect: every trial sets it as well; set it in the trials, as in --set trials.NAME." + o.path.String()
			v.problems = append(v.problems, o.place.problem(message))
		}
	}
}

// verification takes the tolerance of a verification away where there is none, and reports one that was given.
func (v *validator) verification(root *node, common *settings) {
	if common.verify || common.choice == nil {
		return
	}
	common.choice.Tolerance.Verify = 0
	tolerance := root.at([]string{"select", "tolerance"})
	if tolerance == nil {
		return
	}
	for _, f := range tolerance.fields {
		if f.name == "verify" {
			v.problems = append(v.problems, f.key.problem("has no effect without verify: true: set that too, or leave this out"))
		}
	}
}

// comesFrom reports whether n, or a part of it, is from a file or override.
func (n *node) comesFrom(file string) bool {
	if n == nil {
		return false
	}
	return n.place.file == file || slices.ContainsFunc(n.fields, func(f field) bool { return f.value.comesFrom(file) })
}
