package workload

import (
	"fmt"
	"slices"
	"strings"
)

// mostDAGFaults is how many faults between sessions are told.
const mostDAGFaults = 20

// link finds the roots, and what is wrong between sessions: names that no line declares, a session forked twice, a
// session below itself, a tree that is too large.
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
	trees, problem := d.grow()
	if problem != nil {
		return []error{problem}
	}
	for entry, n := range d.index.order {
		if !named[n] {
			d.roots = append(d.roots, int64(entry))
		}
	}
	return d.tooLarge(trees)
}

// grow counts the turns of each session's tree, as far as mostTurns+1; it is an error if a session is below itself. Trees that are started from several
// places are walked once, and by a stack of its own: a file may let a million sessions start each other in turn.
func (d *DAG) grow() ([]int, error) {
	const above, done = 1, 2
	nodes := d.index.nodes
	states, next, trees := make([]byte, len(nodes)), make([]int32, len(nodes)), make([]int, len(nodes))
	var path []int32
	for _, start := range d.index.order {
		if states[start] == done {
			continue
		}
		path, states[start] = append(path, start), above
		for len(path) > 0 {
			n := path[len(path)-1]
			if int(next[n]) == len(nodes[n].starts) {
				trees[n] = nodes[n].tree(trees)
				path, states[n] = path[:len(path)-1], done
				continue
			}
			child := nodes[n].starts[next[n]]
			next[n]++
			switch states[child] {
			case above:
				return nil, d.circle(append(path[slices.Index(path, child):], child))
			case 0:
				path, states[child] = append(path, child), above
			}
		}
	}
	return trees, nil
}

// tree is the number of turns of a session and of all below it, by those of the sessions that it starts; mostTurns+1 stands for any more.
func (n *dagNode) tree(trees []int) int {
	turns := n.turns
	for _, child := range n.starts {
		turns = min(turns+trees[child], mostTurns+1)
	}
	return min(turns, mostTurns+1)
}

// tooLarge are the errors of roots whose trees no point could replay.
func (d *DAG) tooLarge(trees []int) []error {
	var problems []error
	more := 0
	for _, entry := range d.roots {
		n := d.index.order[entry]
		switch s := &d.index.nodes[n]; {
		case trees[n] <= mostTurns:
		case len(problems) == mostDAGFaults:
			more++
		default:
			problems = append(problems, fmt.Errorf("%s:%d: the tree of session %q has more than %d turns, those of a session counted each time that it is started: let it start fewer, or cut it into several trees",
				d.book.Name(), s.line, s.name, mostTurns))
		}
	}
	if more > 0 {
		problems = append(problems, fmt.Errorf("%s: %d more faults", d.book.Name(), more))
	}
	return problems
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
