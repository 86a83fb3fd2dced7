package imports

import (
	"fmt"
	"slices"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// What is beyond these was never measured: the file is damaged, or not what it looks like.
const (
	longest    = 30 * 24 * time.Hour // a measurement
	mostTokens = 10_000_000          // of a request, as of its context
	mostOfAll  = 1 << 50             // requests or tokens of a measurement
	mostLoad   = 1_000_000           // in flight, or requests per second
	rounding   = time.Millisecond    // between instants that a tool rounds one by one
)

// possible holds the figures of a trial against what can be. A time to first token below 0, as a damaged file has it, would meet every limit.
func (t *Trial) possible() error {
	for i := range t.Points {
		p := &t.Points[i]
		if fault := impossibleLoad(p.Load); fault != "" {
			return fmt.Errorf("its load can't be: %s", fault)
		}
		for j := range p.Records {
			if fault := impossible(&p.Records[j]); fault != "" {
				return fmt.Errorf("%s: request %d of those in order of their start can't be: %s", selector.LoadText(p.Load), j+1, fault)
			}
		}
		if fault := impossibleRow(&p.Row); fault != "" {
			return fmt.Errorf("%s: it can't be: %s", selector.LoadText(p.Load), fault)
		}
	}
	return nil
}

func impossibleLoad(l schema.PointLoad) string {
	for _, cap := range []*int64{l.Concurrency, l.RequestConcurrency, l.PrefillConcurrency} {
		if cap != nil && (*cap < 1 || *cap > mostLoad) {
			return fmt.Sprintf("%d in flight is not from 1 to %d", *cap, mostLoad)
		}
	}
	if l.RequestRate != nil && !(*l.RequestRate > 0 && *l.RequestRate <= mostLoad) {
		return fmt.Sprintf("%g requests per second is not above 0 and at most %d", *l.RequestRate, mostLoad)
	}
	return ""
}

// impossible is what is wrong with the record of a request, "" where nothing is.
func impossible(r *measure.Record) string {
	for _, count := range []named[*int64]{
		{"prompt tokens", r.PromptTokens}, {"output tokens", r.OutputTokens}, {"reasoning tokens", r.ReasoningTokens},
		{"cached prompt tokens", r.CachedPromptTokens}, {"output tokens asked for", r.RequestedOutputTokens},
	} {
		if n := count.value; n != nil && (*n < 0 || *n > mostTokens) {
			return fmt.Sprintf("its %s are %d: not from 0 to %d", count.name, *n, mostTokens)
		}
	}
	switch {
	case r.Status != measure.OK:
		return ""
	case !r.Dispatched.Happened() || r.Ended < r.Dispatched:
		return "it ended before it was sent, or one of both is no instant"
	case r.Ended.Sub(r.Dispatched) > longest:
		return fmt.Sprintf("it took %s", r.Ended.Sub(r.Dispatched))
	}
	for _, event := range []named[clock.Instant]{{"first event", r.FirstEvent}, {"first token", r.FirstToken}, {"first visible output", r.FirstOutput}, {"last token", r.LastToken}} {
		if at := event.value; at.Happened() && (at < r.Dispatched || at > r.Ended.Add(rounding)) {
			return fmt.Sprintf("its %s came %s after it was sent, and its end %s", event.name, at.Sub(r.Dispatched), r.Ended.Sub(r.Dispatched))
		}
	}
	if r.LastToken < r.FirstToken || !slices.IsSorted(r.Chunks) {
		return "its events are not in the order of their times"
	}
	return ""
}

type named[T any] struct {
	name  string
	value T
}

func impossibleRow(p *measure.Point) string {
	for _, count := range []named[*int64]{
		{"requests", &p.Issued}, {"ok requests", &p.OK}, {"prompt tokens", p.PromptTokens}, {"output tokens", p.OutputTokens},
	} {
		if n := count.value; n != nil && (*n < 0 || *n > mostOfAll) {
			return fmt.Sprintf("it has %d %s: not from 0 to %d", *n, count.name, mostOfAll)
		}
	}
	if n := p.ContextLength; n != nil && (*n < 1 || *n > mostTokens) {
		return fmt.Sprintf("a context length of %d is not from 1 to %d", *n, mostTokens)
	}
	if p.Wall != nil && *p.Wall > longest.Seconds() {
		return fmt.Sprintf("it took %.0f s, from the first request to the last", *p.Wall)
	}
	return ""
}
