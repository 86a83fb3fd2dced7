package compare

import (
	"slices"
	"strings"

	"sweetspot/schema"
	"sweetspot/selector"
)

// Side is one trial of a run, judged: what is held against other sides.
type Side struct {
	RunID   string
	RunName string // of the run's preset
	Axes    []schema.Axis
	Verdict selector.Verdict
	// Facts are what may differ between sides, as compact JSON by dotted path: the specification ("model", "service.simulator.profile", "load.requests",
	// "limits.max_ttft", …), what the service reported of itself ("reported.version") and the client ("client.hostname"). None: nothing is known.
	Facts map[string]string
}

// Run is what stands on one side where whole runs are compared: all its trials, or the one that was asked for.
type Run struct {
	Name  string // as the person named it
	Sides []Side
}

// base is the trial's name without the values of its axes.
func (s *Side) base() string {
	name := s.Verdict.TrialName
	if len(s.Axes) == 0 {
		return name
	}
	before, _, _ := strings.Cut(name, "/")
	if strings.Contains(before, "=") { // the preset names no trials: it is all axes
		return ""
	}
	return before
}

func (s *Side) axesText() string {
	values := make([]string, len(s.Axes))
	for i, a := range s.Axes {
		values[i] = a.Path + "=" + a.Value
	}
	slices.Sort(values)
	return strings.Join(values, ",")
}

// Group is sides that are held against each other: one of each run, or all trials of a single run.
type Group struct {
	Trial string // what the trials have in common: the name, or the values of their axes; empty where the sides were named one by one
	Sides []*Side
}

// Unpaired is a trial that a run has and another has not.
type Unpaired struct {
	Run    string `json:"run"`
	Trial  string `json:"trial_name"`
	Reason string `json:"reason"`

	ofFirst bool // the first run has it, so that conditions on its changes can't be held
}

// Pair brings trials together: those of a single run with each other; single trials, one of each run, whatever their names; else those with the same
// values of their axes and, unless each run has one name for all its trials, the same name.
func Pair(runs []Run) (groups []Group, unpaired []Unpaired) {
	if len(runs) == 1 {
		return []Group{{Sides: pointers(runs[0].Sides)}}, nil
	}
	if !slices.ContainsFunc(runs, func(r Run) bool { return len(r.Sides) != 1 }) {
		g := Group{}
		for i := range runs {
			g.Sides = append(g.Sides, &runs[i].Sides[0])
		}
		return []Group{g}, nil
	}
	key := trialKey(runs)
	for i := range runs[0].Sides {
		first := &runs[0].Sides[i]
		g := Group{Trial: first.Verdict.TrialName, Sides: []*Side{first}}
		for _, other := range runs[1:] {
			if j := slices.IndexFunc(other.Sides, func(s Side) bool { return key(&s) == key(first) }); j >= 0 {
				g.Sides = append(g.Sides, &other.Sides[j])
				continue
			}
			unpaired = append(unpaired, Unpaired{runs[0].Name, first.Verdict.TrialName, other.Name + " has no such trial", true})
		}
		if len(g.Sides) > 1 {
			groups = append(groups, g)
		}
	}
	for _, other := range runs[1:] {
		for i := range other.Sides {
			own := &other.Sides[i]
			if !slices.ContainsFunc(runs[0].Sides, func(s Side) bool { return key(&s) == key(own) }) {
				unpaired = append(unpaired, Unpaired{other.Name, own.Verdict.TrialName, runs[0].Name + " has no such trial", false})
			}
		}
	}
	return groups, unpaired
}

// trialKey is what trials of different runs are matched by.
func trialKey(runs []Run) func(*Side) string {
	manyNames := slices.ContainsFunc(runs, func(r Run) bool {
		return slices.ContainsFunc(r.Sides, func(s Side) bool { return s.base() != r.Sides[0].base() })
	})
	return func(s *Side) string {
		if manyNames {
			return s.base() + "/" + s.axesText()
		}
		return s.axesText()
	}
}

func pointers(sides []Side) []*Side {
	all := make([]*Side, len(sides))
	for i := range sides {
		all[i] = &sides[i]
	}
	return all
}
