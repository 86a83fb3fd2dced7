package schema

import (
	"fmt"
	"slices"
	"strings"
)

// setting is one value of the matrix.
type setting struct {
	path  path // of the field that it sets
	key   place
	value *node
	label string // in the trial's name
}

// choice is what one step of an axis sets: one field, or all fields of a zip.
type choice []setting

// matrix is the matrix of a preset, read.
type matrix struct {
	axes     [][]choice
	excluded []exclusion
	problems Problems
}

// exclusion is a combination that is left out.
type exclusion struct {
	place  place
	values []setting
	used   bool
}

// readMatrix reads n, which may be nil. What the specification itself says of a matrix is not repeated here.
func readMatrix(n *node) *matrix {
	m := &matrix{}
	if n == nil || n.kind != object {
		return m
	}
	for _, f := range n.fields {
		switch f.name {
		case "zip":
			for _, group := range f.value.items {
				m.zip(group)
			}
		case "exclude": // read last, when all axes are known
		default:
			if values := m.axis(f); len(values) > 0 {
				m.axes = append(m.axes, values)
			}
		}
	}
	m.unique()
	m.label()
	if n := n.get("exclude"); n != nil {
		for _, item := range n.items {
			m.exclude(item)
		}
	}
	return m
}

func (m *matrix) report(at place, format string, args ...any) {
	m.problems = append(m.problems, at.problem(fmt.Sprintf(format, args...)))
}

// axis reads the values of one path, one choice each.
func (m *matrix) axis(f field) []choice {
	p, err := parsePath(f.name)
	if err != nil {
		m.report(f.key, "is no path: %v", err)
		return nil
	}
	if f.value.kind != list || !slices.Contains([]string{"model", "service", "workload", "request"}, p[0]) {
		return nil // reported by the specification
	}
	var choices []choice
	seen := map[string]bool{}
	for _, value := range f.value.items {
		if written := value.json(); seen[written] && value.kind != faulty {
			m.report(value.place, "stands in the list twice")
		} else {
			seen[written] = true
		}
		choices = append(choices, choice{{path: p, key: f.key, value: value}})
	}
	return choices
}

// zip reads a group of lists that step together.
func (m *matrix) zip(group *node) {
	if group.kind != object || len(group.fields) == 0 {
		m.report(group.place, `must be lists by their paths, such as {"model": ["a", "b"], "request.temperature": [0, 1]}`)
		return
	}
	var together []choice
	for i, f := range group.fields {
		p, err := parsePath(f.name)
		switch {
		case err != nil:
			m.report(f.key, "is no path: %v", err)
			return
		case f.value.kind != list || len(f.value.items) == 0:
			m.report(f.value.place, "must be a list of at least one value")
			return
		case i > 0 && len(f.value.items) != len(together):
			m.report(f.value.place, "has the length %d, %s has %d: lists that step together are equally long",
				len(f.value.items), group.fields[0].name, len(together))
			return
		}
		for step, value := range f.value.items {
			if i == 0 {
				together = append(together, choice{})
			}
			together[step] = append(together[step], setting{path: p, key: f.key, value: value})
		}
	}
	m.axes = append(m.axes, together)
}

// unique looks for paths of which one sets what another sets.
func (m *matrix) unique() {
	var all []setting
	for _, axis := range m.axes {
		for _, s := range axis[0] {
			for _, earlier := range all {
				if s.path.overlaps(earlier.path) {
					m.report(s.key, "sets what %s sets as well: keep one", earlier.path)
				}
			}
			all = append(all, s)
		}
	}
}

// label gives each value its text in the trial's name: the last name of the path, or the whole where two paths end alike, and the value.
func (m *matrix) label() {
	ends := map[string]int{}
	for _, axis := range m.axes {
		for _, s := range axis[0] {
			ends[s.path[len(s.path)-1]]++
		}
	}
	for _, axis := range m.axes {
		for step, choice := range axis {
			for i := range choice {
				s := &choice[i]
				name := s.path[len(s.path)-1]
				if ends[name] > 1 {
					name = s.path.String()
				}
				s.label = name + "=" + s.text(step)
			}
		}
	}
}

// text is the value in a few letters: its place in the list where it has no short form.
func (s *setting) text(step int) string {
	const most = 64
	switch {
	case s.value.kind == number || s.value.kind == boolean || s.value.kind == null:
		return s.value.literal
	case secret(s.path):
	case s.value.kind == text && s.value.literal != "" && len(s.value.literal) <= most && !strings.ContainsFunc(s.value.literal, isUnprintable):
		return s.value.literal
	}
	return fmt.Sprintf("#%d", step+1)
}

func isUnprintable(r rune) bool { return r < ' ' || r == 0x7f }

// exclude reads one combination that is left out. Its values must be the matrix's.
func (m *matrix) exclude(n *node) {
	if n.kind != object || len(n.fields) == 0 {
		m.report(n.place, `must be values by their paths, such as {"model": "a", "request.temperature": 1}`)
		return
	}
	e := exclusion{place: n.place}
	for _, f := range n.fields {
		p, err := parsePath(f.name)
		if err != nil {
			m.report(f.key, "is no path: %v", err)
			return
		}
		varied, holds := m.values(p, f.value.json())
		if !varied {
			m.report(f.key, "is not varied by the matrix, so nothing can be left out by it")
			return
		}
		if !holds {
			m.report(f.value.place, "is none of the values that the matrix gives to %s", p)
			return
		}
		e.values = append(e.values, setting{path: p, value: f.value})
	}
	m.excluded = append(m.excluded, e)
}

// values reports whether the matrix varies the field at p, and whether it gives it the value written as JSON.
func (m *matrix) values(p path, written string) (varied, holds bool) {
	for _, axis := range m.axes {
		for _, choice := range axis {
			for _, s := range choice {
				if slices.Equal(s.path, p) {
					varied = true
					holds = holds || s.value.json() == written
				}
			}
		}
	}
	return varied, holds
}

// size is the number of combinations before any is left out, or a number above most.
func (m *matrix) size(most int) int {
	count := 1
	for _, axis := range m.axes {
		if count *= len(axis); count > most {
			return count
		}
	}
	return count
}

// combinations are all choices of one step from each axis, the last axis changing fastest, but for those left out.
func (m *matrix) combinations() []choice {
	combined := []choice{{}}
	for _, axis := range m.axes {
		var longer []choice
		for _, before := range combined {
			for _, step := range axis {
				longer = append(longer, append(before[:len(before):len(before)], step...))
			}
		}
		combined = longer
	}
	return slices.DeleteFunc(combined, m.leavesOut)
}

func (m *matrix) leavesOut(c choice) bool {
	out := false
	for i := range m.excluded {
		if e := &m.excluded[i]; e.matches(c) {
			e.used, out = true, true
		}
	}
	return out
}

func (e *exclusion) matches(c choice) bool {
	for _, want := range e.values {
		if !slices.ContainsFunc(c, func(s setting) bool { return slices.Equal(s.path, want.path) && s.value.json() == want.value.json() }) {
			return false
		}
	}
	return true
}
