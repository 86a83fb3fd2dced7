package gate

import (
	"fmt"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector/figure"
)

// Require is a level that a figure must keep to.
type Require struct {
	Text   string // as it was written
	Figure figure.Figure

	operator string
	level    float64 // in the figure's unit
}

const requireExample = `"ttft_p50_s <= 0.3"`

// ParseRequire reads a requirement: a figure, one of <, <=, > and >=, and a number in the figure's unit (a time also as 300ms, a share also as 1%).
// An error says what is wrong with which part, and of an unknown figure which one may be meant.
func ParseRequire(text string) (Require, error) {
	c, err := parse(text, requireExample)
	if err != nil {
		return Require{}, err
	}
	r := Require{Text: c.text, Figure: c.figure, operator: c.operator}
	switch {
	case strings.HasPrefix(c.right, "+") || strings.HasPrefix(c.right, "-"):
		return r, fmt.Errorf("reading %q: a number with a sign is a change, which compare --fail-if takes; a requirement is on the figure itself, such as %s", c.text, requireExample)
	case strings.HasSuffix(c.right, "%") && c.figure.Unit != "":
		return r, fmt.Errorf("reading %q: a share of what? compare --fail-if takes changes in percent; a requirement on %s is a number in %s", c.text, c.figure.Name, c.figure.Unit)
	}
	r.level, err = c.number(c.right)
	return r, err
}

// Required is a requirement held against a point. As JSON it is an item of "requirements" in the results document.
type Required struct {
	Text   string   `json:"require"`
	Trial  string   `json:"trial_name"` // whose selected point it was held against; set by whoever holds it, empty where there is none
	Name   string   `json:"figure"`
	Value  *float64 `json:"value"` // null where the figure is not known
	Level  float64  `json:"level"`
	Met    bool     `json:"met"`
	Reason string   `json:"reason"` // why it is not met; empty where it is
}

// MarshalJSON writes an infinite value as results do.
func (r Required) MarshalJSON() ([]byte, error) { return measure.MarshalRow(r) }

// Hold holds the requirement against a point's figures, which are nil where there is no point. What is not known does not meet it.
func (r Require) Hold(p *measure.Point) Required {
	held := Required{Text: r.Text, Name: r.Figure.Name, Level: r.level}
	if p == nil {
		held.Reason = "no point is selected"
		return held
	}
	held.Value = r.Figure.Of(p)
	switch {
	case held.Value == nil:
		held.Reason = r.Figure.Name + " is not known"
	case !holds(*held.Value, r.operator, r.level): // of what is not a number nothing holds
		held.Reason = "it is not"
	default:
		held.Met = true
	}
	return held
}
