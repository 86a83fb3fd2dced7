package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one fault of a preset, at its place in the file or in the override that it comes from.
type Problem struct {
	File    string // as given to Read; "<stdin>" for "-"; "--set PATH" or "--FLAG" for an override
	Line    int    // from 1; 0 where there is none, as in an override
	Column  int    // from 1; 0 where there is none
	Path    string // of the field, such as "load.concurrency"; empty for the file as a whole
	Message string // what is wrong, and what would be right
}

// String writes p as file:line:col: path: message, leaving out what there is none of.
func (p Problem) String() string {
	var out strings.Builder
	out.WriteString(p.File)
	if p.Line > 0 {
		out.WriteString(":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column))
	}
	if p.Path != "" && !strings.HasSuffix(p.File, " "+p.Path) {
		out.WriteString(": " + p.Path)
	}
	out.WriteString(": " + p.Message)
	return out.String()
}

// Problems are all faults of a preset, in the order of the file, those of overrides first.
type Problems []Problem

// mostShown is how many problems are written out.
const mostShown = 100

// Error writes one problem a line. Of very many, the last are only counted.
func (p Problems) Error() string {
	shown := p
	if len(p) > mostShown+1 {
		shown = p[:mostShown]
	}
	lines := make([]string, len(shown))
	for i, problem := range shown {
		lines[i] = problem.String()
	}
	if rest := len(p) - len(shown); rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(lines, "\n")
}

// of reports whether a file or override has a problem.
func (p Problems) of(file string) bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return problem.File == file })
}

// sorted is p in order and without repetitions.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(min(a.Line, 1), min(b.Line, 1)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}
