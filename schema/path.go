package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// path names a field by the fields it stands in.
type path []string

var plainName = regexp.MustCompile(`^[^."\[\]{}=\s]+$`)

// String writes p with dots, quoting the names that need it. An index of a list is written in brackets.
func (p path) String() string {
	var out strings.Builder
	for i, name := range p {
		switch {
		case strings.HasPrefix(name, "["):
		case i > 0:
			out.WriteByte('.')
		}
		if plainName.MatchString(name) || indexName.MatchString(name) {
			out.WriteString(name)
		} else {
			out.WriteString(quote(name))
		}
	}
	return out.String()
}

var indexName = regexp.MustCompile(`^\[[0-9]+\]$`)

// with is p and one more name, in memory of its own.
func (p path) with(name string) path {
	return append(p[:len(p):len(p)], name)
}

// within reports whether p is outer or stands in it.
func (p path) within(outer path) bool {
	if len(p) < len(outer) {
		return false
	}
	for i, name := range outer {
		if p[i] != name {
			return false
		}
	}
	return true
}

// overlaps reports whether setting one of the paths sets a part of the other.
func (p path) overlaps(q path) bool { return p.within(q) || q.within(p) }

var errPath = errors.New("a path is field names with dots between them, such as load.concurrency; " +
	`a name with a dot in it is quoted, as in request.headers."x.y"`)

// parsePath reads a path as [path.String] writes it. A list is set as a whole: paths have no indices.
func parsePath(s string) (path, error) {
	var p path
	for {
		name, rest, err := cutName(s)
		if err != nil {
			return nil, err
		}
		p = append(p, name)
		if rest == "" {
			return p, nil
		}
		if rest[0] == '[' {
			return nil, fmt.Errorf("%s is a list, which is set as a whole", p)
		}
		if rest[0] != '.' {
			return nil, errPath
		}
		s = rest[1:]
	}
}

func cutName(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", errPath
		}
		name, err := strconv.Unquote(quoted)
		return name, s[len(quoted):], err
	}
	end := strings.IndexAny(s, `.[`)
	if end < 0 {
		end = len(s)
	}
	if !plainName.MatchString(s[:end]) {
		return "", "", errPath
	}
	return s[:end], s[end:], nil
}

// indexed is the name of the i-th item of a list in a path.
func indexed(i int) string { return "[" + strconv.Itoa(i) + "]" }
