package imports

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sweetspot/schema"
)

// dstackBenchmark is one measurement in dstack's saved presets and reports.
type dstackBenchmark struct {
	Tool        string          `json:"tool"`
	ToolVersion string          `json:"tool_version"`
	Command     json.RawMessage `json:"command"`
	Workload    struct {
		API          string `json:"api"`
		Dataset      string `json:"dataset"`
		NumRequests  *int64 `json:"num_requests"`
		InputTokens  *int64 `json:"input_tokens"`
		OutputTokens *int64 `json:"output_tokens"`
		Concurrency  *int64 `json:"concurrency"`
		SharedPrefix *int64 `json:"shared_prefix_tokens"`
	} `json:"workload"`
	Metrics struct {
		Successful   *int64        `json:"successful_requests"`
		Failed       *int64        `json:"failed_requests"`
		Duration     *float64      `json:"duration_seconds"`
		InputTokens  *int64        `json:"total_input_tokens"`
		OutputTokens *int64        `json:"total_output_tokens"`
		OutputTokPS  *float64      `json:"output_tok_per_s"`
		PerUser      *float64      `json:"per_user_tok_per_s"`
		TTFT         *dstackTiming `json:"ttft_ms"`
		TPOT         *dstackTiming `json:"tpot_ms"`
	} `json:"metrics"`
}

type dstackTiming struct {
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
}

func (t *dstackTiming) milliseconds() milliseconds {
	if t == nil {
		return milliseconds{}
	}
	return milliseconds{t.Mean, t.P50, t.P99}
}

// dstackEntry is what was found at one concurrency: a benchmark, or why there is none.
type dstackEntry struct {
	Concurrency   *int64           `json:"concurrency"`
	ContextLength *int64           `json:"context_length"`
	Benchmark     *dstackBenchmark `json:"benchmark"`
	Learned       json.RawMessage  `json:"learned"`
	Failed        json.RawMessage  `json:"failed"`
}

// entryOf is a benchmark of its own: a sweep with one point.
func entryOf(b *dstackBenchmark, context *int64) dstackEntry {
	return dstackEntry{Concurrency: b.Workload.Concurrency, ContextLength: context, Benchmark: b}
}

// point converts one entry. The statistics are the tool's that dstack ran.
func (e *dstackEntry) point(f *File, where string) (Point, error) {
	b := e.Benchmark
	if e.Concurrency == nil || *e.Concurrency < 1 {
		return Point{}, f.fault(where+".concurrency", "it must be a whole number, 1 or more")
	}
	load := concurrency(*e.Concurrency)
	if b == nil {
		return failedPoint(load, "it has no benchmark"+e.why()), nil
	}
	if said := b.Workload.Concurrency; said != nil && *said != *e.Concurrency {
		return Point{}, f.fault(where+".benchmark.workload.concurrency", "it is %d, and the entry's is %d", *said, *e.Concurrency)
	}
	m := b.Metrics
	if m.Successful == nil || *m.Successful < 0 {
		return Point{}, f.fault(where+".benchmark.metrics.successful_requests", "it must be a whole number, 0 or more")
	}
	t := totals{
		ok: *m.Successful, prompt: m.InputTokens, output: m.OutputTokens, ttft: m.TTFT.milliseconds(), tpot: m.TPOT.milliseconds(),
		asked: product(b.Workload.OutputTokens, *m.Successful),
	}
	if m.Failed != nil {
		t.failed = *m.Failed
	}
	if t.failed < 0 {
		return Point{}, f.fault(where+".benchmark.metrics.failed_requests", "it must not be below 0")
	}
	if m.Duration != nil {
		t.wall = *m.Duration
	}
	p := Point{Load: load, Row: t.row(load)}
	if m.Failed == nil {
		p.Row.ErrorRate, p.Row.SuccessRate = nil, nil // nobody counted
	}
	if e.ContextLength != nil {
		p.Row.ContextLength, p.Row.ContextLengthSource = e.ContextLength, ref("imported")
	}
	return p, nil
}

func product(each *int64, n int64) *int64 {
	if each == nil || *each < 1 || n < 1 || *each > math.MaxInt64/n {
		return nil
	}
	return ref(*each * n)
}

// why is what the entry says of its failure.
func (e *dstackEntry) why() string {
	text := strings.Trim(string(e.Failed), `" `)
	if text == "" || text == "null" || text == "true" || text == "[]" {
		return ""
	}
	return ": " + *messageOf(text)
}

