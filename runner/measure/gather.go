package measure

import (
	"cmp"
	"math"
	"slices"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// gathered is what one pass over a point's records takes from them. Unless it says otherwise, a field is of the measured requests that were ok.
type gathered struct {
	counts                     Counts // of all measured requests, as are the next lines, as far as examples
	firstDispatch              clock.Instant
	lastDispatch, lastEnd      clock.Instant
	firstDue, lastDue          clock.Instant
	warmupIssued, warmupFailed int64
	agenticIssued              int64
	examples                   map[Status]string // the message of the first measured request of each class of failure

	ttft, ttftScheduled, ttfot, totalTime, tpot, queueDelay, iclMean []float64 // in order of dispatch
	gaps                                                             gaps

	promptTokens, outputTokens, cachedTokens total
	askedPrompt, askedOutput                 total
	promptOff                                float64       // the greatest, as a share of what was asked for
	tokenSources                             []TokenSource // each once; empty for a request without a count
	chunks                                   int64
	long, repeating                          int64 // with 8 or more chunks; of them, with one and the same text in all
	good                                     int64 // that met every limit
}

// total is a sum that isn't known where one of its parts is not.
type total struct {
	sum     int64
	any     bool
	unknown bool
}

func (t *total) add(part *int64) {
	t.any = true
	if part == nil {
		t.unknown = true
		return
	}
	t.sum += *part
}

// known is nil where a part was missing, or there was none.
func (t *total) known() *int64 {
	if t.unknown || !t.any {
		return nil
	}
	return &t.sum
}

// gather reads the records, which are in order of dispatch.
func gather(records []Record, limits *schema.Limits) *gathered {
	g := &gathered{examples: map[Status]string{}}
	g.reserve(records)
	for i := range records {
		r := &records[i]
		switch r.Phase {
		case Warmup:
			g.warmupIssued++
			if r.Status.Failed() {
				g.warmupFailed++
			}
		case AgenticWarmup:
			g.agenticIssued++
		case Measured:
			g.addMeasured(r)
			if r.Status == OK {
				g.addOK(r, limits)
			}
		}
	}
	return g
}

// reserve makes room for all values at once: a point may have a million requests.
func (g *gathered) reserve(records []Record) {
	var n, between int
	for i := range records {
		r := &records[i]
		if r.Phase == Measured {
			n++
			between += max(len(r.Chunks)-1, 0)
		}
	}
	for _, values := range []*[]float64{&g.ttft, &g.ttftScheduled, &g.ttfot, &g.totalTime, &g.tpot, &g.queueDelay, &g.iclMean} {
		*values = make([]float64, 0, n)
	}
	g.gaps.narrow = make([]uint32, 0, between)
}

func (g *gathered) addMeasured(r *Record) {
	g.counts.Issued++
	if count := g.counts.Of(r.Status); count != nil {
		*count++
	}
	if !g.firstDispatch.Happened() {
		g.firstDispatch = r.Dispatched
	}
	g.lastDispatch = r.Dispatched
	if g.firstDue == 0 || r.Scheduled < g.firstDue {
		g.firstDue = r.Scheduled
	}
	g.lastDue = max(g.lastDue, r.Scheduled)
	g.lastEnd = max(g.lastEnd, r.Ended)
	if _, seen := g.examples[r.Status]; !seen && r.Status.Failed() {
		g.examples[r.Status] = textOr(r.Error, "")
	}
}

// countedBy takes note of who counted the tokens of r.
func (g *gathered) countedBy(r *Record) {
	var source TokenSource
	if r.TokenSource != nil && r.OutputTokens != nil {
		source = *r.TokenSource
	}
	if !slices.Contains(g.tokenSources, source) {
		g.tokenSources = append(g.tokenSources, source)
	}
}

// tokenSource is who counted the tokens of all ok requests; nil where they differ, or one has no count.
func (g *gathered) tokenSource() *string {
	if len(g.tokenSources) != 1 || g.tokenSources[0] == "" {
		return nil
	}
	source := string(g.tokenSources[0])
	return &source
}

func (g *gathered) addOK(r *Record, limits *schema.Limits) {
	push(&g.ttft, ttft(r))
	push(&g.ttftScheduled, ttftScheduled(r))
	push(&g.ttfot, ttfot(r))
	push(&g.totalTime, totalTime(r))
	push(&g.tpot, tpot(r))
	push(&g.queueDelay, queueDelay(r))
	push(&g.iclMean, iclMean(r))
	for i := 1; i < len(r.Chunks); i++ {
		g.gaps.add(r.Chunks[i] - r.Chunks[i-1])
	}
	g.promptTokens.add(r.PromptTokens)
	g.outputTokens.add(r.OutputTokens)
	g.cachedTokens.add(r.CachedPromptTokens)
	g.countedBy(r)
	g.askedPrompt.add(r.RequestedPromptTokens)
	g.askedOutput.add(r.RequestedOutputTokens)
	if asked, counted := r.RequestedPromptTokens, r.PromptTokens; asked != nil && counted != nil && *asked > 0 {
		g.promptOff = max(g.promptOff, math.Abs(float64(*counted-*asked))/float64(*asked))
	}
	g.chunks += int64(len(r.Chunks))
	if len(r.Chunks) >= manyChunks {
		g.long++
		if r.DistinctChunks != nil && *r.DistinctChunks == 1 {
			g.repeating++
		}
	}
	if meetsAll(r, limits) {
		g.good++
	}
}

// manyChunks is how long an output must be for one repeated text to be a sign of a broken model.
const manyChunks = 8

// meetsAll holds one request against each limit that is declared.
func meetsAll(r *Record, limits *schema.Limits) bool {
	return (limits.MaxTTFT == nil || Meets(ttft(r), *limits.MaxTTFT)) &&
		(limits.MaxTPOT == nil || Meets(tpot(r), *limits.MaxTPOT)) &&
		(limits.MaxTotalTime == nil || Meets(totalTime(r), *limits.MaxTotalTime))
}

func push(values *[]float64, value *float64) {
	if value != nil {
		*values = append(*values, *value)
	}
}

func textOr(text *string, instead string) string {
	if text == nil {
		return instead
	}
	return *text
}

// inOrder gives the records in order of dispatch, those of one instant by their index. They are copied only where they are not in that order.
func inOrder(records []Record) []Record {
	for i := 1; i < len(records); i++ {
		if byDispatch(&records[i-1], &records[i]) > 0 {
			own := slices.Clone(records)
			slices.SortFunc(own, func(a, b Record) int { return byDispatch(&a, &b) })
			return own
		}
	}
	return records
}

func byDispatch(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.Dispatched, b.Dispatched), cmp.Compare(a.Index, b.Index))
}
