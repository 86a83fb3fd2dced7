package schema

import (
	"bytes"
	"cmp"
	"strconv"
	"time"
)

// Preset is a validated preset: defaults are filled in, trials are expanded, and every trial and point has been checked.
type Preset struct {
	Name     string   `json:"name"`
	Trials   []Trial  `json:"trials"` // at least one, in the order of the file
	Load     Load     `json:"load"`
	Limits   Limits   `json:"limits"`
	Select   Select   `json:"select"`
	Previous []string `json:"previous,omitempty"` // earlier runs whose trials are ranked with this one's; named as a person does
	Verify   bool     `json:"verify,omitempty"`   // the winner is measured once more, on a service started afresh
}

// Trial is one configuration of everything but the load.
type Trial struct {
	Name string `json:"trial_name"` // "baseline", "baseline/max-num-seqs=64"; "default" where the preset names none
	Axes []Axis `json:"axes,omitempty"`
	Spec Spec   `json:"spec"`
	// Extent is what the file of the workload holds; zero where it has none, or nobody has looked at it.
	Extent Extent `json:"-"`
}

// Axis is one value of the matrix: the path it was set at, as written, and the value as compact JSON.
type Axis struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Spec is what a trial drives and asks: everything that, with a [PointLoad], lets a point be run.
type Spec struct {
	Model    string   `json:"model"`
	Service  Service  `json:"service"`
	Workload Workload `json:"workload"`
	Request  Request  `json:"request"`
}

// Content is s without the paths of its files whose digests are known: the same content is the same work, wherever it lies.
func (s Spec) Content() Spec {
	s.Workload = s.Workload.Content()
	if s.Request.TokenizerSHA256 != "" {
		s.Request.Tokenizer = ""
	}
	return s
}

// Service is what is driven; exactly one field is set.
type Service struct {
	Endpoint  *Endpoint  `json:"endpoint,omitempty"`
	Process   *Process   `json:"process,omitempty"`
	Simulator *Simulator `json:"simulator,omitempty"`
}

// GPUs are those that the service is declared to run on, nil where the preset does not say.
func (s Service) GPUs() *GPUs {
	switch {
	case s.Endpoint != nil:
		return s.Endpoint.GPUs
	case s.Process != nil:
		return s.Process.GPUs
	case s.Simulator != nil:
		return s.Simulator.GPUs
	}
	return nil
}

// Endpoint is a service that is already running.
type Endpoint struct {
	URL       string   `json:"url"`                   // base of the OpenAI-compatible API, such as http://127.0.0.1:8000/v1
	Replicas  []string `json:"replicas,omitempty"`    // further ones of the same service; nil: none
	APIKeyEnv string   `json:"api_key_env,omitempty"` // name of the environment variable that holds the bearer token
	VerifyTLS bool     `json:"verify_tls"`
	Hardware
	GPUMetrics *GPUMetrics `json:"gpu_metrics,omitempty"`
}

// Simulator configures the simulated service. Its fields are named as vLLM names them; those left nil are the profile's.
type Simulator struct {
	Profile              string  `json:"profile"`
	Seed                 int64   `json:"seed"`
	MaxNumSeqs           *int64  `json:"max_num_seqs,omitempty"`
	MaxNumBatchedTokens  *int64  `json:"max_num_batched_tokens,omitempty"`
	MaxModelLen          *int64  `json:"max_model_len,omitempty"`
	BlockSize            *int64  `json:"block_size,omitempty"`
	NumGPUBlocks         *int64  `json:"num_gpu_blocks,omitempty"`
	EnablePrefixCaching  *bool   `json:"enable_prefix_caching,omitempty"`
	EnableChunkedPrefill *bool   `json:"enable_chunked_prefill,omitempty"`
	StreamInterval       *int64  `json:"stream_interval,omitempty"`  // tokens in one chunk
	ReasoningTokens      *int64  `json:"reasoning_tokens,omitempty"` // tokens of reasoning before the visible output
	ToolCallTokens       *int64  `json:"tool_call_tokens,omitempty"` // tokens sent as a tool call after the visible output
	Faults               []Fault `json:"faults,omitempty"`
	Hardware
}

