package measure

import (
	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// PointStatus is how the measurement of a point ended.
type PointStatus string

// The statuses of a point.
const (
	PointCompleted   PointStatus = "completed"
	PointFailed      PointStatus = "failed"      // no request was ok, or the point was aborted
	PointInterrupted PointStatus = "interrupted" // the person stopped the run
)

// Dist describes the values that ok requests gave: sample standard deviation (ddof 1), percentiles by linear interpolation between order
// statistics at (n-1)q. A figure that n is too small for is nil; see [schema.MinSamples].
type Dist struct {
	N    int64    `json:"n" doc:"number of values"`
	Mean *float64 `json:"mean" unit:"prefixed" doc:"mean"`
	Std  *float64 `json:"std" unit:"prefixed" doc:"sample standard deviation"`
	Min  *float64 `json:"min" unit:"prefixed" doc:"least"`
	Max  *float64 `json:"max" unit:"prefixed" doc:"greatest"`
	P50  *float64 `json:"p50" unit:"prefixed" doc:"median"`
	P90  *float64 `json:"p90" unit:"prefixed" doc:"90th percentile"`
	P95  *float64 `json:"p95" unit:"prefixed" doc:"95th percentile"`
	P99  *float64 `json:"p99" unit:"prefixed" doc:"99th percentile"`
}

// AllDist describes the same values with each failure counted as +Inf, so that overload can't hide behind survivors. What limits are held
// against. A figure is nil where the values and the failures together are too few for it. The ends of an interval are order statistics; see [Ranks].
type AllDist struct {
	Mean *float64 `json:"mean" unit:"prefixed" doc:"mean, failures counted as infinite,"`
	Max  *float64 `json:"max" unit:"prefixed" doc:"greatest, failures counted as infinite,"`
	P50  *float64 `json:"p50" unit:"prefixed" doc:"median, failures counted as infinite,"`
	P90  *float64 `json:"p90" unit:"prefixed" doc:"90th percentile, failures counted as infinite,"`
	P95  *float64 `json:"p95" unit:"prefixed" doc:"95th percentile, failures counted as infinite,"`
	P99  *float64 `json:"p99" unit:"prefixed" doc:"99th percentile, failures counted as infinite,"`

	P50Lower *float64 `json:"p50_lower" unit:"prefixed" doc:"lower end of the 95 % interval of the median"`
	P50Upper *float64 `json:"p50_upper" unit:"prefixed" doc:"upper end of the 95 % interval of the median"`
	P90Lower *float64 `json:"p90_lower" unit:"prefixed" doc:"lower end of the 95 % interval of the 90th percentile"`
	P90Upper *float64 `json:"p90_upper" unit:"prefixed" doc:"upper end of the 95 % interval of the 90th percentile"`
	P95Lower *float64 `json:"p95_lower" unit:"prefixed" doc:"lower end of the 95 % interval of the 95th percentile"`
	P95Upper *float64 `json:"p95_upper" unit:"prefixed" doc:"upper end of the 95 % interval of the 95th percentile"`
	P99Lower *float64 `json:"p99_lower" unit:"prefixed" doc:"lower end of the 95 % interval of the 99th percentile"`
	P99Upper *float64 `json:"p99_upper" unit:"prefixed" doc:"upper end of the 95 % interval of the 99th percentile"`
}

// Counts says what became of the requests of the measured phase. Conservation: Issued is the sum of all others.
type Counts struct {
	Issued       int64 `json:"requests_issued" doc:"requests dispatched in the measured phase"`
	OK           int64 `json:"requests_ok" doc:"of them, ended well with at least one token"`
	HTTPError    int64 `json:"requests_http_error" doc:"of them, answered with an HTTP status other than 200"`
	ConnectError int64 `json:"requests_connect_error" doc:"of them, without a connection or a response"`
	StreamError  int64 `json:"requests_stream_error" doc:"of them, with an error in the stream"`
	Truncated    int64 `json:"requests_truncated" doc:"of them, cut off before the end"`
	Empty        int64 `json:"requests_empty" doc:"of them, ended well without a token"`
	Timeout      int64 `json:"requests_timeout" doc:"of them, over the time-out"`
	Cancelled    int64 `json:"requests_cancelled" doc:"of them, cancelled because the preset says so"`
}

// Failed is the number of failures: all but ok and cancelled.
func (c Counts) Failed() int64 { return c.Issued - c.OK - c.Cancelled }

// Of points to the count of a status, and is nil for one that is none of [Statuses].
func (c *Counts) Of(s Status) *int64 {
	switch s {
	case OK:
		return &c.OK
	case HTTPError:
		return &c.HTTPError
	case ConnectError:
		return &c.ConnectError
	case StreamError:
		return &c.StreamError
	case Truncated:
		return &c.Truncated
	case Empty:
		return &c.Empty
	case Timeout:
		return &c.Timeout
	case Cancelled:
		return &c.Cancelled
	}
	return nil
}

// Conserved reports whether every request has been counted under exactly one status.
func (c Counts) Conserved() bool {
	return c.Issued == c.OK+c.HTTPError+c.ConnectError+c.StreamError+c.Truncated+c.Empty+c.Timeout+c.Cancelled
}

// InFlight is how much was in flight at once, as a time-weighted mean and a peak.
type InFlight struct {
	MeanSessions *float64 `json:"mean_sessions_in_flight" doc:"time-weighted mean of live sessions over the whole window"`
	PeakSessions *int64   `json:"peak_sessions_in_flight" doc:"most live sessions at once in the whole window"`
	MeanRequests *float64 `json:"mean_requests_in_flight" doc:"time-weighted mean of requests in flight over the whole window"`
	PeakRequests *int64   `json:"peak_requests_in_flight" doc:"most requests in flight at once in the whole window"`
	MeanPrefills *float64 `json:"mean_prefills_in_flight" doc:"time-weighted mean of requests before their first token over the whole window"`
	PeakPrefills *int64   `json:"peak_prefills_in_flight" doc:"most requests before their first token at once in the whole window"`

	SteadyMeanSessions *float64 `json:"steady_mean_sessions_in_flight" doc:"time-weighted mean of live sessions over the steady window"`
	SteadyMeanRequests *float64 `json:"steady_mean_requests_in_flight" doc:"time-weighted mean of requests in flight over the steady window"`
	SteadyMeanPrefills *float64 `json:"steady_mean_prefills_in_flight" doc:"time-weighted mean of requests before their first token over the steady window"`
}

// Health is how well the client itself kept up during the measured phase.
type Health struct {
	LagP50      *float64 `json:"client_lag_p50_s" unit:"s" doc:"median lag of a timer of the client's: how late a goroutine was run"`
	LagP99      *float64 `json:"client_lag_p99_s" unit:"s" doc:"99th percentile of that lag"`
	LagMax      *float64 `json:"client_lag_max_s" unit:"s" doc:"greatest lag"`
	GCPauseMax  *float64 `json:"client_gc_pause_max_s" unit:"s" doc:"longest pause of the garbage collector"`
	GCPauseSum  *float64 `json:"client_gc_pause_total_s" unit:"s" doc:"all pauses of the garbage collector"`
	CPUShare    *float64 `json:"client_cpu_share" doc:"CPU time of the client over the time that its processors had, 0 to 1"`
	WriterLag   *float64 `json:"client_writer_lag_max_s" unit:"s" doc:"longest time from a request's end to its being handed to the results writer's file"`
	Connections *int64   `json:"client_new_connections" count:"yes" doc:"connections that measured requests opened"`
}

// Point is a row of the points table: one measurement (repeat) of one point.
type Point struct {
	Keys
	schema.PointLoad

	Status    PointStatus   `json:"status" doc:"completed, failed or interrupted"`
	Reason    *string       `json:"reason" doc:"why it failed or was interrupted; null where it completed"`
	Workload  string        `json:"workload" doc:"the workload's key in the preset"`
	Model     string        `json:"model" doc:"the model asked for"`
	Started   clock.Instant `json:"started_ns" doc:"the point began, warmup included"`
	Finished  clock.Instant `json:"finished_ns" doc:"the last request had ended"`
	StartedAt string        `json:"started_at" doc:"the UTC time of started, RFC 3339"`
	ClockID   string        `json:"clock_id" doc:"names the clock: instants of rows with the same clock_id can be compared"`
	Source    *string       `json:"source" doc:"the tool that measured the point, and its version, where its results were imported; null where sweetspot measured"`
	RTT       *float64      `json:"rtt_s" unit:"s" doc:"time of a round trip to the service, before the trial's first point: the least of a few TCP connects, so that of what lies behind a proxy, such as a port-forward, nothing is in it; no figure is adjusted by it"`
	HTTPRTT   *float64      `json:"http_rtt_s" unit:"s" doc:"time of a round trip through whatever ends TCP on the way, such as a port-forward: the least of a few GETs of /models on a connection that was used before, before the point's first request and after its last; null where the service does not answer them; no figure is adjusted by it"`

	Counts
	Planned *int64 `json:"requests_planned" count:"yes" doc:"requests that the measured phase was to dispatch; null where a duration alone bounds it"`
	ByURL
	WarmupIssued        int64    `json:"warmup_requests_issued" doc:"requests dispatched in warmup"`
	WarmupFailed        int64    `json:"warmup_requests_failed" doc:"of them, failed"`
	AgenticWarmupIssued *int64   `json:"agentic_warmup_requests_issued" count:"yes" doc:"requests dispatched in the cache-warmup burst of agentic replay; null where there was none"`
	Late                int64    `json:"requests_late" doc:"measured requests of an open loop that waited for a slot, or behind one that did; 0 in a closed loop"`
	Dropped             int64    `json:"requests_dropped" doc:"arrivals of an open loop that were due in the measured phase and not dispatched in it; 0 in a closed loop"`
	KeptOpen            *int64   `json:"responses_kept_open" count:"yes" doc:"responses of all phases that had not ended 5 ms after [DONE]: until then their slots stay taken, and their connections are not used again; null in imported results"`
	SuccessRate         *float64 `json:"success_rate" doc:"ok over issued"`
	ErrorRate           *float64 `json:"error_rate" doc:"failures over issued less cancelled"`
	ErrorExample        *string  `json:"error_example" doc:"the commonest class of failure and one message of it"`
	RequestedOK         *int64   `json:"requested_output_tokens" count:"yes" doc:"output tokens that the ok requests asked for"`
	PromptTokens        *int64   `json:"prompt_tokens" count:"yes" doc:"prompt tokens of ok requests; null where one of them has no count"`
	CachedTokens        *int64   `json:"cached_prompt_tokens" count:"yes" doc:"prompt tokens of ok requests served from the prefix cache; null where one of them does not say"`
	CacheHitRatio       *float64 `json:"cache_hit_ratio" doc:"cached_prompt_tokens over prompt_tokens"`
	SharedPrefix        *int64   `json:"shared_prefix_tokens" doc:"tokens at the beginning of each prompt that the workload lets a prefix cache have from other prompts; null where it can't be told, as of later turns"`
	OutputTokens        *int64   `json:"output_tokens" count:"yes" doc:"output tokens of ok requests; null where one of them has no count"`
	TokenSource         *string  `json:"token_source" doc:"who counted the tokens of the ok requests, as token_source of requests has it; null where they differ, or one has no count"`
	OutputRatio         *float64 `json:"output_length_ratio" doc:"output tokens of ok requests over those asked for"`
	PromptRatio         *float64 `json:"prompt_length_ratio" doc:"prompt tokens of ok requests over those asked for"`
	PromptOff           *float64 `json:"prompt_length_off_max" doc:"greatest difference of an ok request's prompt tokens from those asked for, as a share of these; null where one asked for no length or has no count"`
	TokensPerChunk      *float64 `json:"tokens_per_chunk" doc:"output tokens over events that carried one, of ok requests"`
	Degenerate          bool     `json:"degenerate_output" doc:"every ok request with 8 or more chunks repeated one text: the model may be broken"`

	Wall              *float64      `json:"wall_s" unit:"s" doc:"whole window: first measured dispatch to last measured end"`
	OutputTokPerS     *float64      `json:"output_tok_per_s" unit:"tok/s" doc:"output tokens of ok measured requests over wall_s"`
	TotalTokPerS      *float64      `json:"total_tok_per_s" unit:"tok/s" doc:"prompt and output tokens of ok measured requests over wall_s"`
	RequestsPerS      *float64      `json:"requests_per_s" unit:"1/s" doc:"ok measured requests over wall_s"`
	GoodputPerS       *float64      `json:"goodput_per_s" unit:"1/s" doc:"requests that met every declared limit one by one, over wall_s; null where no limit is declared"`
	SteadyStart       clock.Instant `json:"steady_start_ns" doc:"steady window: the target was first in flight"`
	SteadyEnd         clock.Instant `json:"steady_end_ns" doc:"steady window: last measured dispatch"`
	SteadyOutputTokPS *float64      `json:"steady_output_tok_per_s" unit:"tok/s" doc:"output tokens credited evenly over content events in the steady window, warmup's included"`
	SteadyReason      *string       `json:"steady_reason" doc:"why there is no steady figure"`
	OutputTokPerSUser *float64      `json:"output_tok_per_s_user" unit:"tok/s" doc:"1 over mean tpot: what one user sees"`
	Hardware
	TargetInFlight *int64   `json:"target_in_flight" doc:"requests that should be in flight; null where another dimension binds"`
	TargetSessions *int64   `json:"target_sessions_in_flight" doc:"sessions that should be live; null where they are not bounded"`
	ScheduledRate  *float64 `json:"scheduled_request_rate" unit:"1/s" doc:"measured requests that the arrivals drawn for request_rate, or the times of the trace at replay_speed, wanted per second; null in a closed loop"`
	AchievedRate   *float64 `json:"achieved_request_rate" unit:"1/s" doc:"measured requests dispatched per second between the first and the last of them"`
	InFlight

	TTFT          Dist `prefix:"ttft" unit:"s" doc:"time to first token"`
	TTFTScheduled Dist `prefix:"ttft_scheduled" unit:"s" doc:"time to first token counted from scheduled_ns, the wait for a slot included,"`
	TTFOT         Dist `prefix:"ttfot" unit:"s" doc:"time to first output that is not reasoning"`
	TotalTime     Dist `prefix:"total_time" unit:"s" doc:"total time"`
	TPOT          Dist `prefix:"tpot" unit:"s" doc:"time per output token"`
	QueueDelay    Dist `prefix:"queue_delay" unit:"s" doc:"delay from the client's own caps"`
	ICL           Dist `prefix:"icl" unit:"s" doc:"gaps between chunks, those of all requests pooled"`
	ICLMean       Dist `prefix:"icl_mean" unit:"s" doc:"each request's mean gap between chunks"`

	TTFTDrift     *float64 `json:"ttft_drift" doc:"median time to first token of the last third of ok requests over that of the first third; null below 30 of them"`
	TTFTAfterWave *float64 `json:"ttft_after_first_wave_p95_s" unit:"s" doc:"95th percentile of time to first token without the first requests, as many as should be in flight"`

	TTFTAll      AllDist `prefix:"ttft_all" unit:"s" doc:"time to first token"`
	TPOTAll      AllDist `prefix:"tpot_all" unit:"s" doc:"time per output token"`
	TotalTimeAll AllDist `prefix:"total_time_all" unit:"s" doc:"total time"`

	ContextLength       *int64  `json:"context_length" doc:"context length that the probe filled, or that the service reports"`
	ContextLengthSource *string `json:"context_length_source" doc:"probe; reported, by the service; or imported, from a file that does not say how it was found"`
	ContextReason       *string `json:"context_length_reason" doc:"why the probe did not fill the context"`

	Server

	Telemetry

	Health
	ClientLimited bool `json:"client_limited" doc:"client_lag_p99_s is above 5 ms: the client may have slowed what it measured"`

	Cache     string `json:"cache" doc:"isolated: no prompt shares a prefix with another; shared: prompts as they are"`
	IgnoreEOS bool   `json:"ignore_eos" doc:"the service was asked to go on until the wanted output length"`
}

// Hardware is what the preset declares below the service, or the machine says for certain, and what follows from it. All of it is null where neither
// does: the number of GPUs is never guessed.
type Hardware struct {
	GPUName          *string  `json:"gpu_name" doc:"kind of GPU below the service, as the preset declares it or nvidia-smi names it"`
	GPUs             *int64   `json:"gpus" doc:"GPUs below the service, as the preset declares them or, where it declares none, the machine says for certain (the manifest then says so)"`
	OutputTokPerSGPU *float64 `json:"output_tok_per_s_gpu" unit:"tok/s" doc:"output_tok_per_s over gpus"`
	CostPerMillion   *float64 `json:"cost_per_million_output_tokens" doc:"what a million output tokens cost at this throughput, in the currency of price_per_gpu_hour; null where no price is declared"`
}

// HardwareOf derives what can be said per GPU of a throughput in tokens a second, which is nil where it is not known. gpus is nil where none are
// known.
func HardwareOf(gpus *schema.GPUs, outputTokPerS *float64) Hardware {
	if gpus == nil {
		return Hardware{}
	}
	h := Hardware{GPUName: &gpus.Name, GPUs: &gpus.Count, OutputTokPerSGPU: over(outputTokPerS, asFloat(&gpus.Count))}
	if gpus.PricePerGPUHour != nil {
		const secondsAnHour, million = 3600, 1e6
		perSecond := *gpus.PricePerGPUHour * float64(gpus.Count) / secondsAnHour * million
		h.CostPerMillion = over(&perSecond, outputTokPerS)
	}
	return h
}

// OutputByTokenizer reports whether a tokenizer on the client's machine counted the output tokens.
func (p *Point) OutputByTokenizer() bool {
	return p.TokenSource != nil && (*p.TokenSource == string(FromTokenizer) || *p.TokenSource == string(FromServerAndTokenizer))
}

// Asked is what a point should have kept up, and what it did, in the dimension that binds.
type Asked struct {
	Dimension string   // "requests" or "sessions", in flight, or "rate"
	Target    *float64 // as many at once, or as many per second; nil where the rate is not known
	Achieved  *float64 // mean in the steady window, or the achieved rate; nil where it is not known
}

// Asked gives the dimension that binds: requests in flight where they have a target, else sessions in flight, else the request rate. It is false
// where none has a target.
//
// The rate is held against that of the arrivals as they were drawn. A hundred random arrivals at 10 a second often come at 9 or 11: the client
// that kept to them did what it should.
func (p *Point) Asked() (Asked, bool) {
	switch {
	case p.TargetInFlight != nil:
		return Asked{"requests", asFloat(p.TargetInFlight), p.SteadyMeanRequests}, true
	case p.TargetSessions != nil:
		return Asked{"sessions", asFloat(p.TargetSessions), p.SteadyMeanSessions}, true
	case p.Open():
		return Asked{"rate", p.ScheduledRate, p.AchievedRate}, true
	}
	return Asked{}, false
}
