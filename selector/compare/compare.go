package compare

import (
	"fmt"
	"slices"
	"strings"

	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/figure"
	"sweetspot/selector/gate"
)

// Options say what is compared and how.
type Options struct {
	Figures []figure.Figure
	Assume  Assumption
	Ignore  []string // of [LoadFields]: points are matched whatever these are
	FailIf  []gate.FailIf
	At      At // where conditions are held
}

// Comparison is what comes of holding sides against the first of them.
type Comparison struct {
	Trial       string           `json:"trial"` // see [Group]
	Sides       []Labelled       `json:"sides"`
	Differences []Difference     `json:"differences"`
	Mixed       []string         `json:"mixed"`   // dimensions that differ together
	Caveats     []string         `json:"caveats"` // what to know before a change is believed, a sentence each
	Points      []Point          `json:"points"`  // loads that the first side and another have, in order
	Unmatched   []Unmatched      `json:"unmatched"`
	Winners     Winners          `json:"winners"`
	Fronts      []selector.Front `json:"fronts"` // sides are places in Sides
	Gates       []Gate           `json:"gates"`
}

// Labelled is a side with its letter.
type Labelled struct {
	Label     string  `json:"label"`
	RunID     string  `json:"run_id"`
	RunName   string  `json:"run_name"`
	TrialID   string  `json:"trial_id"`
	TrialName string  `json:"trial_name"`
	Status    string  `json:"status"`
	Selected  *string `json:"selected"` // point_id
	Feasible  bool    `json:"feasible"`
	Text      string  `json:"verdict"`
}

// Point is a load of any side, and what stands there.
type Point struct {
	Load    Load        `json:"load"`
	Cells   []*Cell     `json:"cells"` // by side; null where the side has no point there, or several
	Figures []FigureRow `json:"figures"`
}

// Cell is one side's point.
type Cell struct {
	PointID  string   `json:"point_id"`
	Status   string   `json:"status"`
	Repeats  int      `json:"repeats"`
	Eligible bool     `json:"eligible"`
	Feasible bool     `json:"feasible"`
	Selected bool     `json:"selected"`
	Pareto   *bool    `json:"pareto"`
	Reasons  []string `json:"reasons"`

	Point *selector.Judged `json:"-"`
}

// FigureRow is a figure of all sides' points.
type FigureRow struct {
	Figure  string        `json:"figure"`
	Unit    string        `json:"unit"`
	Better  figure.Better `json:"better"`
	Values  []Value       `json:"values"`  // by side
	Changes []*Change     `json:"changes"` // by side, against the first; null for the first, and where a side has no point

	Column figure.Figure `json:"-"`
}

// Compare holds the sides of a group, at least two, against the first of them.
func Compare(group Group, options Options) Comparison {
	c := Comparison{Trial: group.Trial, Points: []Point{}, Unmatched: []Unmatched{}, Gates: []Gate{}}
	verdicts := make([]selector.Verdict, len(group.Sides))
	for i, s := range group.Sides {
		v := &s.Verdict
		verdicts[i] = *v
		c.Sides = append(c.Sides, Labelled{Label(i), s.RunID, s.RunName, v.TrialID, v.TrialName, v.Status, v.Selected, v.Feasible, v.Text()})
	}
	c.Fronts = selector.MarkFronts(verdicts) // before cells are made: it marks points that verdicts share
	c.Differences = differences(group.Sides)
	c.Mixed = mixed(c.Differences)
	c.Caveats = append(caveats(c.Differences, c.Mixed), slices.Concat(unknown(group.Sides), c.interims(), frontCaveat(c.Fronts, group.Sides))...)
	for _, r := range match(group.Sides, options.Ignore) {
		if u := r.unmatched(); u != nil {
			c.Unmatched = append(c.Unmatched, *u)
		}
		c.Points = append(c.Points, r.point(options))
	}
	c.Winners = winners(group.Sides, options)
	for _, condition := range options.FailIf {
		c.Gates = append(c.Gates, c.hold(condition, options)...)
	}
	return c
}

// point compares a row: what a side has several points of, or none, stands empty.
func (r *row) point(options Options) Point {
	p := Point{Load: Load(r.load), Cells: make([]*Cell, len(r.cells))}
	points := make([]*selector.Judged, len(r.cells))
	for i, cell := range r.cells {
		if len(cell) == 1 {
			points[i], p.Cells[i] = cell[0], newCell(cell[0])
		}
	}
	p.Figures = figureRows(points, options)
	return p
}

func newCell(j *selector.Judged) *Cell {
	return &Cell{j.PointID, j.Status, len(j.Repeats), j.Eligible, j.Feasible, j.Selected, j.Pareto, j.Reasons, j}
}

// figureRows compares each figure of points, by side and nil where there is none, with that of the first.
func figureRows(points []*selector.Judged, options Options) []FigureRow {
	var rows []FigureRow
	for _, f := range options.Figures {
		r := FigureRow{Figure: f.Name, Unit: f.Unit, Better: f.Better, Column: f, Changes: make([]*Change, len(points))}
		for i, p := range points {
			r.Values = append(r.Values, valueOf(f, p))
			if i > 0 && p != nil && points[0] != nil {
				c := changeBetween(f, points[0], p, options.Assume)
				r.Changes[i] = &c
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// changeBetween is the change between two points. Where one of them can't be trusted, the figures stand and nothing is said of them.
func changeBetween(f figure.Figure, from, to *selector.Judged, assume Assumption) Change {
	c := change(f, valueOf(f, from), valueOf(f, to), assume)
	if c.Verdict != Missing && !(from.Eligible && to.Eligible) {
		c.Verdict = Ineligible
	}
	return c
}

// frontCaveat says that sides have fronts of their own.
func frontCaveat(fronts []selector.Front, sides []*Side) []string {
	var perGPU, whole []string
	for _, f := range fronts {
		for i := range sides {
			if !slices.ContainsFunc(f.Points, func(p selector.FrontPoint) bool { return p.Side == i }) {
				continue
			}
			if f.PerGPU() {
				perGPU = append(perGPU, Label(i))
			} else {
				whole = append(whole, Label(i))
			}
		}
	}
	if len(perGPU) == 0 || len(whole) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("GPUs are declared of %s and not of %s: these have Pareto fronts of their own, and no figure per GPU.", strings.Join(perGPU, ", "), strings.Join(whole, ", "))}
}

// Compared reports whether any figure of the first side stands beside one of another at the same load or, where winners are asked for, at theirs.
func (c *Comparison) Compared(at At) bool {
	if at == AtWinners && stand(c.Winners.Figures) {
		return true
	}
	return slices.ContainsFunc(c.Points, func(p Point) bool { return stand(p.Figures) })
}

func stand(rows []FigureRow) bool {
	return slices.ContainsFunc(rows, func(r FigureRow) bool {
		return slices.ContainsFunc(r.Changes, func(change *Change) bool { return change != nil && change.Verdict != Missing })
	})
}

// Text names a load in words.
func (l Load) Text() string { return selector.LoadText(schema.PointLoad(l)) }
