package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sweetspot/selector/figure"
)

// maxLength bounds a condition: no name, operator and number take more.
const maxLength = 200

// operators in an order in which none is the beginning of a later one.
var operators = []string{"<=", ">=", "<", ">"}

// condition is a comparison as it was written.
type condition struct {
	text     string
	figure   figure.Figure
	operator string
	right    string // without blanks around it; not empty
}

// parse cuts a condition at its operator.
func parse(text, example string) (condition, error) {
	c := condition{text: strings.Join(strings.Fields(text), " ")}
	if len(text) > maxLength {
		return c, fmt.Errorf("reading a condition of %d bytes: it has at most %d, such as %s", len(text), maxLength, example)
	}
	at := strings.IndexAny(c.text, "<>=!")
	if at < 0 {
		return c, fmt.Errorf("reading %q: there is no operator: write <, <=, > or >= between a figure and a number, such as %s", c.text, example)
	}
	for _, operator := range operators {
		if right, found := strings.CutPrefix(c.text[at:], operator); found {
			c.operator, c.right = operator, strings.TrimSpace(right)
			break
		}
	}
	switch {
	case c.operator == "" || strings.ContainsAny(c.right, "<>=!"):
		return c, fmt.Errorf("reading %q: the operators are <, <=, > and >=, one in a condition, such as %s", c.text, example)
	case c.right == "":
		return c, fmt.Errorf("reading %q: there is no number behind %s, such as in %s", c.text, c.operator, example)
	}
	name := strings.TrimSpace(c.text[:at])
	if name == "" {
		return c, fmt.Errorf("reading %q: there is no figure before %s, such as in %s", c.text, c.operator, example)
	}
	found, err := figure.Find(name)
	if err != nil {
		return c, fmt.Errorf("reading %q: %w", c.text, err)
	}
	c.figure = found
	return c, nil
}

// holds reports whether the comparison is true.
func holds(left float64, operator string, right float64) bool {
	switch operator {
	case "<":
		return left < right
	case "<=":
		return left <= right
	case ">":
		return left > right
	}
	return left >= right
}

// timeUnits are those that a time may be written in, in seconds. Those that end in another come first.
var timeUnits = []struct {
	name    string
	seconds float64
}{{"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"s", 1}, {"", 1}}

// number reads a plain decimal number, after which one of the figure's units may stand: a time's, or % of a figure without a unit.
func (c *condition) number(text string) (float64, error) {
	switch c.figure.Unit {
	case "s":
		for _, unit := range timeUnits {
			if digits, found := strings.CutSuffix(text, unit.name); found {
				v, err := c.plain(strings.TrimSpace(digits), "seconds, or a number with its unit such as 300ms")
				return v * unit.seconds, err
			}
		}
	case "":
		if digits, found := strings.CutSuffix(text, "%"); found {
			v, err := c.plain(strings.TrimSpace(digits), "a number, or a share such as 1%")
			return v / 100, err
		}
	}
	return c.plain(text, fmt.Sprintf("a number, in %s", orPlain(c.figure.Unit)))
}

func orPlain(unit string) string {
	if unit == "" {
		return "no unit"
	}
	return unit
}

// plain refuses what strconv takes beside decimal numbers: NaN, Inf, 0x1p-2, 1_000.
func (c *condition) plain(text, want string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "+-.0123456789eE") != "" || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("reading %q: %q is no number for %s: write %s", c.text, c.right, c.figure.Name, want)
	}
	return v, nil
}
