package workload

import (
	"fmt"
	"slices"
	"strings"
)

// mostDAGFaults is how many faults between sessions are told.
const mostDAGFaults = 20

// link finds the roots, and what is wrong between sessions: names that no line declares, a session forked twice, a session below itself.
func (d *DAG) link() []error {
	var problems []error
	more := 0
	named, forked := make([]bool, len(d.index.nodes)), map[int32]string{}
	for _, n := range d.index.order {
		s := &d.index.nodes[n]
		complain := func(format, other string, more ...any) {
			problems = append(problems, fmt.Errorf("%s:%d: session %q "+format, append([]any{d.book.Name(), s.line, s.name, other}, more...)...))
		}
		for _, child := range s.starts {
			named[child] = true
			if of := &d.index.nodes[child]; of.line == 0 {
				complain("starts %q, which no line declares", of.name)
			}
		}
		for _, child := range s.forks {
			if parent, twice := forked[child]; twice {
				complain("forks %q, which %q forks too: it can inherit from one alone", d.index.nodes[child].name, parent)
			}
			forked[child] = s.name
		}
		if len(problems) > mostDAGFaults {
			more += len(problems) - mostDAGFaults
			problems = problems[:mostDAGFaults]
		}
	}
	if more > 0 {
		problems = append(problems, fmt.Errorf("%s: %d more faults", d.book.Name(), more))
	}
	if len(problems) > 0 {
		return problems
	}
	if problem := d.cycle(); problem != nil {
		return []error{problem}
	}
	for entry, n := range d.index.order {
		if !named[n] {
			d.roots = append(d.roots, int64(entry))
		}
	}
	return nil
}

// cycle is an error if a session is below itself.
func (d *DAG) cycle() error {
	const above, done = 1, 2
	states := make([]byte, len(d.index.nodes))
	var path []int32
	var visit func(n int32) error
	visit = func(n int32) error {
		switch states[n] {
		case above:
			return d.circle(append(path[slices.Index(path, n):], n))
		case done:
			return nil
		}
		states[n] = above
		path = append(path, n)
		for _, child := range d.index.nodes[n].starts {
			if err := visit(child); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		states[n] = done
		return nil
	}
	for _, n := range d.index.order {
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

// circle is the error of sessions that start each other in turn.
func (d *DAG) circle(path []int32) error {
	var names []string
	for _, n := range path {
		names = append(names, d.index.nodes[n].name)
	}
	const mostTold = 20
	if len(names) > mostTold {
		names = append(append(names[:mostTold-1:mostTold-1], "…"), names[len(names)-1])
	}
	return fmt.Errorf("%s:%d: sessions start each other: %s", d.book.Name(), d.index.nodes[path[0]].line, strings.Join(names, " > "))
}
