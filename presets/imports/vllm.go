package imports

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// vllmBench reads what vllm bench serve --save-result writes: with --save-detailed every request, else totals. A file to which --append-result added holds
// several measurements.
//
// Its ttft counts the first event that has choices. Over /v1/chat/completions that is the event with the role, long before any token may come: then neither ttft, nor tpot and the gaps, which
// start from it, are what they are here, and they are null. A request's time ends with its last such event.
type vllmBench struct{}

func (vllmBench) Name() string { return "vllm-bench" }
func (vllmBench) What() string {
	return "the JSON that vllm bench serve --save-result writes, best with --save-detailed"
}

func (vllmBench) Fits(s *Source) bool {
	return s.main != nil && hasAll(s.main.object(), "model_id", "num_prompts", "duration", "completed", "total_output_tokens")
}

// vllmResult is one measurement. Fields are named as the tool names them.
type vllmResult struct {
	Endpoint       string          `json:"endpoint_type"`
	Backend        string          `json:"backend"`
	Model          string          `json:"model_id"`
	NumPrompts     int64           `json:"num_prompts"`
	RequestRate    json.RawMessage `json:"request_rate"` // a number, or "inf"
	MaxConcurrency *int64          `json:"max_concurrency"`
	Duration       float64         `json:"duration"`
	Completed      int64           `json:"completed"`
	Failed         *int64          `json:"failed"`
	InputTokens    int64           `json:"total_input_tokens"`
	OutputTokens   int64           `json:"total_output_tokens"`

	InputLens  []int64     `json:"input_lens"`
	OutputLens []int64     `json:"output_lens"`
	TTFTs      []float64   `json:"ttfts"`
	ITLs       [][]float64 `json:"itls"`
	Latencies  []float64   `json:"latencies"`
	Starts     []float64   `json:"start_times"`
	Queued     []float64   `json:"queue_times"`
	Errors     []string    `json:"errors"`

	MeanTTFT   *float64 `json:"mean_ttft_ms"`
	MedianTTFT *float64 `json:"median_ttft_ms"`
	P99TTFT    *float64 `json:"p99_ttft_ms"`
	MeanTPOT   *float64 `json:"mean_tpot_ms"`
	MedianTPOT *float64 `json:"median_tpot_ms"`
	P99TPOT    *float64 `json:"p99_tpot_ms"`
	MeanE2EL   *float64 `json:"mean_e2el_ms"`
	MedianE2EL *float64 `json:"median_e2el_ms"`
	P99E2EL    *float64 `json:"p99_e2el_ms"`
}

func (vllmBench) Read(s *Source, o Options) (*Found, error) {
	f := s.main
	if f == nil {
		return nil, fmt.Errorf("importing %s: it is a folder: name the JSON file", s.path)
	}
	found := &Found{Tool: "vllm bench serve"}
	trials := map[string]int{}
	values, err := f.values()
	if err != nil {
		return nil, err
	}
	for _, value := range values {
		var r vllmResult
		if err := f.decode(value, &r, false); err != nil {
			return nil, err
		}
		if r.NumPrompts < 1 || r.Completed < 0 || r.Completed > r.NumPrompts {
			return nil, f.fault("num_prompts", "it must be 1 or more, and not below completed")
		}
		point, err := r.point(f, o)
		if err != nil {
			return nil, err
		}
		// What was asked is not said, but for how many requests and at which endpoint.
		workload := compact(map[string]any{"vllm-bench": map[string]any{"endpoint_type": r.Endpoint}})
		i, known := trials[r.Model+workload]
		if !known {
			i = len(found.Trials)
			trials[r.Model+workload] = i
			found.Trials = append(found.Trials, Trial{Name: "vllm-bench", Model: r.Model, Workload: workload})
		}
		found.Trials[i].Points = append(found.Trials[i].Points, point)
		found.Notes = r.notes()
	}
	return found, nil
}

// chat reports whether the first event that counts is one with a role and no token.
func (r *vllmResult) chat() bool { return strings.Contains(r.Endpoint+r.Backend, "chat") }

func (r *vllmResult) detailed() bool { return r.TTFTs != nil && r.Starts != nil && r.OutputLens != nil }

