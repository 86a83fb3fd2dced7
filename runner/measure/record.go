package measure

import (
	"time"

	"sweetspot/runner/clock"
)

// Status is how a request ended. Every request that was dispatched has exactly one.
type Status string

// The statuses. Only requests that are OK enter latency and token statistics; all are counted and kept.
const (
	OK           Status = "ok"
	HTTPError    Status = "http_error"    // an HTTP status other than 200
	ConnectError Status = "connect_error" // no connection was had, or it broke before the response's header
	StreamError  Status = "stream_error"  // an error in the stream, or a token although usage says none
	Truncated    Status = "truncated"     // ended with neither [DONE] nor a finish reason, or cut at the drain deadline or by an interrupt
	Empty        Status = "empty"         // ended well without a token
	Timeout      Status = "timeout"       // the preset's time-out for a request ran out
	Cancelled    Status = "cancelled"     // cancelled because the preset says so
)

// Statuses lists every status: ok, then each class of failure, then cancelled.
func Statuses() []Status {
	return []Status{OK, HTTPError, ConnectError, StreamError, Truncated, Empty, Timeout, Cancelled}
}

// Failed reports whether s is a failure class: anything but ok and cancelled.
func (s Status) Failed() bool { return s != OK && s != Cancelled }

// Phase is the part of a point in which a request was dispatched.
type Phase string

// The phases. Only requests dispatched in Measured are measured.
const (
	Warmup        Phase = "warmup"
	AgenticWarmup Phase = "agentic_warmup" // the burst that fills the prefix cache before agentic replay
	Measured      Phase = "measured"
	Hold          Phase = "hold"  // keeps the load up while the context probe runs
	Probe         Phase = "probe" // the context probe itself
)

// TokenSource says where a request's token counts come from.
type TokenSource string

// The sources of token counts. Counts of a request without a source are null.
const (
	FromServer    TokenSource = "server"    // the usage of the response
	FromTokenizer TokenSource = "tokenizer" // a tokenizer on the client's machine, as other tools may use
	FromTool      TokenSource = "tool"      // another tool, which does not say how it counted
	// FromServerAndTokenizer is of a usage that counts the prompt alone: the output is counted by a tokenizer on the client's machine.
	FromServerAndTokenizer TokenSource = "server+tokenizer"
	// FromTokenizerAndServer is of a usage that counts the output alone: the prompt is counted by a tokenizer on the client's machine.
	FromTokenizerAndServer TokenSource = "tokenizer+server"
)

// Record is one request: what was asked, every instant, and how it ended. It has one shape for every outcome; what did not happen is zero
// (instants) or nil (counts) and is written as null.
//
// The runner fills in what is known before dispatch; the client fills in the rest and stamps the instants.
type Record struct {
	Index   int64 `json:"request_index" doc:"position in the order of dispatch within the point, from 0, over all phases"`
	Session int64 `json:"session_id" doc:"number of the session tree within the point, from 0"`
	Turn    int64 `json:"turn_index" doc:"position of the request within its session, from 0"`
	Lane    int64 `json:"lane" doc:"the lane that sent it, from 0"`
	Phase   Phase `json:"phase" doc:"warmup, agentic_warmup (fills the prefix cache before agentic replay), measured, hold (keeps the load up during the context probe) or probe"`

	URLIndex *int64 `json:"url_index" doc:"which address of the service it was sent to: 0 is url, those behind it are replicas in their order; null in imported results"`

	Scheduled  clock.Instant `json:"scheduled_ns" doc:"the load plan wanted the request to start"`
	Dispatched clock.Instant `json:"dispatched_ns" doc:"all slots held, just before the request was handed to the transport: the anchor of every latency"`
	Connected  clock.Instant `json:"connected_ns" doc:"a connection was had"`
	Wrote      clock.Instant `json:"wrote_ns" doc:"the request was written whole"`
	FirstByte  clock.Instant `json:"first_byte_ns" doc:"first byte of the response"`
	FirstEvent clock.Instant `json:"first_event_ns" doc:"first event of any kind"`
	FirstToken clock.Instant `json:"first_token_ns" doc:"first event with non-empty content, reasoning or a tool-call delta"`
	// FirstOutput skips reasoning and tool calls: content that a user sees.
	FirstOutput clock.Instant `json:"first_output_ns" doc:"first event with non-empty content that is not reasoning"`
	LastToken   clock.Instant `json:"last_token_ns" doc:"last event with content, reasoning or a tool-call delta"`
	Ended       clock.Instant `json:"ended_ns" doc:"the response terminated: [DONE], end of body, error, time-out or cancellation"`
	ConnReused  bool          `json:"conn_reused" doc:"the connection had been used before"`

	Status       Status  `json:"status" doc:"ok, http_error, connect_error, stream_error, truncated, empty, timeout or cancelled"`
	HTTPStatus   *int64  `json:"http_status" doc:"HTTP status of the response; null where there was none"`
	Error        *string `json:"error" doc:"why the request failed; null for ok"`
	FinishReason *string `json:"finish_reason" doc:"the service's reason for ending; null where it gave none"`

	RequestedPromptTokens *int64       `json:"requested_prompt_tokens" doc:"prompt tokens asked for"`
	RequestedOutputTokens *int64       `json:"requested_output_tokens" doc:"output tokens asked for"`
	PromptTokens          *int64       `json:"prompt_tokens" doc:"prompt tokens by token_source"`
	OutputTokens          *int64       `json:"output_tokens" doc:"output tokens by token_source, reasoning included"`
	ReasoningTokens       *int64       `json:"reasoning_tokens" doc:"output tokens that were reasoning"`
	CachedPromptTokens    *int64       `json:"cached_prompt_tokens" doc:"prompt tokens served from the prefix cache"`
	FirstEventTokens      *int64       `json:"first_event_tokens" doc:"tokens in the first event with a token, where the service says so"`
	TokenSource           *TokenSource `json:"token_source" doc:"server (usage of the response), tokenizer (one on the client: request.tokenizer, or an imported tool's), server+tokenizer (the usage counts the prompt alone, and request.tokenizer the output), tokenizer+server (the other way round), or in imported results tool (it does not say); null where counts are null"`

	// Chunks are the stamps of the events that carried a token, in order, in nanoseconds after Dispatched.
	Chunks []int64 `json:"chunk_offsets_ns" doc:"stamps of the events that carried a token, after dispatched"`
	// DistinctChunks counts a text by what it repeats: "!!!!" and "!!" are the same.
	DistinctChunks *int64  `json:"distinct_chunks" doc:"number of different texts among those events, counted up to 8: 1 means the output repeats one"`
	Sample         *string `json:"output_sample" doc:"the start of the output, kept for the first few requests of a phase"`
}

