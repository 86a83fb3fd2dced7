package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// A preset is read, whatever its form, into a tree of nodes that know where they stand. Overrides and trials change the tree; CUE then judges it.

type kind int

const (
	faulty kind = iota // a value that has been reported already
	null
	boolean
	number
	text
	list
	object
)

// place is where a node or key stands: in the file, or in an override, where line is 0.
type place struct {
	file         string
	line, column int
	path         path // as written there: below trials for what a trial lays over the preset
}

func (p place) problem(message string) Problem {
	return Problem{File: p.file, Line: p.line, Column: p.column, Path: p.path.String(), Message: message}
}

// below is the place for a field that is missing at p.
func (p place) below(name string) place {
	p.path = p.path.with(name)
	return p
}

// node is a value as written, before the specification's defaults.
type node struct {
	kind    kind
	literal string // of a boolean or number: as JSON writes it; of a text: the text
	items   []*node
	fields  []field
	place   place
}

// field is a named value of an object.
type field struct {
	name  string
	key   place // of the name; the node's place is that of the value
	value *node
}

// get is the value of the field name, or of the item that an index names, or nil.
func (n *node) get(name string) *node {
	if i := n.index(name); i >= 0 {
		return n.fields[i].value
	}
	if n == nil || !indexName.MatchString(name) {
		return nil
	}
	if i, err := strconv.Atoi(name[1 : len(name)-1]); err == nil && i < len(n.items) {
		return n.items[i]
	}
	return nil
}

func (n *node) index(name string) int {
	if n == nil {
		return -1
	}
	return slices.IndexFunc(n.fields, func(f field) bool { return f.name == name })
}

// at is the node at a path from n, or nil.
func (n *node) at(p path) *node {
	for _, name := range p {
		if n = n.get(name); n == nil {
			return nil
		}
	}
	return n
}

// put sets a field, in the place of the one it replaces or else at the end.
func (n *node) put(f field) {
	if i := n.index(f.name); i >= 0 {
		n.fields[i] = f
		return
	}
	n.fields = append(n.fields, f)
}

// remove takes out a field, or the item that an index names.
func (n *node) remove(name string) {
	item := n.get(name)
	n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return f.name == name })
	n.items = slices.DeleteFunc(n.items, func(i *node) bool { return i == item })
}

// clone copies n and all below it.
func (n *node) clone() *node {
	copied := *n
	copied.items = make([]*node, len(n.items))
	for i, item := range n.items {
		copied.items[i] = item.clone()
	}
	copied.fields = make([]field, len(n.fields))
	for i, f := range n.fields {
		copied.fields[i] = field{f.name, f.key, f.value.clone()}
	}
	return &copied
}

// json writes n as compact JSON, in the order of the file.
func (n *node) json() string {
	var out strings.Builder
	n.writeJSON(&out)
	return out.String()
}

func (n *node) writeJSON(out *strings.Builder) {
	switch n.kind {
	case null:
		out.WriteString("null")
	case boolean, number:
		out.WriteString(n.literal)
	case text:
		out.WriteString(quote(n.literal))
	case list:
		for i, item := range n.items {
			out.WriteByte("[,"[min(i, 1)])
			item.writeJSON(out)
		}
		out.WriteString("[]"[min(len(n.items), 1):])
	case object:
		for i, f := range n.fields {
			out.WriteByte("{,"[min(i, 1)])
			out.WriteString(quote(f.name))
			out.WriteByte(':')
			f.value.writeJSON(out)
		}
		out.WriteString("{}"[min(len(n.fields), 1):])
	}
}

// quote writes s as a JSON string, leaving < > & as they are.
func quote(s string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(s) != nil { // a string can always be encoded
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// expr is n as CUE. Names are quoted, so that none is taken for a hidden field or a definition.
func (n *node) expr() ast.Expr {
	switch n.kind {
	case boolean:
		return ast.NewBool(n.literal == "true")
	case number:
		return numberExpr(n.literal)
	case text:
		return ast.NewString(n.literal)
	case list:
		items := make([]ast.Expr, len(n.items))
		for i, item := range n.items {
			items[i] = item.expr()
		}
		return &ast.ListLit{Elts: items}
	case object:
		fields := make([]ast.Decl, len(n.fields))
		for i, f := range n.fields {
			fields[i] = &ast.Field{Label: ast.NewString(f.name), Value: f.value.expr()}
		}
		return &ast.StructLit{Elts: fields}
	default:
		return ast.NewNull()
	}
}

func numberExpr(literal string) ast.Expr {
	digits, negative := strings.CutPrefix(literal, "-")
	lit := &ast.BasicLit{Kind: token.INT, Value: digits}
	if strings.ContainsAny(digits, ".eE") {
		lit.Kind = token.FLOAT
	}
	if negative {
		return &ast.UnaryExpr{Op: token.SUB, X: lit}
	}
	return lit
}
