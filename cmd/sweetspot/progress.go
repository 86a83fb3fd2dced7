package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sweetspot/pipeline"
	"sweetspot/runner"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// progress tells the person how a run goes, on standard error. It is told of events by one goroutine.
type progress interface {
	observe(pipeline.Event)
	close()
}

// quiet tells nothing.
type quiet struct{}

func (quiet) observe(pipeline.Event) {}
func (quiet) close()                 {}

// plain writes a line for each thing that happened, and now and then how the running point stands: for files and pipes.
type plain struct {
	teller
	mu    sync.Mutex
	out   io.Writer
	stop  chan struct{}
	ended sync.WaitGroup
}

// heartbeat is how often a running point is told of where nothing is drawn.
const heartbeat = 30 * time.Second

func newPlain(out io.Writer, standing func() string) *plain {
	p := &plain{out: out, stop: make(chan struct{})}
	p.ended.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.line("  ... " + standing())
			case <-p.stop:
				return
			}
		}
	})
	return p
}

func (p *plain) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

func (p *plain) observe(event pipeline.Event) {
	for _, line := range p.lines(event) {
		p.line(line)
	}
}

func (p *plain) close() {
	for _, line := range p.last() {
		p.line(line)
	}
	close(p.stop)
	p.ended.Wait()
}

// teller says events in lines. A reason for which points can't be measured, as where the service is down, is said once and then counted.
type teller struct {
	reason string // of the last point
	more   int    // points behind it with the same, not yet said
}

// lines says an event, and what was counted before it. An event that is not worth a line gives none.
func (t *teller) lines(event pipeline.Event) []string {
	if done, ok := event.(pipeline.PointDone); ok {
		reason := ""
		if done.Point.Issued == 0 && done.Point.Reason != nil {
			reason = *done.Point.Reason
		}
		if reason != "" && reason == t.reason {
			t.more++
			return nil
		}
		t.reason = reason
	}
	line := eventLine(event)
	if line == "" {
		return nil
	}
	return append(t.last(), line)
}

// last says what was counted.
func (t *teller) last() []string {
	if t.more == 0 {
		return nil
	}
	line := fmt.Sprintf("  %s more: failed for the same reason", plural(t.more, "point"))
	t.more = 0
	return []string{line}
}

// eventLine says an event in one line; empty for one that is not worth a line. What a service answered may stand in it.
func eventLine(event pipeline.Event) string { return schema.PrintableLines(eventText(event)) }

func eventText(event pipeline.Event) string {
	switch e := event.(type) {
	case pipeline.ServiceStarting:
		return startingLine(e)
	case pipeline.ServiceStarted:
		return e.Text
	case pipeline.TrialStarted:
		return fmt.Sprintf("trial %s: %s", e.Trial.Name, extentOf(e.Trial))
	case pipeline.PointStarted:
		if e.Why != "" {
			return fmt.Sprintf("  next %s: %s", selector.LoadText(e.Job.Load), e.Why)
		}
	case pipeline.Verifying:
		return fmt.Sprintf("verifying trial %s: %s once more", e.Trial.Name, plural(len(e.Trial.Points), "point"))
	case pipeline.PointDone:
		return "  " + pointLine(e.Point)
	case pipeline.PointSkipped:
		return "  " + pointLine(e.Point) + " (measured before)"
	case pipeline.Note:
		return "note: " + e.Text
	}
	return ""
}

// pointLine says what came of a measurement.
func pointLine(p measure.Point) string {
	var b strings.Builder
	b.WriteString(selector.LoadText(p.PointLoad))
	if p.Stage == "verify" {
		b.WriteString(", again")
	}
	if p.Repeat > 0 {
		fmt.Fprintf(&b, ", repeat %d", p.Repeat)
	}
	fmt.Fprintf(&b, ": %s, %d of %d ok", p.Status, p.OK, p.Issued)
	if p.OutputTokPerS != nil {
		fmt.Fprintf(&b, ", %s tok/s", format.Number(*p.OutputTokPerS))
	}
	if p.TTFT.P50 != nil {
		whose := ""
		if p.Failed() > 0 {
			whose = " of these"
		}
		fmt.Fprintf(&b, ", TTFT p50%s %s", whose, format.Seconds(*p.TTFT.P50))
	}
	switch {
	case p.Reason != nil:
		b.WriteString(": " + *p.Reason)
	case p.Issued > p.OK:
		b.WriteString("; " + failures(p))
	}
	return b.String()
}

// extentOf says how much is measured of a trial.
func extentOf(trial *pipeline.Trial) string {
	s := trial.Search
	if s == nil {
		return plural(len(trial.Points), "point")
	}
	return fmt.Sprintf("a search of %s from %d to %d, at most %d points", s.Over, s.From, s.To, s.MaxPoints)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// standing says how the running point stands: what is in flight of the three dimensions, what is done, and what it gives.
func standing(s runner.Snapshot) string {
	if !s.Started.Happened() {
		return "looking at the service"
	}
	ended := s.OK + s.Failed + s.Cancelled
	done := fmt.Sprintf("%d", ended)
	if s.Planned > 0 {
		done = fmt.Sprintf("%d/%d", ended, s.Planned)
	}
	phase := string(s.Phase)
	if phase == "" { // nothing more is sent
		phase = "draining"
	}
	text := fmt.Sprintf("%s  in flight %d/%d/%d  done %s", phase, s.Sessions.Now, s.Requests.Now, s.Prefills.Now, done)
	if s.Failed > 0 {
		text += fmt.Sprintf("  failed %d", s.Failed)
	}
	if s.From.Happened() && s.Now > s.From {
		elapsed := s.Now.Sub(s.From)
		text += fmt.Sprintf("  %s tok/s", format.Number(float64(s.OutputTokens)/elapsed.Seconds()))
		if s.TTFT > 0 {
			text += "  TTFT p50 " + format.Seconds(s.TTFT.Seconds())
		}
		if ended > 0 && s.Planned > ended {
			left := time.Duration(float64(elapsed) / float64(ended) * float64(s.Planned-ended))
			text += fmt.Sprintf("  %s left", left.Round(time.Second))
		}
	}
	return text
}
