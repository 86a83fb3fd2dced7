package schema

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// cue evaluates a CUE file by itself: its regular fields are the preset. Nothing is fetched and no other file is read; CUE's own packages can be
// imported. Evaluating is [bounded].
func (r *reader) cue(src []byte) *node {
	file := cueReader{r}.parse(src)
	if file == nil {
		return nil
	}
	top := place{file: r.file, line: 1, column: 1}
	within := cueReader{newReader(r.file)} // r itself is not touched by what may be given up
	var root *node
	if fault := bounded(longestEvaluation, MostEvaluation, func() { root = within.evaluate(file, top) }); fault != "" {
		r.report(top, "%s", shorten(fault))
		return nil
	}
	r.problems, r.nodes, r.full = within.problems, within.nodes, within.full
	return root
}

// parse is the file before it is evaluated; nil where it has faults.
func (c cueReader) parse(src []byte) *ast.File {
	file, err := parser.ParseFile(c.file, src, parser.ParseComments)
	if err != nil {
		c.syntax(err, src)
		return nil
	}
	c.imports(file)
	c.strays(file.Decls)
	c.numbers(file)
	if len(c.problems) > 0 {
		return nil
	}
	return file
}

func (c cueReader) evaluate(file *ast.File, top place) *node {
	value := cuecontext.New().BuildFile(file)
	if value.Err() != nil {
		c.evaluation(value.Validate())
		return nil
	}
	root := c.value(value, top)
	if len(c.problems) == 0 {
		c.evaluation(value.Validate(cue.Concrete(true)))
	}
	return root
}

// numbers finds those with an exponent so large that CUE loses it: it reads 1e999999999 as 1.
func (c cueReader) numbers(file *ast.File) {
	ast.Walk(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.FLOAT && literal.Kind != token.INT || strings.HasPrefix(strings.ToLower(literal.Value), "0x") {
			return true
		}
		if i := strings.IndexAny(literal.Value, "eE"); i >= 0 {
			exponent, err := strconv.Atoi(strings.ReplaceAll(literal.Value[i+1:], "_", ""))
			if err != nil || exponent > mostExponent || exponent < -mostExponent {
				c.report(c.at(literal.Pos(), place{file: c.file}), "is a number with an exponent beyond %d, which a preset does not hold", mostExponent)
			}
		}
		return true
	}, nil)
}

// mostExponent bounds the exponents of numbers: no field of a preset takes one near it.
const mostExponent = 400

type cueReader struct{ *reader }

func (c cueReader) at(pos token.Pos, or place) place {
	if !pos.IsValid() || pos.Filename() != c.file {
		return or
	}
	or.line, or.column = pos.Line(), pos.Column()
	return or
}

func (c cueReader) syntax(err error, src []byte) {
	for _, e := range errors.Errors(err) {
		at := c.at(e.Position(), place{file: c.file, line: 1, column: 1})
		if bareRange(src, at.line) {
			c.report(at, bareRangeMessage)
			continue
		}
		format, args := e.Msg()
		c.report(at, "is not valid CUE: %s", fmt.Sprintf(format, args...))
	}
}

var rangePattern = regexp.MustCompile(`[:\[,]\s*[0-9]+\s*\.\.`)

const bareRangeMessage = `a range is text, so it is quoted here: "2..8"`

// bareRange reports whether a line, counted from 1, has a range that is not quoted.
func bareRange(src []byte, line int) bool {
	lines := bytes.Split(src, []byte("\n"))
	return line >= 1 && line <= len(lines) && rangePattern.Match(lines[line-1])
}

func (c cueReader) imports(file *ast.File) {
	for spec := range file.ImportSpecs() {
		name, err := strconv.Unquote(spec.Path.Value)
		if first, _, _ := strings.Cut(name, "/"); err != nil || strings.Contains(first, ".") {
			at := c.at(spec.Pos(), place{file: c.file})
			c.report(at, `imports %s: a preset may import CUE's own packages, such as "list" and "strings", and no others`, spec.Path.Value)
		}
	}
}

// strays finds values without a name among fields: what is left of "concurrency: 1, 2, 4".
func (c cueReader) strays(declarations []ast.Decl) {
	named := false
	for _, d := range declarations {
		switch d := d.(type) {
		case *ast.Field:
			named = true
			if value, ok := d.Value.(*ast.StructLit); ok {
				c.strays(value.Elts)
			}
		case *ast.EmbedDecl:
			if value, ok := d.Expr.(*ast.BasicLit); ok && named {
				at := c.at(value.Pos(), place{file: c.file})
				c.report(at, `%s stands here without a name; several values are written [1, 2, 4], or quoted as in "1,2,4"`, value.Value)
				return
			}
		}
	}
}