// workload is random where that was asked with lengths that are known.
func (b *dstackBenchmark) workload() string {
	w := b.Workload
	if w.Dataset == "random" && w.InputTokens != nil && w.OutputTokens != nil {
		shared := int64(0)
		if w.SharedPrefix != nil {
			shared = *w.SharedPrefix
		}
		return randomWorkload(*w.InputTokens, *w.OutputTokens, shared)
	}
	return compact(map[string]any{"dstack": map[string]any{
		"dataset": w.Dataset, "input_tokens": w.InputTokens, "output_tokens": w.OutputTokens, "shared_prefix_tokens": w.SharedPrefix,
	}})
}

// dstackFound converts the entries of one file, which must ask for the same work.
func dstackFound(f *File, name, model string, where func(i int) string, entries []dstackEntry) (*Found, error) {
	found := &Found{Tool: "dstack"}
	trial := Trial{Name: name, Model: model}
	for i := range entries {
		point, err := entries[i].point(f, where(i))
		if err != nil {
			return nil, err
		}
		trial.Points = append(trial.Points, point)
		b := entries[i].Benchmark
		if b == nil {
			continue
		}
		workload := b.workload()
		if trial.Workload != "" && trial.Workload != workload {
			return nil, f.fault(where(i)+".benchmark.workload", "it asks for other work than the first: the points of a sweep differ in concurrency alone")
		}
		trial.Workload = workload
		found.Tool, found.Version = textOr(b.Tool, "a tool"), strings.TrimSpace(b.ToolVersion+" by dstack")
		found.Notes = b.notes()
	}
	if trial.Workload == "" {
		trial.Workload = `{"dstack":{}}`
	}
	found.Trials = []Trial{trial}
	return found, nil
}

func (b *dstackBenchmark) notes() []string {
	notes := []string{fmt.Sprintf("Times are as %s measured them; the file has totals only.", textOr(b.Tool, "an unnamed tool"))}
	if b.Workload.API == "chat_completions" && strings.Contains(strings.ToLower(b.Tool), "vllm") {
		notes = append(notes, "Over the chat API vllm bench counts the event with the role as the first token: ttft may be too low.")
	}
	return notes
}

func textOr(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// once holds that each concurrency stands in the entries exactly once, and where a ladder was declared, that all of it stands there and nothing else.
func once(f *File, entries []dstackEntry, declared []int64) error {
	seen := map[int64]bool{}
	for i, e := range entries {
		if e.Concurrency == nil {
			return f.fault(fmt.Sprintf("results[%d].concurrency", i), "it must be a whole number, 1 or more")
		}
		if seen[*e.Concurrency] {
			return f.fault(fmt.Sprintf("results[%d].concurrency", i), "there is a second entry for %d: there must be exactly one for each concurrency", *e.Concurrency)
		}
		if declared != nil && !slices.Contains(declared, *e.Concurrency) {
			return f.fault(fmt.Sprintf("results[%d].concurrency", i), "%d was not declared", *e.Concurrency)
		}
		seen[*e.Concurrency] = true
	}
	for _, n := range declared {
		if !seen[n] {
			return f.fault("results", "there is no entry for concurrency %d: there must be exactly one for each concurrency that was declared", n)
		}
	}
	return nil
}

// dstackConfiguration is what a saved preset was asked to find.
type dstackConfiguration struct {
	Name             string   `json:"name"`
	MaxTTFT          *float64 `json:"max_ttft"` // milliseconds, on the median
	MinContextLength *int64   `json:"min_context_length"`
	Model            string   `json:"model"`
	Repo             string   `json:"repo"`
	Base             string   `json:"base"`
}

func (c *dstackConfiguration) limit(f *File, found *Found) error {
	if c.MaxTTFT != nil {
		if !(*c.MaxTTFT > 0) || *c.MaxTTFT > 1e9 {
			return f.fault("configuration.max_ttft", "it must be a time in milliseconds above 0")
		}
		found.MaxTTFT = ref(schema.Duration(math.Round(*c.MaxTTFT * float64(time.Millisecond))))
	}
	if c.MinContextLength != nil && *c.MinContextLength < 2 {
		return f.fault("configuration.min_context_length", "it must be 2 or more")
	}
	found.MinContextLength = c.MinContextLength
	return nil
}
