package schema

import (
	"strings"
	"testing"
)

// TestManyProblems holds that a file with thousands of faults does not push the first ones off the screen.
func TestManyProblems(t *testing.T) {
	var problems Problems
	for line := range 1000 {
		problems = append(problems, Problem{File: "p.yaml", Line: line + 1, Column: 1, Message: "is wrong"})
	}
	lines := strings.Split(problems.Error(), "\n")
	if len(lines) != 101 || lines[99] != "p.yaml:100:1: is wrong" || lines[100] != "and 900 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if got := problems[:101].Error(); strings.Contains(got, "more") || !strings.HasSuffix(got, "p.yaml:101:1: is wrong") {
		t.Errorf("101 problems end with %q", got[len(got)-30:])
	}
}
