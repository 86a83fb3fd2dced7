package results

import (
	"math"
	"strings"
	"testing"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// A figure that is infinite is no measurement's, but where failures count as infinite, and what a service shows of itself.
func TestAnInfiniteFigureIsADamagedFile(t *testing.T) {
	infinite := math.Inf(1)
	for name, test := range map[string]struct {
		change func(*measure.Point)
		broken bool
	}{
		"throughput":          {func(p *measure.Point) { p.OutputTokPerS = &infinite }, true},
		"time to first token": {func(p *measure.Point) { p.TTFT.P50 = &infinite }, true},
		"with failures": {func(p *measure.Point) {
			p.TTFTAll.P99, p.TTFTAll.P99Upper, p.TotalTimeAll.Max = &infinite, &infinite, &infinite
		}, false},
		"of the service": {func(p *measure.Point) { p.ServerWaitingMax = &infinite }, false},
	} {
		w := newRun(t)
		row := measure.Summarize(measure.Outcome{Records: records(4)}, schema.PointLoad{}, schema.Limits{})
		row.Keys = keys(w.Run, pointA, 0, 0)
		test.change(&row)
		if err := w.WritePoint(row, nil, nil); err != nil {
			t.Fatal(err)
		}
		rows, broken := w.Points()
		if test.broken != (len(broken) == 1) || test.broken == (len(rows) == 1) {
			t.Errorf("%s: %d rows, broken %v", name, len(rows), broken)
		}
		if test.broken && (!strings.Contains(broken[0].Error(), w.path("points")) || !strings.Contains(broken[0].Error(), "is +Inf, which no measurement gives")) {
			t.Errorf("%s: %v", name, broken[0])
		}
	}
}
