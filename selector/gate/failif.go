package gate

import (
	"fmt"
	"strings"

	"sweetspot/selector/figure"
)

// FailIf is a change that must not be.
type FailIf struct {
	Text     string // as it was written
	Figure   figure.Figure
	Relative bool // the threshold is a share of what the figure was, else a difference in its unit

	operator  string
	threshold float64
}

const failIfExample = `"ttft_p50_s > +5%"`

// ParseFailIf reads a change: a figure, one of <, <=, > and >=, and a percentage of what the figure was (+5%, -10%), or a difference with its sign in
// the figure's unit (+0.01, -20ms).
func ParseFailIf(text string) (FailIf, error) {
	c, err := parse(text, failIfExample)
	if err != nil {
		return FailIf{}, err
	}
	f := FailIf{Text: c.text, Figure: c.figure, operator: c.operator}
	if digits, found := strings.CutSuffix(c.right, "%"); found {
		f.Relative = true
		f.threshold, err = c.plain(strings.TrimSpace(digits), "a percentage such as +5%")
		f.threshold /= 100
		return f, err
	}
	if !strings.HasPrefix(c.right, "+") && !strings.HasPrefix(c.right, "-") {
		return f, fmt.Errorf("reading %q: is %s a level or a change? Write a change as a percentage or with its sign, such as %s or +%s; run and select hold levels with --require",
			c.text, c.right, failIfExample, strings.TrimLeft(c.right, " "))
	}
	f.threshold, err = c.number(c.right)
	return f, err
}

// Backwards reports whether the change is one for the better: the condition may be the wrong way round.
func (f FailIf) Backwards() bool {
	rising := f.operator == ">" || f.operator == ">="
	return rising && f.threshold >= 0 && f.Figure.Better == figure.Higher || !rising && f.threshold <= 0 && f.Figure.Better == figure.Lower
}

// State is what comes of a change held against a threshold.
type State string

// The states.
const (
	Tripped   State = "tripped"   // the change is there: all that it can be given the repeats lies beyond the threshold
	Clear     State = "clear"     // it is not: nothing that it can be lies beyond
	Undecided State = "undecided" // the repeats leave both open, or nothing is known
)

// Decide holds the interval that a change lies in, nil where nothing is known of it, against the threshold. Relative ones are shares.
func (f FailIf) Decide(low, high *float64) State {
	if low == nil || high == nil || !(*low <= *high) { // also where one is not a number
		return Undecided
	}
	atLow, atHigh := holds(*low, f.operator, f.threshold), holds(*high, f.operator, f.threshold)
	switch {
	case atLow && atHigh:
		return Tripped
	case !atLow && !atHigh:
		return Clear
	}
	return Undecided
}