// Metrics are the figures of one request, derived from its record. A figure is nil where it is not defined.
type Metrics struct {
	TTFT       *float64 `json:"ttft_s" unit:"s" doc:"time to first token: first_token - dispatched"`
	TTFOT      *float64 `json:"ttfot_s" unit:"s" doc:"time to first output that is not reasoning: first_output - dispatched"`
	TotalTime  *float64 `json:"total_time_s" unit:"s" doc:"ended - dispatched"`
	TPOT       *float64 `json:"tpot_s" unit:"s" doc:"time per output token: (last_token - first_token) / (output_tokens - first_event_tokens); null where all tokens came in one read"`
	QueueDelay *float64 `json:"queue_delay_s" unit:"s" doc:"dispatched - scheduled: what the client's own caps added"`
	ICLMean    *float64 `json:"icl_mean_s" unit:"s" doc:"mean gap between successive events that carried a token (a chunk is not a token)"`
}

// MetricsOf derives the figures of r.
func MetricsOf(r *Record) Metrics {
	return Metrics{TTFT: ttft(r), TTFOT: ttfot(r), TotalTime: totalTime(r), TPOT: tpot(r), QueueDelay: queueDelay(r), ICLMean: iclMean(r)}
}

// Small enough to be inlined, so that a figure which is only looked at costs no allocation.
func ttft(r *Record) *float64          { return r.FirstToken.SecondsSince(r.Dispatched) }
func ttftScheduled(r *Record) *float64 { return r.FirstToken.SecondsSince(r.Scheduled) }
func ttfot(r *Record) *float64         { return r.FirstOutput.SecondsSince(r.Dispatched) }
func totalTime(r *Record) *float64     { return r.Ended.SecondsSince(r.Dispatched) }
func queueDelay(r *Record) *float64    { return r.Dispatched.SecondsSince(r.Scheduled) }

func tpot(r *Record) *float64 {
	seconds, known := perToken(r)
	if !known {
		return nil
	}
	return &seconds
}

// perToken spreads the time after the first token over the tokens that came after its event, which counts one token where its count is not known. Events
// of one read share a stamp: where all tokens came in one, no time was seen to pass.
func perToken(r *Record) (seconds float64, known bool) {
	span := r.LastToken.SecondsSince(r.FirstToken)
	if span == nil || *span <= 0 || r.OutputTokens == nil {
		return 0, false
	}
	first := int64(1)
	if r.FirstEventTokens != nil {
		first = *r.FirstEventTokens
	}
	after := *r.OutputTokens - first
	if after < 1 {
		return 0, false
	}
	return *span / float64(after), true
}

// iclMean telescopes: the mean of the gaps is the whole span over their number.
func iclMean(r *Record) *float64 {
	gaps := len(r.Chunks) - 1
	if gaps < 1 {
		return nil
	}
	mean := time.Duration(r.Chunks[gaps]-r.Chunks[0]).Seconds() / float64(gaps)
	return &mean
}

// Keys say which run, trial, point and repeat a row belongs to. They lead every table.
type Keys struct {
	RunID     string `json:"run_id" doc:"the run"`
	TrialID   string `json:"trial_id" doc:"hash of the trial's configuration"`
	TrialName string `json:"trial_name" doc:"the trial's name in the preset"`
	PointID   string `json:"point_id" doc:"hash of the trial and the point's load"`
	Repeat    int64  `json:"repeat" doc:"which measurement of the point, from 0; those that verify count on from the sweep's"`
	Attempt   int64  `json:"attempt" doc:"which try at this repeat, from 0: a resumed run tries again"`
	Stage     string `json:"stage" doc:"sweep, or verify: the winner's points, measured again"`
}

// RequestRow is a row of the requests table.
type RequestRow struct {
	Keys
	Record
	Metrics
}