// evaluation reports what CUE finds wrong with the file by itself.
func (c cueReader) evaluation(err error) {
	for _, e := range errors.Errors(err) {
		format, args := e.Msg()
		message := fmt.Sprintf(format, args...)
		if strings.Contains(message, "errors in empty disjunction") {
			continue // a heading: the errors follow
		}
		p := cuePath(e.Path())
		at := place{file: c.file, line: 1, column: 1, path: p}
		for _, pos := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
			if pos.IsValid() && pos.Filename() == c.file {
				at = c.at(pos, at)
				break
			}
		}
		if secret(p) {
			message = "has no single value"
		}
		c.report(at, "%s", shorten(message))
	}
}

// cuePath reads the path of a CUE error, in which names may be quoted and indices are numbers.
func cuePath(names []string) path {
	p := make(path, len(names))
	for i, name := range names {
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		} else if _, err := strconv.Atoi(name); err == nil {
			name = "[" + name + "]"
		}
		p[i] = name
	}
	return p
}

func shorten(s string) string {
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// value reads v, which stands at or, unless CUE knows better.
func (c cueReader) value(v cue.Value, or place) *node {
	v, _ = v.Default()
	at := c.at(valuePos(v), or)
	if !c.admit(at) {
		return &node{kind: faulty, place: at}
	}
	switch v.Kind() {
	case cue.NullKind:
		return &node{kind: null, place: at}
	case cue.BoolKind, cue.NumberKind, cue.IntKind, cue.FloatKind:
		return c.literal(v, at)
	case cue.StringKind:
		read, err := v.String()
		if err != nil {
			return c.report(at, "%v", err)
		}
		return &node{kind: text, literal: read, place: at}
	case cue.ListKind:
		return c.list(v, at)
	case cue.StructKind:
		return c.object(v, at)
	case cue.BytesKind:
		return c.report(at, "is bytes, which a preset does not hold: write text in double quotes")
	}
	return c.incomplete(v, at)
}

// valuePos is where the value of a field stands, rather than its name.
func valuePos(v cue.Value) token.Pos {
	if f, ok := v.Source().(*ast.Field); ok {
		return f.Value.Pos()
	}
	return v.Pos()
}

func (c cueReader) literal(v cue.Value, at place) *node {
	written, err := v.MarshalJSON()
	if err != nil {
		return c.report(at, "%v", err)
	}
	kind := number
	if v.Kind() == cue.BoolKind {
		kind = boolean
	}
	return &node{kind: kind, literal: string(written), place: at}
}

func (c cueReader) list(v cue.Value, at place) *node {
	read := &node{kind: list, place: at}
	items, err := v.List()
	if err != nil {
		return c.report(at, "%v", err)
	}
	for items.Next() && !c.full {
		item := at
		item.path = at.path.with(indexed(len(read.items)))
		read.items = append(read.items, c.value(items.Value(), item))
	}
	return read
}

func (c cueReader) object(v cue.Value, at place) *node {
	read := &node{kind: object, place: at}
	fields, err := v.Fields()
	if err != nil {
		return c.report(at, "%v", err)
	}
	for fields.Next() && !c.full {
		name := fields.Selector().Unquoted()
		key := c.at(fields.Value().Pos(), at.below(name))
		read.fields = append(read.fields, field{name, key, c.value(fields.Value(), key)})
	}
	return read
}

// incomplete reports a field that is only constrained, or that could not be computed.
func (c cueReader) incomplete(v cue.Value, at place) *node {
	err := v.Validate(cue.Concrete(true))
	if err == nil {
		return c.report(at, "has no value that a preset can hold")
	}
	e := errors.Errors(err)[0]
	format, args := e.Msg()
	message := fmt.Sprintf(format, args...)
	if message == "field is required but not present" {
		return c.report(at, "is declared with '!' and has no value: give it one")
	}
	if constraint, ok := strings.CutPrefix(message, "incomplete value "); ok {
		return c.report(at, "has no value, only the constraint %s: give it one", shorten(constraint))
	}
	return c.report(at, "%s", shorten(message))
}
