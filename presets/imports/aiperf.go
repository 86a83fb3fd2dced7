package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// aiperf reads AIPerf's per-request export, profile_export.jsonl, and what stands of the load beside it in profile_export_aiperf.json.
//
// Its ttft is that of the first event with content or reasoning, and its gaps are between such events, as here. A request's time ends with the last of them.
//
// It marks requests as cancelled whether the configuration asked for that or the benchmark ended while they were in flight. The first are cancelled here; the
// others are truncated: left out they would flatter a service that falls behind.
type aiperf struct{}

const (
	aiperfRequests = "profile_export.jsonl"
	aiperfSummary  = "profile_export_aiperf.json"
)

func (aiperf) Name() string { return "aiperf" }
func (aiperf) What() string {
	return "AIPerf's " + aiperfRequests + ", or its folder, with " + aiperfSummary + " beside it"
}

func (aiperf) Fits(s *Source) bool {
	f := s.named(aiperfRequests)
	if f == nil {
		return false
	}
	var metadata map[string]json.RawMessage
	return json.Unmarshal(f.object()["metadata"], &metadata) == nil && hasAll(metadata, "request_start_ns", "benchmark_phase")
}

// aiperfLine is one request.
type aiperfLine struct {
	Metadata struct {
		Session   int64  `json:"session_num"`
		Turn      int64  `json:"turn_index"`
		Issued    int64  `json:"credit_issued_ns"`
		Start     int64  `json:"request_start_ns"`
		End       int64  `json:"request_end_ns"`
		Phase     string `json:"benchmark_phase"`
		Cancelled bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	} `json:"metrics"`
	Error *aiperfError `json:"error"`
}