// Hardware is what any kind of service may say of the machine below it.
type Hardware struct {
	GPUs *GPUs `json:"gpus,omitempty"`
}

// GPUMetrics says where the GPUs below a service are watched.
type GPUMetrics struct {
	URL       string  `json:"url,omitempty"`        // of a DCGM exporter; empty: nvidia-smi on this machine
	NvidiaSMI *bool   `json:"nvidia_smi,omitempty"` // nil: where the service is known to be on this machine
	Devices   []int64 `json:"devices,omitempty"`    // numbers of GPUs; nil: all
}

// GPUs are what a service runs on, as the preset declares them. They are never guessed.
type GPUs struct {
	Name            string   `json:"name"`                         // such as "H200"
	Count           int64    `json:"count"`                        // of all replicas together; at least 1
	PricePerGPUHour *float64 `json:"price_per_gpu_hour,omitempty"` // of one of them, in any currency; above 0
}

// Fault is something the simulated service does wrong on purpose, to the completion requests it names.
type Fault struct {
	Kind        string   `json:"kind"`                   // see #Fault in simulator.cue
	FromRequest int64    `json:"from_request"`           // first request, counted from 1
	ToRequest   int64    `json:"to_request,omitempty"`   // last request; 0: all that follow
	Probability float64  `json:"probability"`            // 0 to 1, of each request
	InFlight    int64    `json:"in_flight,omitempty"`    // only while at least this many requests are in flight; 0: always
	Status      int64    `json:"status,omitempty"`       // kind http_error
	Delay       Duration `json:"delay,omitempty"`        // kinds slow_headers and stall
	AfterTokens int64    `json:"after_tokens,omitempty"` // kinds stall, stream_error, cut and garbage: tokens sent before it
}

// Workload is what is asked; exactly one field is set.
type Workload struct {
	Fixed    *Fixed    `json:"fixed,omitempty"`
	Random   *Random   `json:"random,omitempty"`
	Prompts  *Prompts  `json:"prompts,omitempty"`
	ShareGPT *ShareGPT `json:"sharegpt,omitempty"`
	Sessions *Sessions `json:"sessions,omitempty"`
	Tree     *Tree     `json:"tree,omitempty"`
	DAG      *DAG      `json:"dag,omitempty"`
	Trace    *Trace    `json:"trace,omitempty"`
	Weka     *Weka     `json:"weka,omitempty"`
}

// Fixed asks for the same creative-writing text every time, cut to length.
type Fixed struct {
	PromptTokens int64 `json:"prompt_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Random asks with different words every time.
type Random struct {
	PromptTokens       Distribution `json:"prompt_tokens,omitzero"` // not set beside pairs, nor is the next
	OutputTokens       Distribution `json:"output_tokens,omitzero"`
	RangeRatio         float64      `json:"range_ratio,omitempty"` // by which both vary, evenly; 0: not
	Pairs              []Pair       `json:"pairs,omitempty"`
	SharedPrefixTokens int64        `json:"shared_prefix_tokens,omitempty"` // of each prompt's, at its beginning
}

// Pair is lengths that go together, and how often they come, against the weights of the others.
type Pair struct {
	PromptTokens int64 `json:"prompt_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	Weight       int64 `json:"weight"`
}

