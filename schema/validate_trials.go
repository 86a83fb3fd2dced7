package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// judgement is what was found of one value of a field: JSON with defaults, or the problems of each place where it was seen.
type judgement struct {
	written []byte
	found   map[string]Problems // by the places of its parts
}

// trials validates every trial. A trial with problems is left out; a problem that not all trials have says which do.
func (v *validator) trials(all []trial) ([]Trial, error) {
	var validated []Trial
	var order []Problem
	in := map[Problem][]string{}
	for _, t := range all {
		spec, problems, err := v.spec(t)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			if in[p] == nil {
				order = append(order, p)
			}
			in[p] = append(in[p], t.name)
		}
		if spec != nil {
			validated = append(validated, Trial{Name: t.name, Axes: t.axes, Spec: *spec})
		}
	}
	for _, p := range order {
		if len(in[p]) < len(all) && !strings.HasPrefix(p.Path, "trials") && !strings.HasPrefix(p.Path, "matrix") {
			p.Message += " (in trial " + some(in[p]) + ")"
		}
		v.problems = append(v.problems, p)
	}
	return validated, nil
}

// some names a few of many.
func some(names []string) string {
	const few = 3
	if len(names) > few {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return words(names, "and")
}

// spec validates one trial; nil where there are problems.
func (v *validator) spec(t trial) (*Spec, Problems, error) {
	var out bytes.Buffer
	var problems Problems
	complete := true
	for i, name := range specFields {
		written, found := v.judge(v.definitions.spec.get(name), t.spec.get(name), t.spec.place)
		problems = append(problems, found...)
		complete = complete && written != nil
		fmt.Fprintf(&out, "%c%q:%s", "{,,,"[i], name, written)
	}
	if !complete {
		return nil, problems, nil
	}
	out.WriteByte('}')
	spec := &Spec{}
	if err := decode(out.Bytes(), spec); err != nil {
		return nil, nil, fmt.Errorf("reading the validated trial %s: %w", t.name, err)
	}
	return spec, nil, nil
}

// judge checks a field's value, unless the same was checked before.
func (v *validator) judge(s *shape, n *node, parent place) ([]byte, Problems) {
	if n == nil {
		return v.check(s, nil, parent)
	}
	key := s.name + n.json()
	known, seen := v.judged[key]
	if seen && known.written != nil {
		return known.written, nil
	}
	at := n.places()
	if found, same := known.found[at]; same {
		return nil, found
	}
	written, found := v.check(s, n.clone(), parent)
	if known.found == nil {
		known.found = map[string]Problems{}
	}
	known.written, known.found[at] = written, found
	v.judged[key] = known
	return written, slices.Clone(found)
}

// places writes where n and all below it stand.
func (n *node) places() string {
	var out strings.Builder
	var visit func(*node)
	visit = func(n *node) {
		fmt.Fprintf(&out, "%s:%d:%d ", n.place.file, n.place.line, n.place.column)
		for _, item := range n.items {
			visit(item)
		}
		for _, f := range n.fields {
			visit(f.value)
		}
	}
	visit(n)
	return out.String()
}