func (r *vllmResult) notes() []string {
	notes := []string{"The prompts are not described in the file: two such files may have asked for different work.",
		"A request's time ends with its last event that has choices, not with the end of the response."}
	if r.chat() {
		notes = append(notes, "Over the chat API vllm bench counts the event with the role as the first token: ttft, tpot and gaps are not known. Over /v1/completions (--backend openai) they are.")
	}
	if !r.detailed() {
		notes = append(notes, "The file has totals only: how many requests were in flight is not known. --save-detailed writes every request.")
	}
	return notes
}

func (r *vllmResult) load(f *File, o Options) (schema.PointLoad, error) {
	var load schema.PointLoad
	if text := strings.Trim(string(r.RequestRate), `"`); text != "" && text != "null" && text != "inf" && text != "Infinity" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
			return load, f.fault("request_rate", "%s is no rate", text)
		}
		load.RequestRate, load.RequestConcurrency = &rate, r.MaxConcurrency
		return load, nil
	}
	switch {
	case r.MaxConcurrency != nil && *r.MaxConcurrency < 1:
		return load, f.fault("max_concurrency", "%d is no concurrency", *r.MaxConcurrency)
	case r.MaxConcurrency != nil:
		return concurrency(*r.MaxConcurrency), nil
	}
	return o.asked(f, "max_concurrency is null: all requests were sent at once and no load was kept up")
}

func (r *vllmResult) point(f *File, o Options) (Point, error) {
	load, err := r.load(f, o)
	if err != nil {
		return Point{}, err
	}
	if !r.detailed() {
		return r.totals(load), nil
	}
	n := len(r.TTFTs)
	for name, length := range map[string]int{
		"start_times": len(r.Starts), "output_lens": len(r.OutputLens), "input_lens": len(r.InputLens), "itls": len(r.ITLs), "errors": len(r.Errors),
	} {
		if length != n {
			return Point{}, f.fault(name, "it has %d values, and ttfts has %d", length, n)
		}
	}
	m := measurement{load: load, clockID: f.clockID()}
	for i := range n {
		m.records = append(m.records, r.record(i))
	}
	return m.summarized(), nil
}

// record is one request. Where the tool did not say how it counted the output is not known: usage, or its own tokenizer where there was none.
func (r *vllmResult) record(i int) measure.Record {
	rec := measure.Record{Session: int64(i), Lane: 0, Phase: measure.Measured, Status: measure.OK, Dispatched: at(r.Starts[i])}
	source := measure.FromTool
	rec.PromptTokens, rec.TokenSource = &r.InputLens[i], &source
	if r.RequestRate != nil && len(r.Queued) == len(r.Starts) {
		rec.Scheduled = at(r.Starts[i] - r.Queued[i])
	}
	if r.Errors[i] != "" || r.TTFTs[i] <= 0 {
		rec.Status, rec.Error = failure(r.Errors[i], 0), messageOf(r.Errors[i])
		if !strings.HasPrefix(r.Errors[i], "Traceback") && rec.Status == measure.StreamError {
			rec.Status = measure.HTTPError // the tool keeps the reason of the response alone
		}
		rec.Ended = rec.Dispatched
		return rec
	}
	rec.OutputTokens = &r.OutputLens[i]
	end := offset(r.TTFTs[i])
	offsets := []int64{end}
	for _, gap := range r.ITLs[i] {
		end += offset(gap)
		offsets = append(offsets, end)
	}
	rec.FirstEvent = rec.Dispatched + clock.Instant(offsets[0])
	rec.Ended = rec.Dispatched + clock.Instant(end)
	if !r.chat() {
		rec.FirstToken, rec.LastToken, rec.Chunks = rec.FirstEvent, rec.Ended, offsets
	}
	return rec
}

// totals is the row of a file without requests.
func (r *vllmResult) totals(load schema.PointLoad) Point {
	failed := r.NumPrompts - r.Completed
	if r.Failed != nil {
		failed = *r.Failed
	}
	t := totals{ok: r.Completed, failed: failed, wall: r.Duration, prompt: &r.InputTokens, output: &r.OutputTokens}
	if !r.chat() {
		t.ttft, t.tpot = milliseconds{r.MeanTTFT, r.MedianTTFT, r.P99TTFT}, milliseconds{r.MeanTPOT, r.MedianTPOT, r.P99TPOT}
	}
	t.total = milliseconds{r.MeanE2EL, r.MedianE2EL, r.P99E2EL}
	return Point{Load: load, Row: t.row(load)}
}
