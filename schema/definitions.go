package schema

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

//go:embed *.cue
var files embed.FS

// sources are the files of the specification in the order in which they are read; rules.cue is what an exported JSON Schema leaves out.
var sources = []string{"preset.cue", "service.cue", "process.cue", "simulator.cue", "workload.cue", "request.cue", "load.cue", "limits.cue", "rules.cue"}

// Source is the whole specification of a preset as one CUE file. Its definition #Preset is the preset's.
func Source() []byte { return join(sources) }

func join(names []string) []byte {
	var out bytes.Buffer
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil { // the files are embedded: a test reads them all
			continue
		}
		if i > 0 {
			text = bytes.TrimPrefix(text, []byte("package preset\n"))
		}
		out.Write(text)
	}
	return out.Bytes()
}

// definitions is the specification, compiled. It is used by one goroutine.
type definitions struct {
	ctx      *cue.Context
	settings *shape                // #Settings
	spec     *shape                // #Spec
	rules    func() map[string]int // made when the first fault is told: a good preset needs none
	valid    map[valueOf][]byte    // values found valid before, as JSON with their defaults
}

// valueOf is a value, as JSON, of a field.
type valueOf struct {
	shape *shape
	value string
}

func compile() (*definitions, error) {
	source := Source()
	ctx := cuecontext.New()
	root := ctx.CompileBytes(source, cue.Filename("schema.cue"))
	if err := root.Err(); err != nil {
		return nil, fmt.Errorf("compiling the specification: %w", err)
	}
	d := &definitions{ctx: ctx, rules: sync.OnceValue(func() map[string]int { return rules(source) }), valid: map[valueOf][]byte{}}
	d.settings = newShape("", root.LookupPath(cue.ParsePath("#Settings")))
	if trials := d.settings.get("trials"); trials != nil {
		trials.each = newShape("", root.LookupPath(cue.ParsePath("#Patch")))
	}
	d.spec = newShape("", root.LookupPath(cue.ParsePath("#Spec")))
	return d, nil
}

var rulePattern = regexp.MustCompile(`error\(("(?:[^"\\]|\\.)*")\)`)

// rules finds the texts of all error() calls, with their order in the source: where several are broken at once, the last is the most particular.
func rules(source []byte) map[string]int {
	found := map[string]int{}
	for i, match := range rulePattern.FindAllSubmatch(source, -1) {
		if rule, err := strconv.Unquote(string(match[1])); err == nil {
			found[rule] = i
		}
	}
	return found
}

// shape is what the specification says of one field.
type shape struct {
	name     string
	value    cue.Value
	required bool
	optional bool
	whole    bool     // rules between its fields may stand in rules.cue: it is judged as a whole
	fields   []*shape // of an object, in the order of the specification
	object   bool     // a group of fields
	oneOf    bool     // exactly one of the fields is set
	needs    []string // @needs: a field without which this one has no effect
	excludes []string // @excludes: fields that take the place of this one
	only     []string // @only: a field, then the values of it that this one goes with
	item     *shape   // of a list of objects
	scalar   *shape   // of a list of anything else
	each     *shape   // of every field, where their names are free
}

func newShape(name string, v cue.Value) *shape {
	s := &shape{name: name, value: v, needs: attribute(v, "needs"), excludes: attribute(v, "excludes"), only: attribute(v, "only")}
	if group, ok := alternativesOf(v); ok {
		v, s.oneOf = group, true
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		s.object = true
		fields, err := v.Fields(cue.Optional(true))
		for err == nil && fields.Next() {
			child := newShape(fields.Selector().Unquoted(), fields.Value())
			child.required = fields.FieldType().ConstraintType() == cue.RequiredConstraint
			child.optional = fields.FieldType().ConstraintType() == cue.OptionalConstraint
			s.fields = append(s.fields, child)
		}
	case cue.ListKind:
		item := newShape("", v.LookupPath(cue.MakePath(cue.AnyIndex)))
		if item.object {
			s.item = item
			s.item.whole = true
		} else {
			s.scalar = item
		}
	}
	return s
}

// alternativesOf is the object in matchN(1, […]) & close({…}), which by itself is an error: it holds none of its fields.
func alternativesOf(v cue.Value) (cue.Value, bool) {
	if v.IncompleteKind() != cue.BottomKind {
		return v, false
	}
	op, args := cue.Dereference(v).Expr()
	if op != cue.AndOp {
		return v, false
	}
	for _, arg := range args {
		if arg.IncompleteKind() == cue.StructKind {
			return arg, true
		}
	}
	return v, false
}

func attribute(v cue.Value, name string) []string {
	a := v.Attribute(name)
	if a.Err() != nil {
		return nil
	}
	args := make([]string, a.NumArgs())
	for i := range args {
		args[i], _ = a.Arg(i)
		args[i] = strings.TrimSpace(args[i])
	}
	return args
}

// get is the shape of a field, or nil where the specification has none of that name.
func (s *shape) get(name string) *shape {
	if s == nil {
		return nil
	}
	if s.item != nil && indexName.MatchString(name) {
		return s.item
	}
	if s.each != nil {
		return s.each
	}
	for _, child := range s.fields {
		if child.name == name {
			return child
		}
	}
	return nil
}

// names are the fields that may be set: those that exist only to say where they belong are left out.
func (s *shape) names() []string {
	var names []string
	for _, child := range s.fields {
		if child.oneOf || child.value.Err() == nil {
			names = append(names, child.name)
		}
	}
	return names
}
