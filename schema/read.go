package schema

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxSize is the largest preset that is read, in bytes.
const MaxSize = 1 << 20

// maxDepth bounds how deep values stand in one another; maxNodes how many there are once YAML's aliases are expanded.
const (
	maxDepth = 64
	maxNodes = 200_000
)

// reader builds a tree, collecting every problem that it meets. A value with a problem becomes a faulty node, which later steps leave alone.
type reader struct {
	file     string
	problems Problems
	nodes    int
	full     bool                     // reading has been given up
	lines    map[*node]map[string]int // of the names of each object
}

func newReader(file string) *reader {
	return &reader{file: file, lines: map[*node]map[string]int{}}
}

func (r *reader) report(at place, format string, args ...any) *node {
	r.problems = append(r.problems, at.problem(fmt.Sprintf(format, args...)))
	return &node{kind: faulty, place: at}
}

// admit counts a node. Where the tree has become too large or too deep it gives false, and reading is given up.
func (r *reader) admit(at place) bool {
	r.nodes++
	if !r.full && (r.nodes > maxNodes || len(at.path) > maxDepth) {
		r.full = true
		at.path = at.path[:min(len(at.path), 1)]
		r.report(at, "is too large: a preset has at most 200,000 values, at most 64 deep")
	}
	return !r.full
}

// add puts a field into an object. A name that is there already is a problem.
func (r *reader) add(parent *node, f field) {
	if r.lines[parent] == nil {
		r.lines[parent] = map[string]int{}
	}
	if first, twice := r.lines[parent][f.name]; twice {
		r.report(f.key, "stands here for the second time (first in line %d): keep one", first)
		return
	}
	r.lines[parent][f.name] = f.key.line
	parent.fields = append(parent.fields, f)
}

// readTree reads a preset from CUE, YAML or JSON, as the file's ending says. The tree is nil where the text cannot be read at all.
func readTree(filename string, src []byte) (*node, Problems) {
	r := newReader(filename)
	if filename == "-" {
		r.file = "<stdin>"
	}
	top := place{file: r.file, line: 1, column: 1}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	switch {
	case len(src) > MaxSize:
		r.report(place{file: r.file}, "is larger than 1 MiB, the most that a preset may have")
		return nil, r.problems
	case !utf8.Valid(src):
		r.report(place{file: r.file}, "is not UTF-8 text")
		return nil, r.problems
	case len(bytes.TrimSpace(src)) == 0:
		r.report(top, "is empty: a preset has at least model, service and workload")
		return nil, r.problems
	}
	root := r.parse(filename, src)
	if root != nil && root.kind != object && root.kind != faulty {
		r.report(root.place, "must be fields such as model, service and workload, not %s", describe(root))
	}
	if root == nil || root.kind != object || r.full {
		return nil, r.problems
	}
	return root, r.problems
}

func (r *reader) parse(filename string, src []byte) *node {
	switch strings.ToLower(filepath.Ext(filename)) {
	case ".cue":
		return r.cue(src)
	case ".json":
		return r.json(src)
	case ".yaml", ".yml":
		return r.yaml(src)
	}
	if filename == "-" {
		return r.yaml(src)
	}
	return r.report(place{file: r.file}, "must end in .cue, .yaml, .yml or .json, which says how it is read")
}

// describe says in a few words what n is.
func describe(n *node) string {
	switch n.kind {
	case null:
		return "nothing"
	case boolean, number:
		return n.literal
	case text:
		return quote(shorten(n.literal))
	case list:
		if len(n.items) == 0 {
			return "an empty list"
		}
		return "a list"
	default:
		return "a group of fields"
	}
}
