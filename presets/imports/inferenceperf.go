package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// inferencePerf reads inference-perf's per_request_lifecycle_metrics.json, and the load of each stage from the stage_N_lifecycle_metrics.json beside it.
//
// Its chunk times are those of events with content. Over the chat API reasoning and tool calls are not among them: a request that had some, or whose
// response was not kept, has no time to first token, only one to first output. Output is counted by the usage of the response where there is one, else by its own
// tokenizer. Its tpot, which spreads the time over retokenised output, is not read: it is computed anew.
type inferencePerf struct{}

const inferencePerfRequests = "per_request_lifecycle_metrics.json"

func (inferencePerf) Name() string { return "inference-perf" }
func (inferencePerf) What() string {
	return "inference-perf's " + inferencePerfRequests + ", or its folder, with stage_N_lifecycle_metrics.json beside it"
}

func (inferencePerf) Fits(s *Source) bool {
	f := s.named(inferencePerfRequests)
	if f == nil {
		return false
	}
	var requests []map[string]json.RawMessage
	return json.Unmarshal(f.Text, &requests) == nil && len(requests) > 0 && hasAll(requests[0], "start_time", "end_time", "info")
}

type perfRequest struct {
	Start   float64 `json:"start_time"` // seconds of a monotonic clock
	End     float64 `json:"end_time"`
	Request string  `json:"request"` // the body that was sent
	Raw     *string `json:"response"`
	Info    struct {
		InputTokens *int64 `json:"input_tokens"`
		Response    *struct {
			OutputTokens *int64 `json:"output_tokens"` // retokenised
			Usage        *struct {
				Prompt     *int64 `json:"prompt_tokens"`
				Completion *int64 `json:"completion_tokens"`
				Details    struct {
					Cached *int64 `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			} `json:"server_usage"`
			Chunks []float64 `json:"chunk_times"`
		} `json:"response_metrics"`
	} `json:"info"`
	Error *struct {
		Type    string `json:"error_type"`
		Message string `json:"error_msg"`
	} `json:"error"`
}

type perfStage struct {
	Load struct {
		Count       int      `json:"count"`
		Concurrency *int64   `json:"concurrency"`
		Rate        *float64 `json:"requested_rate"`
	} `json:"load_summary"`
}

func (p inferencePerf) Read(s *Source, o Options) (*Found, error) {
	f := s.named(inferencePerfRequests)
	if f == nil {
		return nil, fmt.Errorf("importing %s: it has no %s", s.path, inferencePerfRequests)
	}
	var requests []perfRequest
	if err := f.decode(f.Text, &requests, false); err != nil {
		return nil, err
	}
	for i := range requests {
		if requests[i].Start <= 0 || requests[i].End < requests[i].Start {
			return nil, f.fault(fmt.Sprintf("[%d]", i), "start_time and end_time must be instants, the second not before the first")
		}
	}
	slices.SortStableFunc(requests, func(a, b perfRequest) int { return cmp.Compare(a.Start, b.Start) })
	stages, err := p.stages(s, f, len(requests), o)
	if err != nil {
		return nil, err
	}
	var first sent
	_ = json.Unmarshal([]byte(requests[0].Request), &first) // what was sent is not kept by every setting
	trial := Trial{Name: p.Name(), Model: first.Model, Workload: compact(map[string]any{p.Name(): map[string]any{"output_tokens": first.output()}})}
	for _, stage := range stages {
		m := measurement{load: stage.load, clockID: f.clockID()}
		ignoreEOS := true
		for i, r := range requests[:stage.count] {
			var asked sent
			_ = json.Unmarshal([]byte(r.Request), &asked)
			rec := r.record()
			rec.Session, rec.RequestedOutputTokens = int64(i), asked.output()
			ignoreEOS = ignoreEOS && asked.IgnoreEOS
			m.records = append(m.records, rec)
		}
		requests = requests[stage.count:]
		point := m.summarized()
		point.Row.IgnoreEOS = ignoreEOS
		trial.Points = append(trial.Points, point)
	}
	return &Found{Tool: p.Name(), Trials: []Trial{trial}, Notes: []string{
		"The prompts are not described in the file: two such files may have asked for different work.",
		"Reasoning and tool calls are not stamped: where there were any, or the responses were not kept, times to first token of chats are not known.",
	}}, nil
}

// stageLoad is the load of a stage, and how many requests it had.
type stageLoad struct {
	count int
	load  schema.PointLoad
}

// stages come one after the other, so that the requests in order of their start are those of the first, then those of the second.
func (inferencePerf) stages(s *Source, f *File, n int, o Options) ([]stageLoad, error) {
	const most = 1000
	var stages []stageLoad
	sum := 0
	for i := range most {
		file, err := s.File(fmt.Sprintf("stage_%d_lifecycle_metrics.json", i))
		if err != nil {
			return nil, err
		}
		if file == nil {
			break
		}
		var stage perfStage
		if err := file.decode(file.Text, &stage, false); err != nil {
			return nil, err
		}
		load := schema.PointLoad{RequestRate: stage.Load.Rate}
		if stage.Load.Concurrency != nil && *stage.Load.Concurrency > 0 {
			load = concurrency(*stage.Load.Concurrency)
		}
		if stage.Load.Count < 1 || load.Concurrency == nil && load.RequestRate == nil {
			return nil, file.fault("load_summary", "it must say how many requests there were and under which concurrency or rate")
		}
		stages = append(stages, stageLoad{stage.Load.Count, load})
		sum += stage.Load.Count
	}
	if len(stages) == 0 {
		load, err := o.asked(f, "there is no stage_0_lifecycle_metrics.json beside it, which says under which load it was measured")
		return []stageLoad{{n, load}}, err
	}
	if sum != n {
		return nil, f.fault("", "it has %d requests, and its %s have %d", n, plural(len(stages), "stage"), sum)
	}
	return stages, nil
}

func (r *perfRequest) record() measure.Record {
	rec := measure.Record{Phase: measure.Measured, Status: measure.OK, Dispatched: at(r.Start), Ended: at(r.End)}
	if r.Error != nil {
		rec.Status, rec.Error = failure(r.Error.Type+" "+r.Error.Message, 0), messageOf(r.Error.Message)
		return rec
	}
	response := r.Info.Response
	if response == nil || len(response.Chunks) == 0 {
		if response == nil || response.OutputTokens == nil || *response.OutputTokens == 0 {
			rec.Status, rec.Error = measure.Empty, ref("no event had content")
		}
	}
	if rec.Status != measure.OK {
		return rec
	}
	source := measure.FromTokenizer
	rec.PromptTokens, rec.OutputTokens = r.Info.InputTokens, response.OutputTokens
	if usage := response.Usage; usage != nil && usage.Completion != nil {
		source = measure.FromServer
		rec.PromptTokens, rec.OutputTokens, rec.CachedPromptTokens = usage.Prompt, usage.Completion, usage.Details.Cached
	}
	if rec.OutputTokens != nil {
		rec.TokenSource = &source
	}
	for _, chunk := range response.Chunks {
		rec.Chunks = append(rec.Chunks, offset(chunk-r.Start))
	}
	n := len(rec.Chunks)
	if n == 0 {
		return rec
	}
	rec.FirstOutput = rec.Dispatched + clock.Instant(rec.Chunks[0])
	if r.hidden() {
		rec.Chunks = nil
		return rec
	}
	rec.FirstToken, rec.LastToken = rec.FirstOutput, rec.Dispatched+clock.Instant(rec.Chunks[n-1])
	return rec
}

// hidden reports whether there may have been tokens that the tool does not stamp: reasoning or tool calls before the content of a chat.
func (r *perfRequest) hidden() bool {
	chat := strings.Contains(r.Request, `"messages"`) || r.Request == ""
	return chat && (r.Raw == nil || reasons.MatchString(*r.Raw))
}

var reasons = regexp.MustCompile(`"(reasoning|reasoning_content)":\s*"[^"]|"tool_calls":\s*\[\s*\{`)
