package schema

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// yaml reads one YAML document. Plain scalars are read as YAML 1.2 has them; those which another version or reader of YAML takes for something else
// are problems, so that nothing is silently read as what it was not meant to be.
func (r *reader) yaml(src []byte) *node {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	top := place{file: r.file, line: 1, column: 1}
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return r.report(top, "is empty: a preset has at least model, service and workload")
	} else if err != nil {
		return r.yamlSyntax(src, err)
	}
	y := yamlReader{reader: r, open: map[*yaml.Node]bool{}}
	root := y.value(document.Content[0], nil)
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		r.report(place{file: r.file, line: second.Line, column: second.Column}, "begins a second document: a file holds one preset")
	} else if !errors.Is(err, io.EOF) {
		r.yamlSyntax(src, err)
	}
	return root
}

var yamlLine = regexp.MustCompile(`^line ([0-9]+): `)

func (r *reader) yamlSyntax(src []byte, err error) *node {
	at := place{file: r.file, line: 1, column: 1}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := yamlLine.FindStringSubmatch(message); found != nil {
		message = strings.TrimPrefix(message, found[0])
		at.line, _ = strconv.Atoi(found[1]) // digits, as the pattern has them
	}
	lines := bytes.Split(src, []byte("\n"))
	if line := lines[min(at.line, len(lines))-1]; yamlTab().Match(line) {
		message += ": YAML is indented with blanks, and this line with a tab"
	}
	return r.report(at, "is not valid YAML: %s", message)
}

type yamlReader struct {
	*reader
	open map[*yaml.Node]bool // aliases being expanded
}

func (y yamlReader) place(n *yaml.Node, p path) place {
	return place{file: y.file, line: n.Line, column: n.Column, path: p}
}

// tagged reports whether n has a tag written before it that is not read.
func (y yamlReader) tagged(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 && (n.Kind != yaml.ScalarNode || n.Tag != "!!str")
}

func (y yamlReader) value(n *yaml.Node, p path) *node {
	at := y.place(n, p)
	if !y.admit(at) {
		return &node{kind: faulty, place: at}
	}
	if y.tagged(n) {
		return y.report(at, "has the tag %s: tags are not read, except !!str", n.Tag)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return y.scalar(n, at)
	case yaml.AliasNode:
		if y.open[n.Alias] {
			return y.report(at, "contains itself through the alias *%s", n.Value)
		}
		y.open[n.Alias] = true
		defer delete(y.open, n.Alias)
		return y.value(n.Alias, p)
	case yaml.SequenceNode:
		read := &node{kind: list, place: at}
		for i, item := range n.Content {
			read.items = append(read.items, y.value(item, p.with(indexed(i))))
			if y.full {
				break
			}
		}
		return read
	default:
		read := &node{kind: object, place: at}
		y.mapping(n, read)
		return read
	}
}

func (y yamlReader) mapping(n *yaml.Node, into *node) {
	var merged, cut []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !y.full; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			y.report(y.place(key, into.place.path), "has a name that is not text")
			continue
		}
		if y.tagged(key) {
			y.report(y.place(key, into.place.path), "has a name with the tag %s: tags are not read, except !!str", key.Tag)
			continue
		}
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if n.Style&yaml.FlowStyle != 0 && value.Tag == "!!null" && value.Value == "" && yamlSweepRest().MatchString(key.Value) && len(into.fields) > 0 {
			cut = append(cut, key)
			continue
		}
		p := into.place.path.with(key.Value)
		y.add(into, field{key.Value, y.place(key, p), y.value(value, p)})
	}
	y.cutSweep(into, cut)
	for _, value := range merged {
		y.merge(value, into)
	}
}

// cutSweep reports what stands behind the commas of a sweep between braces, where a comma ends the field: {request_rate: 2,4..8} has the fields
// request_rate and "4..8".
func (y yamlReader) cutSweep(into *node, rest []*yaml.Node) {
	if len(rest) > 0 {
		y.report(y.place(rest[0], into.place.path), "has %s behind a comma, which ends a field between { and }: quote a sweep there, as in \"2,4,8\"", rest[0].Value)
	}
}

// merge adds the fields of a "<<" that into does not have.
func (y yamlReader) merge(n *yaml.Node, into *node) {
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for _, source := range sources {
		read := y.value(source, into.place.path)
		if read.kind != object && read.kind != faulty {
			y.report(y.place(source, into.place.path), "merges (<<) what is not a group of fields")
		}
		for _, f := range read.fields {
			if into.get(f.name) == nil {
				into.fields = append(into.fields, f)
			}
		}
	}
}

// lazy is a pattern that is compiled when it is first needed: most presets are not written in YAML.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	// yamlSweepRest is what stands behind a comma of a sweep: a number or a range.
	yamlSweepRest = lazy(`^[0-9]+(\.[0-9]+)?(\.\.[0-9]+(\.[0-9]+)?)?$`)

	yamlTab = lazy(`^ *\t`)

	yamlNull    = lazy(`^(~|null|Null|NULL|)$`)
	yamlBool    = lazy(`^(true|True|TRUE|false|False|FALSE)$`)
	yamlInt     = lazy(`^[-+]?(0|[1-9][0-9]*)$`)
	yamlFloat   = lazy(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
	yamlYesNo   = lazy(`^(?i:y|yes|n|no|on|off)$`)
	yamlNaN     = lazy(`^(?i:[-+]?\.inf|\.nan)$`)
	yamlZero    = lazy(`^[-+]?0[0-9_]+$`)
	yamlStrange = lazy(`^[-+]?(0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+|` +
		`[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?)$`)
)

func (y yamlReader) scalar(n *yaml.Node, at place) *node {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if quoted || n.Style&yaml.TaggedStyle != 0 {
		return &node{kind: text, literal: n.Value, place: at}
	}
	switch v := n.Value; {
	case yamlNull().MatchString(v):
		return &node{kind: null, place: at}
	case yamlBool().MatchString(v):
		return &node{kind: boolean, literal: strings.ToLower(v), place: at}
	case yamlYesNo().MatchString(v):
		return y.report(at, "%s is true or false to some readers of YAML and text to others: write true or false, or quote it", shown(at.path, v))
	case yamlNaN().MatchString(v):
		return y.report(at, "%s is no value that a preset can hold: write a number", shown(at.path, v))
	case yamlZero().MatchString(v):
		return y.report(at, "%s is octal to some readers of YAML and decimal to others: write it without the leading 0, or quote it", shown(at.path, v))
	case yamlInt().MatchString(v), yamlFloat().MatchString(v):
		return &node{kind: number, literal: jsonNumber(v), place: at}
	case yamlStrange().MatchString(v):
		return y.report(at, "%s is a number to some readers of YAML and text to others: write it with decimal digits alone, or quote it", shown(at.path, v))
	default:
		return &node{kind: text, literal: v, place: at}
	}
}

// jsonNumber writes a YAML number as JSON does: no plus, digits on both sides of the point, no leading zeros.
func jsonNumber(v string) string {
	v, negative := strings.CutPrefix(strings.TrimPrefix(v, "+"), "-")
	mantissa, exponent := v, ""
	if i := strings.IndexAny(v, "eE"); i >= 0 {
		mantissa, exponent = v[:i], v[i:]
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if pointed && fraction == "" {
		fraction = "0"
	}
	if pointed {
		whole += "." + fraction
	}
	if negative {
		whole = "-" + whole
	}
	return whole + exponent
}
