package main

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"sweetspot/pipeline"
	"sweetspot/schema"
	"sweetspot/selector"
)

// terminal shows the running point on two lines that are drawn again and again, and what has happened above them.
type terminal struct {
	teller
	bars  *mpb.Progress
	drawn []*mpb.Bar
	width int

	mu    sync.Mutex
	title string
}

func newTerminal(out io.Writer, standing func() string, width int) *terminal {
	t := &terminal{bars: mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh()), width: width}
	t.draw(t.head)
	t.draw(standing)
	return t
}

func (t *terminal) draw(line func() string) {
	text := decor.Any(func(decor.Statistics) string { return line() })
	t.drawn = append(t.drawn, t.bars.New(0, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(text)))
}

// head names the running point.
func (t *terminal) head() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.title
}

func (t *terminal) observe(event pipeline.Event) {
	if e, ok := event.(pipeline.PointStarted); ok {
		t.mu.Lock()
		atMost := ""
		if e.AtMost {
			atMost = "at most "
		}
		t.title = fmt.Sprintf("%s, %s (%d of %s%d)", schema.Printable(e.Job.TrialName), selector.LoadText(e.Job.Load), e.Index+1, atMost, e.Total)
		t.mu.Unlock()
	}
	t.print(t.lines(event))
}

func (t *terminal) print(lines []string) {
	for _, line := range lines {
		if utf8.RuneCountInString(line) > t.width {
			line = wrap(line, t.width)
		}
		fmt.Fprintln(t.bars, line)
	}
}

func (t *terminal) close() {
	t.print(t.last())
	for _, line := range t.drawn {
		line.Abort(true)
	}
	t.bars.Wait()
}