// Load says how hard the service is driven. A nil sweep is a field that is not set.
type Load struct {
	Concurrency                     []int64   `json:"concurrency,omitempty"` // sorted, unique, positive: as are all sweeps
	RequestConcurrency              []int64   `json:"request_concurrency,omitempty"`
	WarmupRequestConcurrency        []int64   `json:"warmup_request_concurrency,omitempty"`
	AgenticWarmupRequestConcurrency []int64   `json:"agentic_warmup_request_concurrency,omitempty"`
	PrefillConcurrency              []int64   `json:"prefill_concurrency,omitempty"`
	RequestRate                     []float64 `json:"request_rate,omitempty"` // sessions per second, of an open loop
	Search                          *Search   `json:"search,omitempty"`       // in the place of a list of one of the caps
	ReplaySpeed                     []float64 `json:"replay_speed,omitempty"` // of a trace, against its own time: an open loop
	Course
	Requests        *int64    `json:"requests,omitempty"` // measured requests of a point
	RequestsPerSlot int64     `json:"requests_per_slot"`
	MinRequests     int64     `json:"min_requests"`
	Duration        *Duration `json:"duration,omitempty"`     // of the measured phase, in the place of a count
	MaxDuration     *Duration `json:"max_duration,omitempty"` // of the measured phase, beside a count
	WarmupRequests  *int64    `json:"warmup_requests,omitempty"`
	DrainTimeout    Duration  `json:"drain_timeout"`
	Repeats         int64     `json:"repeats"`
	Seed            int64     `json:"seed"`
	Zip             bool      `json:"zip"`
	Clip            bool      `json:"clip"`
	Oversubscribe   bool      `json:"oversubscribe"`
}

// Search looks for the best load between two bounds.
type Search struct {
	Over       string  `json:"over"`        // the cap that is searched: "concurrency" or "request_concurrency"
	From       int64   `json:"from"`        // at least 1
	To         int64   `json:"to"`          // above From
	Tolerance  float64 `json:"tolerance"`   // share of a load that may lie between it and the next one tried; above 0, at most 1
	MaxPoints  int64   `json:"max_points"`  // loads that are tried at most; at least 2
	MaxRepeats int64   `json:"max_repeats"` // measurements of one load at most; at least 1
}

// Course is how the load of a point comes and goes. It is the same at each point.
type Course struct {
	Arrivals   string    `json:"arrivals,omitempty"`   // of an open loop: "poisson", "constant" or "gamma"; empty in a closed one
	Burstiness *float64  `json:"burstiness,omitempty"` // of gamma
	RampUp     *Duration `json:"ramp_up,omitempty"`
	Cancel     *Cancel   `json:"cancel,omitempty"`
}

// Cancel is a share of requests that are cancelled, above 0 and at most 1, and when, since their dispatch.
type Cancel struct {
	Share float64  `json:"share"`
	After Duration `json:"after"`
}

// PointLoad is the load of one point: the caps in force. A nil cap is not set.
//
// The columns stand in every table, so their tags are the contract's names.
type PointLoad struct {
	Concurrency                          *int64   `json:"concurrency" doc:"cap on live session trees"`
	RequestConcurrency                   *int64   `json:"request_concurrency" doc:"cap on requests in flight, from dispatch to the end of the response"`
	WarmupRequestConcurrency             *int64   `json:"warmup_request_concurrency" doc:"the same cap during warmup; request_concurrency where null"`
	AgenticWarmupRequestConcurrency      *int64   `json:"agentic_warmup_request_concurrency" doc:"the same cap in the cache-warmup burst of agentic replay; warmup_request_concurrency where null"`
	PrefillConcurrency                   *int64   `json:"prefill_concurrency" doc:"cap on requests between dispatch and first token"`
	RequestRate                          *float64 `json:"request_rate" doc:"sessions per second asked for, requests where each is one; null in a closed loop" unit:"1/s"`
	ReplaySpeed                          *float64 `json:"replay_speed" doc:"how many times as fast as it was recorded a trace was replayed; null where it was not replayed by its times"`
	AskedRequestConcurrency              *int64   `json:"asked_request_concurrency" doc:"request_concurrency as the preset asked for it, before clip lowered it; null where it was not lowered"`
	AskedWarmupRequestConcurrency        *int64   `json:"asked_warmup_request_concurrency" doc:"warmup_request_concurrency as the preset asked for it, before clip lowered it; null where it was not lowered"`
	AskedAgenticWarmupRequestConcurrency *int64   `json:"asked_agentic_warmup_request_concurrency" doc:"agentic_warmup_request_concurrency as the preset asked for it, before clip lowered it; null where it was not lowered"`
	AskedPrefillConcurrency              *int64   `json:"asked_prefill_concurrency" doc:"prefill_concurrency as the preset asked for it, before clip lowered it; null where it was not lowered"`
}

