package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Difference is a fact that is not the same on all sides.
type Difference struct {
	Path   string            `json:"path"`
	Values []json.RawMessage `json:"values"` // by side; null where the side has none
}

// Dimension is the part of the specification that the path lies in, such as "service".
func (d *Difference) Dimension() string {
	dimension, _, _ := strings.Cut(d.Path, ".")
	return dimension
}

// dimensions in the order in which they are told.
var dimensions = []string{"model", "service", "workload", "request", "load", "limits", "select", "reported", "client"}

// axes of the load are told by the points themselves.
func isAxis(path string) bool {
	name, inLoad := strings.CutPrefix(path, "load.")
	return inLoad && slices.Contains(loadFields, name)
}

// differences are the facts that are not the same on all sides of which any are known, in the order of the specification.
func differences(sides []*Side) []Difference {
	paths := map[string]bool{}
	for _, s := range sides {
		for path := range s.Facts {
			paths[path] = true
		}
	}
	found := []Difference{}
	for path := range paths {
		d := Difference{Path: path}
		same, first := true, ""
		for _, s := range sides {
			fact := cmp.Or(s.Facts[path], "null")
			d.Values = append(d.Values, json.RawMessage(fact))
			if len(s.Facts) > 0 {
				first = cmp.Or(first, fact)
				same = same && fact == first
			}
		}
		if !same {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(slices.Index(dimensions, a.Dimension()), slices.Index(dimensions, b.Dimension())), cmp.Compare(a.Path, b.Path))
	})
	return found
}

// mixed are the dimensions that differ where more than one of those that make a trial does: no change can then be put down to one of them.
func mixed(found []Difference) []string {
	const trial = 4 // of the dimensions, the first are what makes a trial
	var differ []string
	for i := range found {
		dimension := found[i].Dimension()
		if slices.Contains(dimensions[:trial], dimension) && !slices.Contains(differ, dimension) {
			differ = append(differ, dimension)
		}
	}
	if len(differ) < 2 {
		return []string{}
	}
	return differ
}

// caveats are what to know before a change is believed, a sentence each.
func caveats(found []Difference, mixed []string) []string {
	notes := []string{}
	if len(mixed) > 0 {
		notes = append(notes, fmt.Sprintf("%s differ together: no change can be put down to one of them.", listed(mixed)))
	}
	for _, caveat := range []struct{ dimension, text string }{
		{"workload", "The workloads differ (%s): the sides were asked for different work."},
		{"request", "Requests were made differently (%s)."},
		{"load", "The points were measured differently (%s)."},
		{"limits", "The limits differ (%s): each winner is chosen by the rule of its own run."},
		{"select", "The rules of choice differ (%s): each winner is chosen by that of its own run."},
		{"client", "The client differs (%s): a change may be its own."},
	} {
		var paths []string
		for i := range found {
			if d := &found[i]; d.Dimension() == caveat.dimension && !isAxis(d.Path) {
				paths = append(paths, d.Path)
			}
		}
		if len(paths) > 0 {
			notes = append(notes, fmt.Sprintf(caveat.text, strings.Join(paths, ", ")))
		}
	}
	return notes
}

// unknown says of which sides there is nothing to compare specifications by.
func unknown(sides []*Side) []string {
	var notes []string
	for i, s := range sides {
		if len(s.Facts) > 0 {
			continue
		}
		note := fmt.Sprintf("What %s was is not known: it may differ from the others in anything.", Label(i))
		if from := s.Verdict.From; from != nil {
			note = fmt.Sprintf("What %s was stands in the run it was copied from, %s: compare with that to see what differs.", Label(i), from.RunID)
		}
		notes = append(notes, note)
	}
	return notes
}

// listed writes "model, service and workload".
func listed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Flatten adds the leaves of a JSON value to facts, by dotted path below at. Lists are leaves. What is null is left out.
func Flatten(facts map[string]string, at string, value any) error {
	fields, isObject := value.(map[string]any)
	if !isObject {
		if value == nil {
			return nil
		}
		text, err := json.Marshal(value)
		facts[at] = string(text)
		return err
	}
	for name, field := range fields {
		if strings.ContainsAny(name, `."`) {
			name = fmt.Sprintf("%q", name)
		}
		if err := Flatten(facts, strings.TrimPrefix(at+"."+name, "."), field); err != nil {
			return err
		}
	}
	return nil
}
