package schema

import (
	"strings"

	"cuelang.org/go/cue"
)

// Field documents one field of a preset. The reference page and the comments of a new preset are made of it.
type Field struct {
	Path     string // such as "load.requests_per_slot"; the fields of a list's items follow "[]", free names are "*"
	Rule     string // what a value must be, such as "a whole number from 1 to 1000000"; empty for a group of fields
	Default  string // as JSON; empty where there is none
	Required bool
	OneOf    bool     // a group of which exactly one field is set
	Group    bool     // a group of fields
	Needs    []string // fields beside it without which it has no effect
	Excludes []string // fields beside it that take its place
	Only     []string // a field beside it, and the values of it that this one goes with
	Doc      string   // what it means
}

// Fields are all fields of a preset, in the order of the specification.
func Fields() ([]Field, error) {
	defs, err := compile()
	if err != nil {
		return nil, err
	}
	l := lister{checker: checker{definitions: defs}}
	for _, name := range []string{"name", "model", "service", "workload", "request", "load", "limits", "select", "verify", "previous", "trials", "matrix"} {
		s := defs.settings.get(name)
		if s == nil {
			s = defs.spec.get(name)
		}
		l.list(s, name)
	}
	return l.fields, nil
}

type lister struct {
	checker
	fields []Field
}

func (l *lister) list(s *shape, at string) {
	f := Field{Path: at, Required: s.required, OneOf: s.oneOf, Group: s.object, Needs: s.needs, Excludes: s.excludes, Only: s.only, Doc: doc(s.value)}
	if !s.object && s.item == nil {
		f.Rule = strings.TrimPrefix(l.rule(s), "must be ")
		f.Default = defaultOf(s.value)
	}
	if s.value.Err() != nil && !s.oneOf {
		return // it exists only to say where it belongs
	}
	l.fields = append(l.fields, f)
	for _, child := range s.fields {
		l.list(child, at+"."+child.name)
	}
	if s.item != nil {
		for _, child := range s.item.fields {
			l.list(child, at+"[]."+child.name)
		}
	}
	if s.each != nil {
		for _, child := range s.each.fields {
			l.list(child, at+".*."+child.name)
		}
	}
}

// doc is the comment above a field, as one paragraph.
func doc(v cue.Value) string {
	for _, group := range v.Doc() {
		if text := strings.TrimSpace(group.Text()); text != "" {
			return strings.ReplaceAll(text, "\n", " ")
		}
	}
	return ""
}

func defaultOf(v cue.Value) string {
	value, ok := v.Default()
	if !ok || !value.IsConcrete() {
		return ""
	}
	written, err := value.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(written)
}
