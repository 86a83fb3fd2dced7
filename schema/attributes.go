package schema

import "slices"

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

// only holds that a field stands beside one of the values that it goes with.
func (c *checker) only(s *shape, n *node, f field) {
	if len(s.only) == 0 {
		return
	}
	decider, values := s.only[0], s.only[1:]
	if given := n.get(decider); given != nil && !slices.Contains(values, given.literal) {
		c.report(f.key, "goes with %s %s only, and has no effect here", decider, words(values, "or"))
	}
}
