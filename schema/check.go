package schema

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// checker holds one part of a preset against the specification, and puts into words what CUE finds.
//
// CUE gives only some of the faults of a value at once. So a value that is not valid as a whole is judged part by part, down to the scalars that
// are to blame; rules between fields are looked at where all parts are good by themselves.
type checker struct {
	*definitions
	problems Problems
}

// check holds n against s, and gives n with all defaults as JSON, or else the problems. A missing n is reported at its parent's place.
func (d *definitions) check(s *shape, n *node, parent place) ([]byte, Problems) {
	c := checker{definitions: d}
	switch {
	case n == nil && s.required:
		return nil, Problems{parent.below(s.name).problem(c.missing(s))}
	case n == nil:
		n = &node{kind: object, place: parent.below(s.name)}
	}
	c.attributes(s, n)
	written, valid := c.judge(s, field{s.name, n.place, n})
	if !valid && len(c.problems) == 0 && !n.hasFaulty() {
		c.report(n.place, "is not valid")
	}
	if !valid || len(c.problems) > 0 {
		return nil, c.problems
	}
	return written, nil
}

func (c *checker) unify(s *shape, n *node) cue.Value {
	return c.ctx.BuildExpr(n.expr()).Unify(s.value)
}

func (c *checker) report(at place, format string, args ...any) {
	c.problems = append(c.problems, at.problem(fmt.Sprintf(format, args...)))
}

// judge gives a valid field's value with its defaults as JSON, or else reports what is wrong with it. A faulty value has been reported already.
func (c *checker) judge(s *shape, f field) (written []byte, valid bool) {
	n := f.value
	if n.kind == faulty {
		return nil, false
	}
	if written, valid := c.compose(s, n); valid {
		return written, true
	}
	value := c.unify(s, n)
	err := value.Validate(cue.Concrete(true))
	if err == nil && !n.hasFaulty() {
		written, err = value.MarshalJSON()
	}
	if err == nil && written != nil {
		return written, true
	}
	switch {
	case s.object && n.kind == object:
		if c.fields(s, n) {
			c.together(err, n)
		}
	case s.item != nil && n.kind == list:
		for i, item := range n.items {
			c.judge(s.item, field{indexed(i), item.place, item})
		}
	case c.scalars(s, n):
	default:
		rule := c.broken(err)
		c.report(placeFor(rule, f), "%s", c.sentence(rule, s, n))
	}
	return nil, false
}

// scalars judges the items of a list by the rule that the specification has for each, and reports whether one of them is to blame.
func (c *checker) scalars(s *shape, n *node) (found bool) {
	if s.scalar == nil || n.kind != list {
		return false
	}
	for _, item := range n.items {
		if item.kind == faulty {
			continue
		}
		if rule := c.broken(c.unify(s.scalar, item).Validate(cue.Concrete(true))); rule != "" {
			c.report(item.place, "%s", c.sentence(rule, s.scalar, item))
			found = true
		}
	}
	return found
}

// fields judges the fields of an object one by one, and reports whether all are good by themselves.
func (c *checker) fields(s *shape, n *node) bool {
	good := true
	var known, strange, meant []string
	for _, f := range n.fields {
		if child := s.get(f.name); child == nil || s.each != nil {
			if !c.free(s, f, &meant) {
				good = false
				strange = append(strange, f.name)
				continue
			}
		}
		if child := s.get(f.name); child != nil {
			known = append(known, f.name)
			_, valid := c.judge(child, f)
			good = valid && good
		}
	}
	for _, child := range s.fields {
		if child.required && n.get(child.name) == nil && !slices.Contains(meant, child.name) {
			c.report(n.place.below(child.name), "%s", c.missing(child))
			good = false
		}
	}
	return c.one(s, n, known, len(strange) > 0) && good
}

// free judges a field whose name the specification does not list: it may have rules for names, or be no field at all. A name that was meant
// instead is added to meant.
func (c *checker) free(s *shape, f field, meant *[]string) bool {
	if f.value.hasFaulty() && s.each == nil {
		return false
	}
	value := f.value
	if s.each != nil {
		value = &node{kind: object} // judged by itself
	}
	err := c.unify(s, &node{kind: object, fields: []field{{f.name, f.key, value}}}).Validate()
	if err == nil {
		return true
	}
	if rule := c.broken(err); rule != "" {
		c.report(placeFor(rule, f), "%s", c.sentence(rule, nil, f.value))
		return false
	}
	message, instead := stranger(f.name, s.names())
	c.report(f.key, "%s", message)
	*meant = append(*meant, instead)
	return false
}

// placeFor is where a broken rule is shown: a rule about what a value must be at the value, any other at its name.
func placeFor(rule string, f field) place {
	if rule == "" || strings.HasPrefix(rule, "must ") {
		return f.value.place
	}
	return f.key
}

// one holds that an object with alternatives has exactly one of them. Where it has names that are none, these have been reported.
func (c *checker) one(s *shape, n *node, known []string, strange bool) bool {
	switch {
	case !s.oneOf || len(known) == 1:
		return true
	case len(known) > 1:
		c.report(n.place, "holds %s: keep one", words(known, "and"))
	case !strange:
		c.report(n.place, "must hold one of %s", words(s.names(), "and"))
	}
	return false
}

// hasFaulty reports whether a part of n has been reported already.
func (n *node) hasFaulty() bool {
	return n.kind == faulty || slices.ContainsFunc(n.items, (*node).hasFaulty) ||
		slices.ContainsFunc(n.fields, func(f field) bool { return f.value.hasFaulty() })
}

// impossible is a value that no scalar of the specification can have.
func impossible() ast.Expr {
	return &ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: ast.NewString("\x00"), Value: ast.NewNull()}}}
}
