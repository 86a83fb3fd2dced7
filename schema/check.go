package schema

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// checker holds one part of a preset against the specification.
//
// CUE gives only some of the faults of a value at once. So the check goes in rounds: what was reported is taken out of the tree and the rest judged again,
// until nothing is found. gone remembers what was taken out, so that its absence is not reported in turn.
type checker struct {
	*definitions
	problems Problems
	gone     map[*node]map[string]bool
}

// check holds n against s, and gives n with all defaults as JSON, or else the problems. It takes n apart. A missing n is reported at its parent's place.
func (d *definitions) check(s *shape, n *node, parent place) ([]byte, Problems) {
	c := checker{definitions: d, gone: map[*node]map[string]bool{}}
	switch {
	case n == nil && s.required:
		return nil, Problems{parent.below(s.name).problem(c.missing(s))}
	case n == nil:
		n = &node{kind: object, place: parent.below(s.name)}
	case n.kind == faulty:
		return nil, nil
	}
	c.prune(n)
	c.attributes(s, n)
	for {
		value := d.ctx.BuildExpr(n.expr()).Unify(s.value)
		err := value.Validate(cue.Concrete(true))
		if err == nil {
			break
		}
		if progress := c.explain(err, s, n); !progress {
			break
		}
	}
	if len(c.problems) > 0 || len(c.gone) > 0 {
		return nil, c.problems
	}
	return c.complete(s, n)
}

// complete is n with its defaults. That it fails is a gap in explain: the fault is named as far as CUE names it.
func (c *checker) complete(s *shape, n *node) ([]byte, Problems) {
	value := c.ctx.BuildExpr(n.expr()).Unify(s.value)
	if err := value.Validate(cue.Concrete(true)); err != nil {
		return nil, Problems{n.place.problem("is not valid")}
	}
	written, err := value.MarshalJSON()
	if err != nil {
		return nil, Problems{n.place.problem("is not valid")}
	}
	return written, nil
}

// take removes a field or item that has been dealt with.
func (c *checker) take(parent *node, name string) {
	c.mark(parent, name)
	parent.remove(name)
}

// mark remembers that the absence of a field needs no report.
func (c *checker) mark(parent *node, name string) {
	if c.gone[parent] == nil {
		c.gone[parent] = map[string]bool{}
	}
	c.gone[parent][name] = true
}

// prune takes out what was reported when the file was read.
func (c *checker) prune(n *node) {
	for _, f := range slices.Clone(n.fields) {
		if f.value.kind == faulty {
			c.take(n, f.name)
			continue
		}
		c.prune(f.value)
	}
	for i, item := range slices.Backward(n.items) {
		if item.kind == faulty {
			c.take(n, indexed(i))
			continue
		}
		c.prune(item)
	}
}

// attributes checks the rules between fields that attributes of the specification state.
func (c *checker) attributes(s *shape, n *node) {
	for i, item := range n.items {
		c.attributes(s.get(indexed(i)), item)
	}
	for _, f := range n.fields {
		of := s.get(f.name)
		if of == nil {
			continue
		}
		c.attributes(of, f.value)
		for _, needed := range of.needs {
			if n.get(needed) == nil {
				c.report(f.key, "has no effect without %s: set that too, or leave this out", needed)
			}
		}
		for _, other := range of.excludes {
			if n.get(other) != nil {
				c.report(f.key, "has no effect beside %s: keep one of them", other)
			}
		}
		c.only(of, n, f)
	}
}

func (c *checker) only(s *shape, n *node, f field) {
	if len(s.only) == 0 {
		return
	}
	decider, values := s.only[0], s.only[1:]
	if given := n.get(decider); given != nil && !slices.Contains(values, given.literal) {
		c.report(f.key, "goes with %s %s only, and has no effect here", decider, words(values, "or"))
	}
}

func (c *checker) report(at place, format string, args ...any) {
	c.problems = append(c.problems, at.problem(fmt.Sprintf(format, args...)))
}

// words lists names as a sentence does: "a, b and c".
func words(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
