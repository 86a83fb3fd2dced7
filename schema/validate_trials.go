package schema

import (
	"bytes"
	"fmt"
	"strings"
)

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
			validated = append(validated, Trial{Name: t.name, Axes: t.axes, Spec: *spec, Extent: v.extentOf(*spec)})
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
	switchOn(t.spec.get("workload"))
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
	if problems = headers(t.spec); len(problems) > 0 {
		return nil, problems, nil
	}
	out.WriteByte('}')
	spec := &Spec{}
	if err := decode(out.Bytes(), spec); err != nil {
		return nil, nil, fmt.Errorf("reading the validated trial %s: %w", t.name, err)
	}
	problems = append(process(t.spec, spec.Service.Process), endpoint(t.spec, spec.Service.Endpoint)...)
	if problems = append(problems, v.sessions(t.spec, spec)...); len(problems) > 0 {
		return nil, problems, nil
	}
	return spec, nil, nil
}

// switchOn makes "agentic: true" of a workload the group of its defaults.
func switchOn(workload *node) {
	if workload == nil {
		return
	}
	for _, f := range workload.fields {
		if n := f.value.get("agentic"); n != nil && n.kind == boolean && n.literal == "true" {
			n.kind, n.literal = object, ""
		}
	}
}

// judge checks a field's value. What was found wrong with it in one trial is not looked for again in the others that share it.
func (v *validator) judge(s *shape, n *node, parent place) ([]byte, Problems) {
	if n == nil {
		return v.check(s, nil, parent)
	}
	if len(v.faults) > 0 {
		if found, known := v.faults[n.places()+n.json()]; known {
			return nil, found
		}
	}
	written, found := v.check(s, n, parent)
	if written == nil {
		v.faults[n.places()+n.json()] = found
	}
	return written, found
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

// headers looks for headers that would be sent twice.
func headers(spec *node) Problems {
	var problems Problems
	seen := map[string]string{}
	for _, kind := range []string{"endpoint", "process"} {
		if key := (path{"service", kind, "api_key_env"}); spec.at(key) != nil {
			seen["authorization"] = key.String()
		}
	}
	set := spec.at(path{"request", "headers"})
	if set == nil {
		return nil
	}
	for _, f := range set.fields {
		name := strings.ToLower(f.name)
		if by, twice := seen[name]; twice {
			problems = append(problems, f.key.problem("is set by "+by+" as well: keep one"))
		}
		seen[name] = f.name
	}
	return problems
}
