package bench

import (
	"fmt"
	"time"

	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// Load is a closed loop of streams. Each makes its requests one after the other, and the service answers each at a fixed rate.
type Load struct {
	Streams    int64         `json:"streams"`
	Requests   int64         `json:"requests"`       // of each stream, after the spread where there is one; 0 where Duration bounds them
	Duration   time.Duration `json:"duration"`       // for which requests are started, after the spread; 0 where Requests bounds them
	Tokens     int64         `json:"tokens"`         // of an answer; each is an event
	FirstToken time.Duration `json:"first_token_ns"` // from the request to its first token
	Interval   time.Duration `json:"interval_ns"`    // between tokens
	Spread     time.Duration `json:"spread_ns"`      // the streams start one after the other over so long; 0: all at once
}

// Cases are the loads of docs/performance.md.
func Cases() []Load {
	const first = 100 * time.Millisecond
	return []Load{
		{Streams: 64, Requests: 3, Tokens: 100, FirstToken: first, Interval: 50 * time.Millisecond},
		{Streams: 100, Requests: 3, Tokens: 400, FirstToken: first, Interval: 10 * time.Millisecond},
		{Streams: 500, Requests: 3, Tokens: 100, FirstToken: first, Interval: 50 * time.Millisecond},
		{Streams: 2000, Requests: 2, Tokens: 100, FirstToken: first, Interval: 50 * time.Millisecond},
		{Streams: 500, Requests: 2, Tokens: 20, FirstToken: first, Interval: 250 * time.Millisecond, Spread: 5 * time.Second},
		{Streams: 9000, Requests: 2, Tokens: 20, FirstToken: first, Interval: 250 * time.Millisecond, Spread: 5 * time.Second},
		{Streams: 9000, Requests: 2, Tokens: 100, FirstToken: first, Interval: 250 * time.Millisecond, Spread: 5 * time.Second},
		{Streams: 10_000, Requests: 1, Tokens: 20, FirstToken: first, Interval: 500 * time.Millisecond, Spread: 5 * time.Second},
		{Streams: 512, Requests: 3, Tokens: 100, FirstToken: first, Interval: 50 * time.Millisecond, Spread: 5 * time.Second},
		{Streams: 1000, Requests: 2, Tokens: 100, FirstToken: first, Interval: 50 * time.Millisecond, Spread: 5 * time.Second},
	}
}

// Name is like 500x20, streams and events per second of each, with "-spread" where the starts are spread out and "-long" where an answer takes more than ten
// seconds.
func (l Load) Name() string {
	name := fmt.Sprintf("%dx%d", l.Streams, time.Second/l.Interval)
	if l.Spread > 0 {
		name += "-spread"
	}
	if l.answer() > 10*time.Second {
		name += "-long"
	}
	return name
}

// answer is how long the service takes for one answer.
func (l Load) answer() time.Duration { return l.FirstToken + time.Duration(l.Tokens-1)*l.Interval }

// Possible is the output in tokens per second that the service gives at most: every stream always in flight.
func (l Load) Possible() float64 { return float64(l.Streams*l.Tokens) / l.answer().Seconds() }

func (l Load) paced() *simulator.Paced {
	return &simulator.Paced{FirstToken: l.FirstToken, Interval: l.Interval, Tokens: int(l.Tokens)}
}

const model = "bench"

// spec is what the streams ask for: short prompts, each different, made as in a run.
func (l Load) spec() schema.Spec {
	const promptTokens = 32
	return schema.Spec{
		Model:    model,
		Workload: schema.Workload{Random: schema.NewRandom(promptTokens, l.Tokens)},
		Request:  schema.Request{API: "chat", Cache: "isolated", MaxTokensField: "max_tokens"},
	}
}
