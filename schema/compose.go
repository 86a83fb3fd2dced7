package schema

import (
	"bytes"
	"fmt"

	"cuelang.org/go/cue"
)

// compose gives a valid n with its defaults as JSON from the parts of it that CUE has found valid by themselves, or false where that does not say
// it all: then n is judged as a whole. Ten thousand trials that differ in a few values are so validated at the cost of those values.
//
// An object is valid where each field is, none is unknown, none required is missing, and of alternatives there is one. That holds because rules
// between fields stand in rules.cue for the items of lists alone, which are judged whole.
func (c *checker) compose(s *shape, n *node) ([]byte, bool) {
	if n.kind == faulty {
		return nil, false
	}
	if s.whole || !s.object || len(s.fields) == 0 || s.each != nil {
		return c.part(s, n)
	}
	if n.kind != object || s.oneOf && len(n.fields) != 1 {
		return nil, false
	}
	var out bytes.Buffer
	for _, f := range n.fields {
		child := s.get(f.name)
		if child == nil {
			return nil, false
		}
		written, valid := c.compose(child, f.value)
		if !valid {
			return nil, false
		}
		fmt.Fprintf(&out, "%c%q:%s", "{,"[min(out.Len(), 1)], f.name, written)
	}
	for _, child := range s.fields {
		if child.optional || n.get(child.name) != nil {
			continue
		}
		written, valid := c.absent(child)
		if !valid {
			return nil, false
		}
		fmt.Fprintf(&out, "%c%q:%s", "{,"[min(out.Len(), 1)], child.name, written)
	}
	if out.Len() == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), true
}

// part is a value that CUE judges whole.
func (c *checker) part(s *shape, n *node) ([]byte, bool) {
	if n.hasFaulty() {
		return nil, false
	}
	key := valueOf{s, n.json()}
	if written, known := c.valid[key]; known {
		return written, true
	}
	value := c.unify(s, n)
	if value.Validate(cue.Concrete(true)) != nil {
		return nil, false
	}
	written, err := value.MarshalJSON()
	if err != nil {
		return nil, false
	}
	c.valid[key] = written
	return written, true
}

// absent is what a field is that is left out.
func (c *checker) absent(s *shape) ([]byte, bool) {
	if s.required {
		return nil, false
	}
	key := valueOf{s, ""}
	if written, known := c.valid[key]; known {
		return written, true
	}
	written, err := s.value.MarshalJSON()
	if err != nil {
		return nil, false
	}
	c.valid[key] = written
	return written, true
}