type aiperfError struct {
	Code    *int64 `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// cancelled reports whether it says that AIPerf gave the request up, and not what was wrong with it.
func (e *aiperfError) cancelled() bool { return strings.Contains(e.Type, "Cancel") }

// givenUp is what a request was that AIPerf did not wait for. One that is cancelled by configuration is so a while after it was sent; any other, such as one in
// flight when its benchmark ends, by a signal from outside.
func (l *aiperfLine) givenUp(declared bool) (measure.Status, *string) {
	if declared && (l.Error == nil || !strings.Contains(l.Error.Message, "external signal")) {
		return measure.Cancelled, ref("cancelled by AIPerf's configuration")
	}
	return measure.Truncated, ref("it was in flight when AIPerf gave it up, which its configuration did not ask for")
}

// aiperfConfig is what the summary says of the load.
type aiperfConfig struct {
	Version string `json:"aiperf_version"`
	Input   struct {
		Models struct {
			Items []struct{ Name string } `json:"items"`
		} `json:"models"`
		Endpoint struct {
			Extra struct {
				IgnoreEOS bool `json:"ignore_eos"`
			} `json:"extra"`
		} `json:"endpoint"`
		Datasets []struct {
			Type    string `json:"type"`
			Prompts struct{ ISL, OSL *aiperfLength }
		} `json:"datasets"`
		Phases []struct {
			Kind        string   `json:"kind"`
			Type        string   `json:"type"`
			Concurrency *int64   `json:"concurrency"`
			Prefill     *int64   `json:"prefill_concurrency"`
			Rate        *float64 `json:"rate"`
			Cancel      struct {
				Rate float64 `json:"rate"` // percent
			} `json:"cancellation"`
		} `json:"phases"`
		LoadGen struct { // of older versions, whose one rate is that of the measured phase
			CancelRate float64 `json:"request_cancellation_rate"`
		} `json:"loadgen"`
	} `json:"input_config"`
}

// cancels reports whether the configuration asks for cancellations in a phase, which requests name as its kind.
func (c *aiperfConfig) cancels(phase string) bool {
	if !isWarmup(phase) && c.Input.LoadGen.CancelRate > 0 {
		return true
	}
	for _, p := range c.Input.Phases {
		if isWarmup(p.Kind) == isWarmup(phase) && p.Cancel.Rate > 0 {
			return true
		}
	}
	return false
}

func isWarmup(phase string) bool { return strings.Contains(phase, "warmup") }

type aiperfLength struct{ Mean, StdDev *float64 }

// fixed is the length where every request asks for the same.
func (l *aiperfLength) fixed() *int64 {
	if l == nil || l.Mean == nil || l.StdDev != nil && *l.StdDev != 0 || *l.Mean != float64(int64(*l.Mean)) {
		return nil
	}
	return ref(int64(*l.Mean))
}

func (a aiperf) Read(s *Source, o Options) (*Found, error) {
	f := s.named(aiperfRequests)
	if f == nil {
		return nil, fmt.Errorf("importing %s: it has no %s", s.path, aiperfRequests)
	}
	summary, err := s.File(aiperfSummary)
	if err != nil {
		return nil, err
	}
	var config aiperfConfig
	found := &Found{Tool: "AIPerf", Notes: []string{"A request's time ends with its last event that has content, not with the end of the response."}}
	if summary == nil {
		found.Notes = append(found.Notes, "There was no "+aiperfSummary+" beside the requests: model, lengths, version, and whether cancellations were asked for are not known.")
	} else if err := summary.decode(summary.Text, &config, false); err != nil {
		return nil, err
	}
	found.Version = config.Version
	m := measurement{clockID: f.clockID(), wall: true}
	if m.load, err = config.load(f, o); err != nil {
		return nil, err
	}
	prompt, output := config.lengths()
	if m.records, err = a.records(f, &config, output); err != nil {
		return nil, err
	}
	cut := 0
	for i := range m.records {
		if m.records[i].Status == measure.Truncated {
			cut++
		}
	}
	if cut > 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("%s that AIPerf gave up unasked, as where the benchmark ends, are failures here and not cancelled.", plural(cut, "request")))
	}
	trial := Trial{Name: a.Name(), Workload: `{"aiperf":{}}`, Points: []Point{m.summarized()}}
	trial.Points[0].Row.IgnoreEOS = config.Input.Endpoint.Extra.IgnoreEOS
	if len(config.Input.Models.Items) == 1 {
		trial.Model = config.Input.Models.Items[0].Name
	}
	if prompt != nil && output != nil {
		trial.Workload = randomWorkload(*prompt, *output, 0)
	}
	found.Trials = []Trial{trial}
	return found, nil
}

// load is that of the measured phase.
func (c *aiperfConfig) load(f *File, o Options) (schema.PointLoad, error) {
	for _, phase := range c.Input.Phases {
		if phase.Kind == "warmup" {
			continue
		}
		load := schema.PointLoad{Concurrency: phase.Concurrency, PrefillConcurrency: phase.Prefill, RequestRate: phase.Rate}
		if load.Concurrency != nil && *load.Concurrency > 0 || load.RequestRate != nil && *load.RequestRate > 0 {
			return load, nil
		}
	}
	return o.asked(f, "nothing beside it says under which load it was measured")
}

// lengths are those that each request asked for, where all asked for the same of synthetic prompts.
func (c *aiperfConfig) lengths() (prompt, output *int64) {
	if len(c.Input.Datasets) != 1 || c.Input.Datasets[0].Type != "synthetic" {
		return nil, nil
	}
	prompts := c.Input.Datasets[0].Prompts
	return prompts.ISL.fixed(), prompts.OSL.fixed()
}

func (a aiperf) records(f *File, config *aiperfConfig, output *int64) ([]measure.Record, error) {
	var records []measure.Record
	sessions := map[string]int64{} // of all phases, each of which numbers its own
	number := 0
	for line := range bytes.Lines(f.Text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l aiperfLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, f.fault(fmt.Sprintf("line %d", number), "it is no record of a request: %v", err)
		}
		if l.Metadata.Start <= 0 || l.Metadata.End < l.Metadata.Start {
			return nil, f.fault(fmt.Sprintf("line %d", number), "request_start_ns and request_end_ns must be instants, the second not before the first")
		}
		key := fmt.Sprint(l.Metadata.Phase, l.Metadata.Session)
		session, known := sessions[key]
		if !known {
			session = int64(len(sessions))
			sessions[key] = session
		}
		rec, err := l.record(session, config)
		if err != nil {
			return nil, f.fault(fmt.Sprintf("line %d", number), "%v", err)
		}
		rec.RequestedOutputTokens = output
		records = append(records, rec)
	}
	if len(records) == 0 {
		return nil, f.fault("", "it has no requests")
	}
	return records, nil
}

func (l *aiperfLine) record(session int64, config *aiperfConfig) (measure.Record, error) {
	rec := measure.Record{
		Session: session, Turn: l.Metadata.Turn, Phase: measure.Measured, Status: measure.OK,
		Scheduled: clock.Instant(l.Metadata.Issued), Dispatched: clock.Instant(l.Metadata.Start), Ended: clock.Instant(l.Metadata.End),
	}
	if isWarmup(l.Metadata.Phase) {
		rec.Phase = measure.Warmup
	}
	switch {
	case l.Metadata.Cancelled && (l.Error == nil || l.Error.cancelled()):
		rec.Status, rec.Error = l.givenUp(config.cancels(l.Metadata.Phase))
		return rec, nil
	case l.Error != nil:
		code := int64(0)
		if l.Error.Code != nil {
			code = *l.Error.Code
		}
		rec.Status, rec.Error = failure(l.Error.Type+" "+l.Error.Message, code), messageOf(l.Error.Message)
		if rec.Status == measure.HTTPError {
			rec.HTTPStatus = &code
		}
		return rec, nil
	}
	if err := l.tokens(&rec); err != nil {
		return rec, err
	}
	return rec, l.times(&rec)
}

// tokens takes the server's counts where there are any, else those of AIPerf's tokenizer.
func (l *aiperfLine) tokens(rec *measure.Record) error {
	source, prompt, output := measure.FromServer, "usage_prompt_tokens", "usage_completion_tokens"
	if _, there := l.Metrics[output]; !there {
		source, prompt, output = measure.FromTokenizer, "input_sequence_length", "output_sequence_length"
	}
	for name, to := range map[string]**int64{
		prompt: &rec.PromptTokens, output: &rec.OutputTokens, "usage_prompt_cache_read_tokens": &rec.CachedPromptTokens, "reasoning_token_count": &rec.ReasoningTokens,
	} {
		metric, there := l.Metrics[name]
		if !there {
			continue
		}
		var n float64
		if json.Unmarshal(metric.Value, &n) != nil || n < 0 || n != float64(int64(n)) {
			return fmt.Errorf("metrics.%s.value must be a whole number, 0 or more", name)
		}
		*to = ref(int64(n))
	}
	if rec.OutputTokens != nil {
		rec.TokenSource = &source
	}
	return nil
}

func (l *aiperfLine) times(rec *measure.Record) error {
	first, err := l.time("time_to_first_token")
	if err != nil || first == nil {
		return err
	}
	if visible, err := l.time("time_to_first_output_token"); err != nil {
		return err
	} else if visible != nil {
		rec.FirstOutput = rec.Dispatched + clock.Instant(*visible)
	}
	rec.FirstToken = rec.Dispatched + clock.Instant(*first)
	rec.LastToken, rec.Chunks = rec.FirstToken, []int64{*first}
	gaps, there := l.Metrics["inter_chunk_latency"]
	if !there {
		return nil
	}
	var values []float64
	if gaps.Unit != "ms" || json.Unmarshal(gaps.Value, &values) != nil {
		return fmt.Errorf("metrics.inter_chunk_latency must be a list of times in ms")
	}
	for _, gap := range values {
		rec.Chunks = append(rec.Chunks, rec.Chunks[len(rec.Chunks)-1]+offset(gap/1000))
	}
	rec.LastToken = rec.Dispatched + clock.Instant(rec.Chunks[len(rec.Chunks)-1])
	return nil
}

// time is a metric in nanoseconds, nil where there is none.
func (l *aiperfLine) time(name string) (*int64, error) {
	metric, there := l.Metrics[name]
	if !there {
		return nil, nil
	}
	var value float64
	if metric.Unit != "ms" || json.Unmarshal(metric.Value, &value) != nil || value < 0 {
		return nil, fmt.Errorf("metrics.%s must be a time in ms", name)
	}
	return ref(offset(value / 1000)), nil
}
