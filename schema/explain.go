package schema

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
)

// explain turns what CUE says of n into problems in the words of the specification, and takes the faulty parts out of n. It reports whether it took any.
func (c *checker) explain(err error, s *shape, n *node) bool {
	var order []string
	messages := map[string][]string{}
	paths := map[string]path{}
	for _, e := range errors.Errors(err) {
		p := cuePath(e.Path())
		key := p.String()
		if _, seen := paths[key]; !seen {
			order = append(order, key)
			paths[key] = p
		}
		format, args := e.Msg()
		messages[key] = append(messages[key], fmt.Sprintf(format, args...))
	}
	progress := false
	for _, key := range order {
		if c.fault(s, n, paths[key], messages[key]) {
			progress = true
		}
	}
	return progress
}

// fault deals with what CUE says of one path, and reports whether something was taken out, or reported for the first time.
func (c *checker) fault(s *shape, root *node, p path, messages []string) bool {
	if len(p) == 0 {
		return c.rootFault(s, root, messages)
	}
	name := p[len(p)-1]
	parent, outer, inner := root.at(p[:len(p)-1]), s.at(p[:len(p)-1]), s.at(p)
	if parent == nil {
		return false // a part of what has just been taken out
	}
	n := parent.get(name)
	switch {
	case n == nil:
		return c.absent(inner, parent, name)
	case inner != nil && inner.oneOf && n.kind == object:
		return c.oneOf(inner, n, parent, name)
	}
	key := n.place
	if i := parent.index(name); i >= 0 {
		key = parent.fields[i].key
	}
	if rule := c.broken(messages); rule == "" && inner == nil && outer != nil && !outer.any {
		c.unknown(outer, parent, field{name, key, n})
	} else {
		c.report(placeFor(rule, key, n.place), "%s", c.sentence(rule, inner, n))
	}
	c.take(parent, name)
	return true
}

// rootFault is a fault of the checked value itself, after which there is nothing left to check.
func (c *checker) rootFault(s *shape, n *node, messages []string) bool {
	if s.oneOf && n.kind == object {
		return c.oneOf(s, n, nil, "")
	}
	if len(c.problems) == 0 {
		c.report(n.place, "%s", c.sentence(c.broken(messages), s, n))
	}
	c.mark(n, "")
	return false
}

// broken is the most particular of the specification's rules among messages, or "".
func (c *checker) broken(messages []string) string {
	found := ""
	for _, message := range messages {
		if order, isRule := c.rules[message]; isRule && (found == "" || order > c.rules[found]) {
			found = message
		}
	}
	return found
}

// placeFor is where a broken rule is shown: a rule about what a value must be at the value, any other at its name.
func placeFor(rule string, key, value place) place {
	if rule == "" || strings.HasPrefix(rule, "must ") {
		return value
	}
	return key
}

// sentence says what is wrong with n, which s describes.
func (c *checker) sentence(rule string, s *shape, n *node) string {
	if rule == "" && s != nil {
		rule = c.rule(s)
	}
	switch {
	case rule == "" && s != nil && len(s.fields) > 0:
		rule = "must be a group of fields (" + words(s.names(), "and") + ")"
	case rule == "" && s != nil && s.each != nil, rule == "" && s != nil && s.any:
		rule = "must be a group of fields"
	case rule == "" && s != nil && s.item != nil:
		rule = "must be a list of groups of fields (" + words(s.item.names(), "and") + ")"
	case rule == "":
		rule = "is not valid here"
	}
	if !strings.HasPrefix(rule, "must ") {
		return rule
	}
	if n.kind == null {
		return rule + "; it is empty"
	}
	if n.kind > text {
		return rule + ", not " + describe(n)
	}
	if secret(n.place.path) || len(n.literal) > 60 {
		return rule
	}
	return rule + ", not " + describe(n)
}

// rule is the rule of a scalar: what the specification says to a value that can't be right.
func (c *checker) rule(s *shape) string {
	if len(s.fields) > 0 || s.item != nil || s.each != nil {
		return ""
	}
	var messages []string
	impossible := c.ctx.BuildExpr(&ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: ast.NewString("\x00"), Value: ast.NewNull()}}})
	for _, e := range errors.Errors(impossible.Unify(s.value).Validate()) {
		format, args := e.Msg()
		messages = append(messages, fmt.Sprintf(format, args...))
	}
	return c.broken(messages)
}

// absent reports a required field that is not there, once, unless it was taken out.
func (c *checker) absent(s *shape, parent *node, name string) bool {
	if s == nil || !s.required || c.gone[parent][name] {
		return false
	}
	c.report(parent.place.below(name), "%s", c.missing(s))
	c.take(parent, name)
	return true
}

func (c *checker) missing(s *shape) string {
	if s.oneOf {
		return "is missing: name one of " + words(s.names(), "and") + " in it"
	}
	if rule := c.rule(s); rule != "" {
		return "is missing: it " + rule
	}
	return "is missing"
}

// oneOf deals with an object that must hold exactly one of its fields and does not.
func (c *checker) oneOf(s *shape, n, parent *node, name string) bool {
	var held []string
	for _, f := range n.fields {
		if s.get(f.name) != nil {
			held = append(held, f.name)
			continue
		}
		c.unknown(s, n, f)
		c.take(n, f.name)
		return true
	}
	switch {
	case len(held) > 1:
		c.report(n.place, "holds %s: keep one", words(held, "and"))
		for _, extra := range held[1:] {
			c.take(n, extra)
		}
		return true
	case len(c.gone[n]) == 0:
		c.report(n.place, "must hold one of %s", words(s.names(), "and"))
	}
	c.mark(n, "")
	if parent != nil {
		c.take(parent, name)
	}
	return parent != nil
}

// unknown reports a field that the specification does not have. Where it is another one misspelt, that one's absence is not reported as well.
func (c *checker) unknown(s *shape, parent *node, f field) {
	message, meant := stranger(f.name, s.names())
	c.report(f.key, "%s", message)
	if meant != "" {
		c.mark(parent, meant)
	}
}

// stranger says that name is none of names, and which of them may be meant.
func stranger(name string, names []string) (message, meant string) {
	if meant = nearest(name, names); meant != "" {
		return "is not a field of a preset; did you mean " + meant + "?", meant
	}
	return "is not a field of a preset; the fields here are " + words(names, "and"), ""
}
