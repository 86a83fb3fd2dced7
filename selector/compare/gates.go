package compare

import (
	"fmt"
	"slices"

	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/gate"
)

// At says at which points conditions on changes are held.
type At string

// The places.
const (
	AtSelected At = "selected" // at the load that the first side selected: what is driven today
	AtWinners  At = "winners"  // of each side's selected point against the first side's, whatever their loads
	AtEvery    At = "every"    // at every load that the first side has
)

// Gate is a condition held against one change.
type Gate struct {
	Text   string     `json:"fail_if"`
	Side   string     `json:"side"` // label of the side that is held against the first
	Load   *Load      `json:"load"` // of the change; of the side's own winner where winners are compared; null where there is none
	Change *Change    `json:"change"`
	State  gate.State `json:"state"`
	Reason string     `json:"reason"` // why it is undecided; empty where it is decided
}

// hold holds a condition against the changes of every side. Where there is no change to hold it against, it is undecided.
func (c *Comparison) hold(condition gate.FailIf, options Options) []Gate {
	var held []Gate
	for side := 1; side < len(c.Sides); side++ {
		switch options.At {
		case AtWinners:
			held = append(held, c.holdWinner(condition, side, options))
		case AtEvery:
			held = append(held, c.holdEvery(condition, side, options)...)
		default:
			held = append(held, c.holdSelected(condition, side, options))
		}
	}
	return held
}

func (c *Comparison) holdWinner(condition gate.FailIf, side int, options Options) Gate {
	first, own := c.Winners.Points[0], c.Winners.Points[side]
	switch {
	case first == nil:
		return undecided(condition, side, nil, Label(0)+" has no selected point")
	case own == nil:
		return undecided(condition, side, nil, Label(side)+" has no selected point")
	case c.interim(0):
		return undecided(condition, side, &own.Load, interimText(0))
	case c.interim(side):
		return undecided(condition, side, &own.Load, interimText(side))
	}
	return decide(condition, side, own.Load, first.Point, own.Point, options)
}

func (c *Comparison) holdSelected(condition gate.FailIf, side int, options Options) Gate {
	first := c.Winners.Points[0]
	if first == nil {
		return undecided(condition, side, nil, Label(0)+" has no selected point")
	}
	load := Load(without(schema.PointLoad(first.Load), options.Ignore))
	p := c.at(load)
	if c.interim(0) {
		return undecided(condition, side, &load, interimText(0))
	}
	if !c.has(load, side) {
		return undecided(condition, side, &load, fmt.Sprintf("%s has no one point to hold against that", Label(side)))
	}
	return decide(condition, side, load, p.Cells[0].Point, p.Cells[side].Point, options)
}

// interim reports whether the side was not measured to its end: at another load than the one that it selected so far it may be better.
func (c *Comparison) interim(side int) bool {
	return c.Sides[side].Status == selector.StatusIncomplete
}

// interims says of which sides that is so.
func (c *Comparison) interims() (notes []string) {
	for i := range c.Sides {
		if c.interim(i) {
			notes = append(notes, interimText(i)+".")
		}
	}
	return notes
}

func interimText(side int) string {
	return Label(side) + " was not measured to its end, so the load that it selected may change"
}

// at is the compared point of a load, nil where there is none.
func (c *Comparison) at(load Load) *Point {
	i := slices.IndexFunc(c.Points, func(p Point) bool { return selector.CompareLoad(schema.PointLoad(p.Load), schema.PointLoad(load)) == 0 })
	if i < 0 {
		return nil
	}
	return &c.Points[i]
}

// has reports whether the side stands beside the first at a load.
func (c *Comparison) has(load Load, side int) bool {
	p := c.at(load)
	return p != nil && p.Cells[0] != nil && p.Cells[side] != nil
}

// holdEvery holds a condition at every load of the first side: one that the other side has not is undecided.
func (c *Comparison) holdEvery(condition gate.FailIf, side int, options Options) []Gate {
	var held []Gate
	for _, p := range c.Points {
		if p.Cells[0] == nil || p.Cells[side] == nil {
			continue // among the unmatched
		}
		held = append(held, decide(condition, side, p.Load, p.Cells[0].Point, p.Cells[side].Point, options))
	}
	for _, u := range c.Unmatched {
		if slices.Contains(u.Sides, Label(0)) && !c.has(u.Load, side) {
			load := u.Load
			held = append(held, undecided(condition, side, &load, u.Reason))
		}
	}
	if len(held) == 0 {
		held = append(held, undecided(condition, side, nil, "no point is on both sides"))
	}
	return held
}

func undecided(condition gate.FailIf, side int, load *Load, reason string) Gate {
	return Gate{Text: condition.Text, Side: Label(side), Load: load, State: gate.Undecided, Reason: reason}
}

// decide holds a condition against the change between two points. A point that can't be trusted decides nothing.
func decide(condition gate.FailIf, side int, load Load, from, to *selector.Judged, options Options) Gate {
	c := changeBetween(condition.Figure, from, to, options.Assume)
	g := Gate{Text: condition.Text, Side: Label(side), Load: &load, Change: &c, State: gate.Undecided}
	low, high := c.AbsoluteLow, c.AbsoluteHigh
	if condition.Relative {
		low, high = c.RelativeLow, c.RelativeHigh
	}
	switch {
	case c.Verdict == Missing:
		g.Reason = condition.Figure.Name + " is not known on both sides"
	case c.Verdict == Ineligible && !from.Eligible:
		g.Reason = fmt.Sprintf("the point of %s is not eligible", Label(0))
	case c.Verdict == Ineligible:
		g.Reason = fmt.Sprintf("the point of %s is not eligible", Label(side))
	case c.NeedRepeats > 0:
		g.Reason = fmt.Sprintf("need >= %d repeats on each side to tell a change from noise, there are %d and %d", c.NeedRepeats, len(from.Repeats), len(to.Repeats))
	case low == nil || high == nil:
		g.Reason = "it was 0 or infinite: there is no share of that; hold a difference such as +0.01 instead"
	default:
		if g.State = condition.Decide(low, high); g.State == gate.Undecided {
			g.Reason = "the repeats leave both open: more of them narrow it"
		}
	}
	return g
}
