package compare

import (
	"slices"

	"sweetspot/selector/gate"
)

// Document is what compare --json prints.
type Document struct {
	SchemaVersion int          `json:"schema_version"`
	Assume        Assumption   `json:"assume"`
	Confidence    *float64     `json:"confidence"` // of intervals; null where figures are taken as exact
	At            At           `json:"at"`         // where conditions are held
	Comparisons   []Comparison `json:"comparisons"`
	Unpaired      []Unpaired   `json:"unpaired"` // trials that a run has and another has not
}

// New compares runs: the trials of a single run with its first, or each run with the first.
func New(schemaVersion int, runs []Run, options Options) Document {
	d := Document{SchemaVersion: schemaVersion, Assume: options.Assume, At: options.At, Comparisons: []Comparison{}, Unpaired: []Unpaired{}}
	if options.Assume != Exact {
		confidence := Confidence
		d.Confidence = &confidence
	}
	groups, unpaired := Pair(runs)
	d.Unpaired = append(d.Unpaired, unpaired...)
	for _, group := range groups {
		d.Comparisons = append(d.Comparisons, Compare(group, options))
	}
	return d
}

// Compared reports whether anything was: a comparison without data is none.
func (d *Document) Compared() bool {
	return slices.ContainsFunc(d.Comparisons, func(c Comparison) bool { return c.Compared(d.At) })
}

// State is what comes of all conditions together: tripped if one is; else undecided if one is, or if a trial of the first run has no counterpart to
// hold one against; else clear.
func (d *Document) State(conditions int) gate.State {
	states := map[gate.State]bool{}
	for _, c := range d.Comparisons {
		for _, g := range c.Gates {
			states[g.State] = true
		}
	}
	noCounterpart := slices.ContainsFunc(d.Unpaired, func(u Unpaired) bool { return u.ofFirst })
	switch {
	case states[gate.Tripped]:
		return gate.Tripped
	case states[gate.Undecided], conditions > 0 && noCounterpart, conditions > 0 && len(states) == 0:
		return gate.Undecided
	}
	return gate.Clear
}
