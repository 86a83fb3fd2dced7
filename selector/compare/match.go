package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sweetspot/schema"
	"sweetspot/selector"
)

// loadFields are the fields of a load that points are matched by.
var loadFields = []string{
	"concurrency", "request_concurrency", "prefill_concurrency", "request_rate", "replay_speed", "warmup_request_concurrency", "agentic_warmup_request_concurrency",
}

// LoadFields are the fields of a load that points are matched by, unless they are ignored.
func LoadFields() []string { return slices.Clone(loadFields) }

// without is the load without what is ignored, and without what was asked before clip lowered it: the point is what was measured.
func without(load schema.PointLoad, ignored []string) schema.PointLoad {
	load.AskedRequestConcurrency, load.AskedWarmupRequestConcurrency, load.AskedPrefillConcurrency = nil, nil, nil
	load.AskedAgenticWarmupRequestConcurrency = nil
	for _, name := range ignored {
		switch name {
		case "concurrency":
			load.Concurrency = nil
		case "request_concurrency":
			load.RequestConcurrency = nil
		case "prefill_concurrency":
			load.PrefillConcurrency = nil
		case "request_rate":
			load.RequestRate = nil
		case "replay_speed":
			load.ReplaySpeed = nil
		case "warmup_request_concurrency":
			load.WarmupRequestConcurrency = nil
		case "agentic_warmup_request_concurrency":
			load.AgenticWarmupRequestConcurrency = nil
		}
	}
	return load
}

// row is a load and the points that the sides have there.
type row struct {
	load  schema.PointLoad
	cells [][]*selector.Judged // by side
}

// match brings the points of the sides together by the values of their loads, in the order of load.
func match(sides []*Side, ignored []string) []row {
	var rows []row
	for i, s := range sides {
		for j := range s.Verdict.Points {
			point := &s.Verdict.Points[j]
			load := without(point.Load, ignored)
			at := slices.IndexFunc(rows, func(r row) bool { return selector.CompareLoad(r.load, load) == 0 })
			if at < 0 {
				at = len(rows)
				rows = append(rows, row{load, make([][]*selector.Judged, len(sides))})
			}
			rows[at].cells[i] = append(rows[at].cells[i], point)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return selector.CompareLoad(a.load, b.load) })
	return rows
}

// Unmatched is a load that can't be compared on all sides.
type Unmatched struct {
	Load   Load     `json:"load"`
	Sides  []string `json:"sides"` // labels of those that have it
	Reason string   `json:"reason"`
}

// Load writes a load as an object of the fields that are set.
type Load schema.PointLoad

// MarshalJSON leaves out what is not set.
func (l Load) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(schema.PointLoad(l))
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return json.Marshal(fields)
}

// unmatched says why a row is not whole: a side has no point there, or has several.
func (r *row) unmatched() *Unmatched {
	u := Unmatched{Load: Load(r.load)}
	var several []string
	for i, cell := range r.cells {
		if len(cell) > 0 {
			u.Sides = append(u.Sides, Label(i))
		}
		if len(cell) > 1 {
			several = append(several, fmt.Sprintf("%s has %d points there", Label(i), len(cell)))
		}
	}
	switch {
	case len(several) > 0:
		u.Reason = strings.Join(several, ", ") + ": what else their loads vary in is mixed"
	case len(u.Sides) < len(r.cells):
		u.Reason = "only " + strings.Join(u.Sides, ", ") + " has it"
		if len(u.Sides) > 1 {
			u.Reason = "only " + listed(u.Sides) + " have it"
		}
	default:
		return nil
	}
	return &u
}

// MaxSides is how many sides a comparison has at most: each has a letter.
const MaxSides = 26

// Label is the letter of a side, by its place.
func Label(side int) string { return string(rune('A' + side)) }