// Slots is what a closed loop keeps in flight: the smaller of concurrency and request_concurrency. One of them is set in every closed loop; in an open
// one, which has a request_rate or a replay_speed, both are limits and may be missing: it is then 0.
// The prefill cap is not among them: a slot of it is free again at the first token, so it does not bound how many requests are in flight.
func (p PointLoad) Slots() int64 {
	return least(p.Concurrency, p.RequestConcurrency)
}

// WarmupCap is the cap on requests in flight during warmup; nil where there is none.
func (p PointLoad) WarmupCap() *int64 {
	return cmp.Or(p.WarmupRequestConcurrency, p.RequestConcurrency)
}

// AgenticWarmupCap is the same in the cache-warmup burst of agentic replay.
func (p PointLoad) AgenticWarmupCap() *int64 {
	return cmp.Or(p.AgenticWarmupRequestConcurrency, p.WarmupCap())
}

// Open reports whether sessions start at given instants, whatever has become of those before.
func (p PointLoad) Open() bool { return p.RequestRate != nil || p.ReplaySpeed != nil }

// Lanes is the number of lanes that a closed loop runs: concurrency, or where it is not set request_concurrency.
func (p PointLoad) Lanes() int64 {
	if p.Concurrency != nil {
		return *p.Concurrency
	}
	return least(p.RequestConcurrency)
}

func least(caps ...*int64) int64 {
	var smallest int64
	for _, c := range caps {
		if c != nil && (smallest == 0 || *c < smallest) {
			smallest = *c
		}
	}
	return smallest
}

// Limits say what counts as good. A nil limit is not set.
type Limits struct {
	MaxTTFT          *Duration `json:"max_ttft,omitempty"`
	TTFTStat         string    `json:"ttft_stat"` // "mean", "max", "p50", "p90", "p95" or "p99": as are all statistics
	MaxTPOT          *Duration `json:"max_tpot,omitempty"`
	TPOTStat         string    `json:"tpot_stat"`
	MaxTotalTime     *Duration `json:"max_total_time,omitempty"`
	TotalTimeStat    string    `json:"total_time_stat"`
	MinContextLength *int64    `json:"min_context_length,omitempty"`
	MaxErrorRate     float64   `json:"max_error_rate"` // 0 to 1
}

// Select says how the winner is chosen among feasible points and trials.
type Select struct {
	Maximize  string    `json:"maximize"` // "output_tok_per_s" or "steady_output_tok_per_s"
	Across    string    `json:"across"`   // "selected" or "complete"
	Tolerance Tolerance `json:"tolerance"`
}

// Tolerance is how far a point may fall short of what it was asked and still be eligible. All are ratios.
type Tolerance struct {
	InFlight     float64 `json:"in_flight"`     // least achieved over asked, of requests or sessions in flight
	OutputLength float64 `json:"output_length"` // least achieved over asked, of output tokens with ignore_eos
	Rate         float64 `json:"rate"`          // most deviation of the achieved request rate
	// Verify is the most deviation of the winner's throughput when it is measured again. It is 0, and not in JSON, where nothing is measured again.
	Verify float64 `json:"verify,omitempty"`

	PromptLength *float64 `json:"prompt_length,omitempty"` // most deviation of achieved prompt tokens; nil: the workload's own
}

// Duration is a length of time that reads and writes as text, such as "500ms".
type Duration time.Duration

// Seconds is d in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// String writes d as Go does, such as "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes d as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote, or a whole number of milliseconds, as limits may be written.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if _, err := strconv.ParseUint(s, 10, 32); err == nil {
		s += "ms"
	}
	parsed, err := time.ParseDuration(s)
	*d = Duration(parsed)
	return err
}

// UnmarshalJSON reads a JSON string or number as UnmarshalText does.
func (d *Duration) UnmarshalJSON(src []byte) error { return d.UnmarshalText(bytes.Trim(src, `"`)) }
