package imports

import (
	"encoding/json"
	"fmt"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// guideLLM reads GuideLLM's JSON report: a measurement for each of its benchmarks, with every request.
//
// Its first token is the first event with content or reasoning, as here. Gaps between events are not kept. Requests that it gave up when a benchmark ended are
// incomplete there and truncated here: left out they would flatter a service that falls behind.
type guideLLM struct{}

func (guideLLM) Name() string { return "guidellm" }
func (guideLLM) What() string { return "GuideLLM's JSON report (--output kind=json)" }

func (guideLLM) Fits(s *Source) bool {
	f := s.named("benchmarks.json")
	if f == nil {
		return false
	}
	var metadata map[string]json.RawMessage
	fields := f.object()
	return hasAll(fields, "metadata", "benchmarks") && json.Unmarshal(fields["metadata"], &metadata) == nil && hasAll(metadata, "guidellm_version")
}

type guideReport struct {
	Metadata struct {
		Version string `json:"guidellm_version"`
	} `json:"metadata"`
	Config struct {
		Spec struct {
			Data []map[string]json.RawMessage `json:"data"`
		} `json:"spec"`
	} `json:"config"`
	Benchmarks []guideBenchmark `json:"benchmarks"`
}

type guideBenchmark struct {
	Config struct {
		Strategy struct {
			Type    string   `json:"type_"`
			Streams *int64   `json:"streams"`
			Rate    *float64 `json:"rate"`
		} `json:"strategy"`
		Backend struct {
			Model string `json:"model"`
		} `json:"backend"`
	} `json:"config"`
	Scheduler struct {
		Created int64 `json:"created_requests"`
	} `json:"scheduler_state"`
	Metrics struct {
		MeasureStart float64 `json:"measure_start_time"`
		MeasureEnd   float64 `json:"measure_end_time"`
	} `json:"scheduler_metrics"`
	Warmup   float64 `json:"warmup_duration"`
	Cooldown float64 `json:"cooldown_duration"`
	Requests struct {
		Successful []guideRequest `json:"successful"`
		Errored    []guideRequest `json:"errored"`
		Incomplete []guideRequest `json:"incomplete"`
	} `json:"requests"`
}

type guideRequest struct {
	Args string `json:"request_args"` // JSON of what was sent
	Info struct {
		Turn    int64   `json:"turn_index"`
		Session string  `json:"conversation_id"`
		Error   *string `json:"error"`
		Timings struct {
			Target     *float64 `json:"targeted_start"`
			Start      *float64 `json:"request_start"`
			FirstEvent *float64 `json:"first_request_iteration"`
			First      *float64 `json:"first_token_iteration"`
			Visible    *float64 `json:"first_output_token_iteration"`
			Last       *float64 `json:"last_token_iteration"`
			End        *float64 `json:"request_end"`
		} `json:"timings"`
	} `json:"info"`
	Prompt *int64 `json:"prompt_tokens"`
	Cached *int64 `json:"cached_tokens"`
	Output *int64 `json:"output_tokens"`
}

// sent is what an OpenAI-compatible request asked for.
type sent struct {
	Model               string `json:"model"`
	MaxTokens           *int64 `json:"max_tokens"`
	MaxCompletionTokens *int64 `json:"max_completion_tokens"`
	IgnoreEOS           bool   `json:"ignore_eos"`
}

func (s *sent) output() *int64 {
	if s.MaxTokens != nil {
		return s.MaxTokens
	}
	return s.MaxCompletionTokens
}

func (g guideLLM) Read(s *Source, o Options) (*Found, error) {
	f := s.named("benchmarks.json")
	if f == nil {
		return nil, fmt.Errorf("importing %s: it is a folder without benchmarks.json", s.path)
	}
	var report guideReport
	if err := f.decode(f.Text, &report, false); err != nil {
		return nil, err
	}
	if len(report.Benchmarks) == 0 {
		return nil, f.fault("benchmarks", "it is empty")
	}
	found := &Found{Tool: "GuideLLM", Version: report.Metadata.Version, Notes: []string{
		"Where the service reports no usage GuideLLM may take the tokens asked for as those received; which of them it took is not said.",
	}}
	trial := Trial{Name: g.Name(), Workload: report.workload()}
	for i := range report.Benchmarks {
		b := &report.Benchmarks[i]
		where := fmt.Sprintf("benchmarks[%d]", i)
		load, err := b.load(f, where, o)
		if err != nil {
			return nil, err
		}
		m := measurement{load: load, clockID: f.clockID(), wall: true}
		var ignoreEOS bool
		if m.records, ignoreEOS, err = b.records(f, where); err != nil {
			return nil, err
		}
		if missing := b.Scheduler.Created - int64(len(m.records)); missing > 0 {
			found.Notes = append(found.Notes, fmt.Sprintf("%d of %d requests that %s made stand in none of its lists.", missing, b.Scheduler.Created, where))
		}
		point := m.summarized()
		point.Row.IgnoreEOS = ignoreEOS
		trial.Model = b.Config.Backend.Model
		trial.Points = append(trial.Points, point)
	}
	found.Trials = []Trial{trial}
	return found, nil
}

// workload is random where every prompt is synthetic and of one length.
func (r *guideReport) workload() string {
	data := r.Config.Spec.Data
	if len(data) != 1 {
		return `{"guidellm":{}}`
	}
	var kind string
	var prompt, output, turns int64
	for name, to := range map[string]any{"kind": &kind, "prompt_tokens": &prompt, "output_tokens": &output, "turns": &turns} {
		if json.Unmarshal(data[0][name], to) != nil {
			return compact(map[string]any{"guidellm": data[0]})
		}
	}
	for name, value := range data[0] {
		varied := name == "prefix_buckets" || len(name) > 6 && name[len(name)-6:] == "_stdev"
		if varied && string(value) != "null" && string(value) != "0" {
			return compact(map[string]any{"guidellm": data[0]})
		}
	}
	if kind != "synthetic_text" || turns != 1 {
		return compact(map[string]any{"guidellm": data[0]})
	}
	return randomWorkload(prompt, output, 0)
}

func (b *guideBenchmark) load(f *File, where string, o Options) (schema.PointLoad, error) {
	s := b.Config.Strategy
	switch {
	case s.Type == "synchronous":
		return concurrency(1), nil
	case s.Type == "concurrent" && s.Streams != nil && *s.Streams > 0:
		return concurrency(*s.Streams), nil
	case s.Rate != nil && *s.Rate > 0:
		return schema.PointLoad{RequestRate: s.Rate}, nil
	}
	return o.asked(f, fmt.Sprintf("%s: strategy %q keeps up no load that could be named", where, s.Type))
}

func (b *guideBenchmark) records(f *File, where string) ([]measure.Record, bool, error) {
	var records []measure.Record
	ignoreEOS := true
	for _, list := range []struct {
		name     string
		status   measure.Status
		requests []guideRequest
	}{{"successful", measure.OK, b.Requests.Successful}, {"errored", measure.StreamError, b.Requests.Errored}, {"incomplete", measure.Truncated, b.Requests.Incomplete}} {
		for i := range list.requests {
			r := &list.requests[i]
			if r.Info.Timings.Start == nil {
				if list.status == measure.Truncated {
					continue // it waited and was never sent
				}
				return nil, false, f.fault(fmt.Sprintf("%s.requests.%s[%d]", where, list.name, i), "it has no info.timings.request_start")
			}
			var asked sent
			_ = json.Unmarshal([]byte(bodyOf(r.Args)), &asked) // what was sent is not kept by every setting
			rec := r.record(list.status, b.Config.Strategy.Rate != nil)
			rec.Session, rec.RequestedOutputTokens = int64(len(records)), asked.output()
			ignoreEOS = ignoreEOS && asked.IgnoreEOS
			if begin := *r.Info.Timings.Start; b.Warmup > 0 && begin < b.Metrics.MeasureStart {
				rec.Phase = measure.Warmup
			} else if b.Cooldown > 0 && begin > b.Metrics.MeasureEnd {
				rec.Phase = measure.Hold
			}
			records = append(records, rec)
		}
	}
	if len(records) == 0 {
		return nil, false, f.fault(where+".requests", "it has none: sample_size may have left them out")
	}
	return records, ignoreEOS, nil
}

// bodyOf is the body in the arguments of a request.
func bodyOf(args string) string {
	var whole struct {
		Body json.RawMessage `json:"body"`
	}
	if json.Unmarshal([]byte(args), &whole) != nil {
		return ""
	}
	return string(whole.Body)
}

func (r *guideRequest) record(status measure.Status, paced bool) measure.Record {
	t := r.Info.Timings
	rec := measure.Record{Turn: r.Info.Turn, Phase: measure.Measured, Status: status, Dispatched: at(*t.Start), Ended: at(*t.Start)}
	if paced && t.Target != nil {
		rec.Scheduled = at(*t.Target)
	}
	if t.End != nil {
		rec.Ended = at(*t.End)
	}
	if status != measure.OK {
		text := "it was in flight when GuideLLM ended the benchmark"
		if r.Info.Error != nil {
			text = *r.Info.Error
		}
		if status == measure.StreamError {
			rec.Status = failure(text, 0)
		}
		rec.Error = messageOf(text)
		return rec
	}
	if t.FirstEvent != nil {
		rec.FirstEvent = at(*t.FirstEvent)
	}
	if t.First != nil && t.Last != nil {
		rec.FirstToken, rec.LastToken = at(*t.First), at(*t.Last)
	}
	if t.Visible != nil {
		rec.FirstOutput = at(*t.Visible)
	}
	source := measure.FromTool
	rec.PromptTokens, rec.CachedPromptTokens, rec.OutputTokens, rec.TokenSource = r.Prompt, r.Cached, r.Output, &source
	return rec
}
