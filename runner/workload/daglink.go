package workload

import (
	"fmt"
	"slices"
	"strings"
)

// link finds the roots, and what is wrong between sessions: names that no line declares, a session forked twice, a session below itself.
func (d *DAG) link() []error {
	var problems []error
	named, forked := map[string]bool{}, map[string]string{}
	for _, s := range d.roots {
		complain := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s:%d: session %q "+format, append([]any{d.file, s.line, s.ID}, args...)...))
		}
		for _, id := range s.children() {
			named[id] = true
			if d.sessions[id] == nil {
				complain("starts %q, which no line declares", id)
			}
		}
		for i := range s.Turns {
			for _, fork := range s.Turns[i].Forks {
				if parent, twice := forked[fork.Child]; twice {
					complain("forks %q, which %q forks too: it can inherit from one alone", fork.Child, parent)
				}
				forked[fork.Child] = s.ID
			}
			for _, ids := range [][]string{s.Turns[i].forked(), s.Turns[i].spawned()} {
				if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
					complain("starts a session twice in turn %d", i)
				}
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if problem := d.cycle(); problem != nil {
		return []error{problem}
	}
	d.roots = slices.DeleteFunc(d.roots, func(s *dagSession) bool { return named[s.ID] })
	return nil
}

// children are all sessions that s starts.
func (s *dagSession) children() []string {
	ids := slices.Clone(s.PreSpawns)
	for i := range s.Turns {
		ids = append(append(ids, s.Turns[i].forked()...), s.Turns[i].spawned()...)
	}
	return ids
}

// cycle is an error if a session is below itself.
func (d *DAG) cycle() error {
	done := map[string]bool{}
	var path []string
	var visit func(s *dagSession) error
	visit = func(s *dagSession) error {
		if at := slices.Index(path, s.ID); at >= 0 {
			return fmt.Errorf("%s:%d: sessions start each other: %s", d.file, s.line, strings.Join(append(path[at:], s.ID), " > "))
		}
		if done[s.ID] {
			return nil
		}
		path = append(path, s.ID)
		for _, id := range s.children() {
			if err := visit(d.sessions[id]); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[s.ID] = true
		return nil
	}
	for _, s := range d.roots {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}
