package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"sweetspot/pipeline"
	"sweetspot/runner"
	"sweetspot/selector"
)

// terminal shows the running point on a line that is drawn again and again, and what has happened above it.
type terminal struct {
	live *runner.Live
	bars *mpb.Progress
	head *mpb.Bar

	mu    sync.Mutex
	title string
}

func newTerminal(out io.Writer, live *runner.Live) *terminal {
	t := &terminal{live: live, bars: mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh())}
	t.head = t.bars.New(0, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return t.line() })))
	return t
}

// line is what is drawn: the point and how it stands.
func (t *terminal) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.title + "  " + standing(t.live.Snapshot()))
}

func (t *terminal) observe(event pipeline.Event) {
	if e, ok := event.(pipeline.PointStarted); ok {
		t.mu.Lock()
		t.title = fmt.Sprintf("%s %s (%d of %d)", e.Job.TrialName, selector.LoadText(e.Job.Load), e.Index+1, e.Total)
		t.mu.Unlock()
	}
	if line := eventLine(event); line != "" {
		fmt.Fprintln(t.bars, line)
	}
}

func (t *terminal) close() {
	t.head.Abort(true)
	t.bars.Wait()
}
