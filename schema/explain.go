package schema

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// broken is the most particular of the specification's rules that an error of CUE's names, or "".
func (c *checker) broken(err error) string {
	found := ""
	for _, e := range errors.Errors(err) {
		format, args := e.Msg()
		message := fmt.Sprintf(format, args...)
		if order, isRule := c.rules()[message]; isRule && (found == "" || order > c.rules()[found]) {
			found = message
		}
	}
	return found
}

// together reports the rules between fields that n breaks, each at the field to blame.
func (c *checker) together(err error, n *node) {
	reported := false
	for _, e := range errors.Errors(err) {
		format, args := e.Msg()
		message := fmt.Sprintf(format, args...)
		at := n.at(cuePath(e.Path()))
		if _, isRule := c.rules()[message]; !isRule || at == nil || c.broken(onlyOf(err, e)) != message {
			continue
		}
		c.report(at.place, "%s", message)
		reported = true
	}
	if !reported {
		c.report(n.place, "is not valid")
	}
}

// onlyOf are the errors of err that have e's path.
func onlyOf(err error, e errors.Error) error {
	var same errors.Error
	for _, other := range errors.Errors(err) {
		if slices.Equal(other.Path(), e.Path()) {
			same = errors.Append(same, other)
		}
	}
	return same
}

// sentence says that n, which s describes, breaks a rule.
func (c *checker) sentence(rule string, s *shape, n *node) string {
	if rule == "" && s != nil {
		rule = c.rule(s)
	}
	if rule == "" {
		rule = "is not valid here"
	}
	switch {
	case !strings.HasPrefix(rule, "must be "):
		return rule
	case n.kind == null:
		return rule + "; it is empty"
	case secret(n.place.path), n.kind == object && s != nil && s.value.IncompleteKind()&cue.StructKind != 0: // it may be a group, but not this one
		return rule
	}
	return rule + ", not " + describe(n)
}

// rule is what a value of s must be.
func (c *checker) rule(s *shape) string {
	switch {
	case s.object && len(s.names()) > 0:
		return "must be a group of fields (" + words(s.names(), "and") + ")"
	case s.object:
		return "must be a group of fields"
	case s.item != nil:
		return "must be a list of groups of fields (" + words(s.item.names(), "and") + ")"
	}
	return c.broken(c.ctx.BuildExpr(impossible()).Unify(s.value).Validate(cue.Concrete(true)))
}

func (c *checker) missing(s *shape) string {
	switch {
	case s.oneOf:
		return "is missing: name one of " + words(s.names(), "and") + " in it"
	case s.object:
		return "is missing"
	}
	return "is missing: it " + c.rule(s)
}

// stranger says that name is none of names, and which of them may be meant.
func stranger(name string, names []string) (message, meant string) {
	if meant = nearest(name, names); meant != "" {
		return "is not a field of a preset; did you mean " + meant + "?", meant
	}
	return "is not a field of a preset; the fields here are " + words(names, "and"), ""
}

// words lists names as a sentence does: "a, b and c".
func words(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
