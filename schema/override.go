package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Options change a preset before it is validated, as the command line does.
type Options struct {
	// Set has assignments such as "load.requests=100". The value is JSON where it reads as JSON, else text; null removes the field. A number or truth
	// that a field does not take is text where the field takes it so, as in "request.http=2". A path may not be set twice.
	Set []string

	texts []string // of Set, whose values are text, whatever they read as
	// Flags has sweeps by the name of their field in load, such as "request_concurrency": "1,2,4".
	Flags map[string]string
	// Digest gives the SHA-256, in hexadecimal, of the file that a workload names, or why it can't be used. Nil: no file is looked at, and what the
	// preset says of its content is believed.
	Digest func(Workload) (string, error)
	// Tokenizer gives the SHA-256, in hexadecimal, of a tokenizer.json by its path, or why it can't be counted with. Nil: none is looked at.
	Tokenizer func(file string) (string, error)
	// Extent gives what a file that Digest gave a digest of holds. Nil: a trace is believed to have times.
	Extent func(Workload) Extent
}

// override is one assignment from outside the file.
type override struct {
	path  path
	value *node
	place place
}

// overrides reads opts. An assignment that cannot be read is a problem and left out.
func (opts Options) overrides() ([]override, Problems) {
	var all []override
	var problems Problems
	for _, name := range slices.Sorted(maps.Keys(opts.Flags)) {
		at := place{file: "--" + strings.ReplaceAll(name, "_", "-"), path: path{"load", name}}
		all = append(all, override{at.path, &node{kind: text, literal: opts.Flags[name], place: at}, at})
	}
	for _, assignment := range opts.Set {
		o, problem := readAssignment(assignment, slices.Contains(opts.texts, assignment))
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		all = append(all, o)
	}
	for i, o := range all {
		for _, earlier := range all[:i] {
			if o.path.overlaps(earlier.path) {
				problems = append(problems, o.place.problem("is set by "+earlier.place.file+" as well: keep one"))
			}
		}
	}
	return all, problems
}

// refused are the assignments whose value is a number or a truth and has a problem, each with the file of its problems: the field may take it as text.
func (opts Options) refused(problems Problems) map[string]string {
	refused := map[string]string{}
	for _, assignment := range opts.Set {
		o, problem := readAssignment(assignment, false)
		if problem == nil && (o.value.kind == number || o.value.kind == boolean) && problems.of(o.place.file) {
			refused[assignment] = o.place.file
		}
	}
	return refused
}

func readAssignment(s string, asText bool) (override, *Problem) {
	left, right, found := strings.Cut(s, "=")
	if inQuotes := strings.Count(left, `"`)%2 == 1; inQuotes { // a quoted name with = in it
		if end := strings.Index(right, `"=`); end >= 0 {
			left, right = left+"="+right[:end+1], right[end+2:]
		}
	}
	if !found {
		return override{}, &Problem{File: "--set", Message: "must be PATH=VALUE, such as load.requests=100"}
	}
	p, err := parsePath(left)
	if err != nil {
		return override{}, &Problem{File: "--set " + left, Message: err.Error()}
	}
	at := place{file: "--set " + p.String(), path: p}
	if asText {
		return override{p, &node{kind: text, literal: right, place: at}, at}, nil
	}
	return override{p, readValue(right, at), at}, nil
}

// readValue reads JSON, or failing that text. Everything in it stands at one place.
func readValue(s string, at place) *node {
	if !json.Valid([]byte(s)) {
		return &node{kind: text, literal: s, place: at}
	}
	r := newReader("")
	read := r.json(bytes.TrimSpace([]byte(s)))
	if len(r.problems) > 0 { // such as a name that stands twice
		return &node{kind: text, literal: s, place: at}
	}
	read.move(at)
	return read
}

// move puts n and all below it at one place, each with its own path.
func (n *node) move(at place) {
	n.place = at
	for i, item := range n.items {
		item.move(at.below(indexed(i)))
	}
	for i := range n.fields {
		n.fields[i].key = at.below(n.fields[i].name)
		n.fields[i].value.move(n.fields[i].key)
	}
}

// set makes an assignment to the tree.
func (n *node) set(o override) {
	if o.value.kind == null {
		if parent := n.at(o.path[:len(o.path)-1]); parent != nil {
			parent.remove(o.path[len(o.path)-1])
		}
		return
	}
	n.lay(wrap(o.path, o.value, o.place), nil)
}

// wrap is the object that holds value at a path, and nothing else.
func wrap(p path, value *node, at place) *node {
	for i, name := range slices.Backward(p) {
		outer := at
		outer.path = p[:i]
		value = &node{kind: object, place: outer, fields: []field{{name, at, value}}}
	}
	return value
}

// alternatives are the objects that hold exactly one of their fields: naming another one replaces what they hold.
var alternatives = []string{"service", "workload"}

// varying are the workloads whose groups are counts that vary in one way each.
var varying = []string{"random", "sessions", "tree"}

// isAlternatives reports whether the object at p holds one of several, in the preset or in a trial: so do the counts of workloads, each of
// which varies in one way.
func isAlternatives(p path) bool {
	if len(p) > 2 && p[0] == "trials" {
		p = p[2:]
	}
	return len(p) == 1 && slices.Contains(alternatives, p[0]) || len(p) == 3 && p[0] == "workload" && slices.Contains(varying, p[1])
}

// lay puts patch over n, which is at a path: objects field by field, anything else in the place of what is there.
func (n *node) lay(patch *node, at path) {
	if isAlternatives(at) && len(patch.fields) > 0 {
		n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return patch.get(f.name) == nil })
	}
	for _, f := range patch.fields {
		present := n.get(f.name)
		if present == nil || present.kind != object || f.value.kind != object {
			n.put(field{f.name, f.key, f.value.clone()})
			continue
		}
		present.lay(f.value, at.with(f.name))
	}
}
