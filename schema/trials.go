package schema

import (
	"fmt"
	"slices"
	"strings"
)

// trial is one configuration before it is validated.
type trial struct {
	name  string
	place place // of what makes it: its key under trials, or the preset
	axes  []Axis
	spec  *node // model, service, workload and request
}

var specFields = []string{"model", "service", "workload", "request"}

// trials lays every trial's patch, and every combination of the matrix, over the preset.
func trials(root *node) ([]trial, Problems) {
	m := readMatrix(root.get("matrix"))
	patches, problems := patches(root)
	problems = append(problems, m.problems...)
	if len(patches)*m.size(maxPoints) > maxPoints {
		at := keyOf(root, "matrix")
		return nil, append(problems, at.problem("makes more than 100,000 trials: vary fewer values, or step some together with zip"))
	}
	combinations := m.combinations()
	problems = append(problems, m.unused(combinations)...)
	base := &node{kind: object, place: root.place}
	for _, name := range specFields {
		if i := root.index(name); i >= 0 {
			base.fields = append(base.fields, root.fields[i])
		}
	}
	var all []trial
	for _, p := range patches {
		for _, c := range combinations {
			t, found := makeTrial(base, p, c)
			problems = append(problems, found...)
			all = append(all, t)
		}
	}
	if len(problems) == 0 {
		problems = sameNames(all)
	}
	return all, problems
}

// patches are the trials of the preset, one without a name where there are none.
func patches(root *node) ([]field, Problems) {
	n := root.get("trials")
	none := field{"", root.place, &node{kind: object, place: root.place}}
	if n == nil {
		return []field{none}, nil
	}
	if n.kind == object && len(n.fields) == 0 {
		return []field{none}, Problems{n.place.problem("is empty: name at least one trial, or leave it out")}
	}
	var patches []field
	for _, f := range n.fields {
		if f.value.kind != object { // reported by the specification
			f.value = &node{kind: object, place: f.value.place}
		}
		patches = append(patches, f)
	}
	if len(patches) == 0 {
		patches = []field{none}
	}
	return patches, nil
}

// keyOf is where a field of n stands, or n where it has none of that name.
func keyOf(n *node, name string) place {
	if i := n.index(name); i >= 0 {
		return n.fields[i].key
	}
	return n.place
}

// makeTrial lays a patch and a choice over the base. What one of them sets must be there in the end.
func makeTrial(base *node, patch field, c choice) (trial, Problems) {
	var problems Problems
	t := trial{name: patch.name, place: patch.key, spec: base.clone()}
	t.spec.lay(patch.value, nil)
	for _, s := range c {
		if patch.value.touches(s.path) {
			problems = append(problems, patch.key.problem("sets "+s.path.String()+", which the matrix varies: keep one"))
		}
		t.spec.lay(wrap(s.path, s.value, s.key), nil)
		t.axes = append(t.axes, Axis{s.path.String(), s.value.json()})
	}
	for _, s := range c {
		if t.spec.at(s.path) == nil {
			problems = append(problems, s.key.problem("has no effect: another path of the matrix names a different "+s.path[0]))
		}
	}
	if held := patch.value.alternative(); held != nil && !t.spec.has(held) {
		problems = append(problems, patch.key.problem("names a "+held[0]+" that the matrix replaces: keep one"))
	}
	t.name = trialName(patch.name, c)
	return t, problems
}

// touches reports whether n sets the field at p, or a part of it.
func (n *node) touches(p path) bool {
	for _, name := range p {
		if n.kind != object {
			return true
		}
		if n = n.get(name); n == nil {
			return false
		}
	}
	return true
}

// alternative is the path of an alternative that n names, such as service.endpoint, or nil.
func (n *node) alternative() path {
	for _, name := range alternatives {
		if held := n.get(name); held != nil && len(held.fields) > 0 {
			return path{name, held.fields[0].name}
		}
	}
	return nil
}

func (n *node) has(p path) bool { return n.at(p) != nil }

// trialName writes baseline/max-num-seqs=64,temperature=0, leaving out what there is none of.
func trialName(patch string, c choice) string {
	labels := make([]string, len(c))
	for i, s := range c {
		labels[i] = s.label
	}
	values := strings.Join(labels, ",")
	switch {
	case patch == "" && values == "":
		return "default"
	case patch == "":
		return values
	case values == "":
		return patch
	}
	return patch + "/" + values
}

// unused reports exclusions that leave nothing out, and a matrix of which nothing is left.
func (m *matrix) unused(left []choice) Problems {
	var problems Problems
	for _, e := range m.excluded {
		if !e.used {
			problems = append(problems, e.place.problem("leaves nothing out: no combination has these values together"))
		}
	}
	if len(left) == 0 && len(m.excluded) > 0 {
		problems = append(problems, m.excluded[0].place.problem("leaves no trial over"))
	}
	return problems
}

// sameNames looks for trials that could not be told apart.
func sameNames(all []trial) Problems {
	var problems Problems
	seen := map[string]bool{}
	for _, t := range all {
		if seen[t.name] {
			problems = append(problems, t.place.problem(fmt.Sprintf("makes two trials named %s: name or value one of them differently", t.name)))
		}
		seen[t.name] = true
	}
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a == b })
}
