package target

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sweetspot/runner"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// asked is a request's body as the service got it.
type asked struct {
	MaxTokens int `json:"max_tokens"`
	Messages  []struct{ Role, Content string }
}

// prompt is the conversation, each message closed.
func (a asked) prompt() string {
	var text strings.Builder
	for _, m := range a.Messages {
		text.WriteString("<" + m.Role + ">" + m.Content + "</>")
	}
	return text.String()
}

// witness is a simulated service that remembers the bodies of completions and keeps its ground truth.
type witness struct {
	url    string
	mu     sync.Mutex
	bodies []asked // the request with the id "5" has bodies[5]
	truth  bytes.Buffer
	stop   func()
}

// seen is a request as the service saw it.
type seen struct {
	asked
	simulator.LogRequest
}

// requests are those from the one with an ordinal on, in the order in which they were read.
func (w *witness) requests(t *testing.T, from int64) []seen {
	t.Helper()
	w.stop()
	log, err := simulator.ReadLog(&w.truth)
	if err != nil {
		t.Fatal(err)
	}
	var all []seen
	for _, r := range log.Requests {
		at, err := strconv.Atoi(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.Ordinal > from {
			all = append(all, seen{w.bodies[at], r})
		}
	}
	slices.SortFunc(all, func(a, b seen) int { return int(a.Ordinal - b.Ordinal) })
	return all
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{}
	simulated, err := simulator.New(schema.Simulator{Profile: "large-gpu"}, simulator.Options{Model: "m", Clock: clock.New(), Log: &w.truth})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var a asked
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && json.Unmarshal(body, &a) == nil {
			w.mu.Lock()
			r.Header.Set("X-Request-Id", strconv.Itoa(len(w.bodies)))
			w.bodies = append(w.bodies, a)
			w.mu.Unlock()
		}
		simulated.Handler().ServeHTTP(out, r)
	}))
	w.url = server.URL + "/v1"
	w.stop = sync.OnceFunc(func() {
		server.Close()
		simulated.Close()
	})
	t.Cleanup(w.stop)
	return w
}

// over is when the service began the last write of its answer: whoever asked can't have seen the end before.
func (r seen) over() clock.Instant { return r.Events[len(r.Events)-1].At }

// By the service's own account: the burst asks for one token each, with no more in flight than its cap, and each lane then goes on with a prompt that
// begins with the one that the burst put into the prefix cache, and is served from there.
func TestAgenticReplayGoesOnFromAWarmCache(t *testing.T) {
	service := newWitness(t)
	config := configOf(t, service.url)
	config.Spec.Workload = schema.Workload{Tree: &schema.Tree{
		Turns: fixed(8), PromptTokens: fixed(90), OutputTokens: fixed(40), ThinkTime: fixed(5), ForkWidth: fixed(0),
		Agentic: schema.Agentic{Start: schema.Portion{From: 0.25, To: 0.75}, MaxIdleGap: schema.Duration(time.Second)},
	}}
	made, ready, err := Prepare(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	const lanes, burst = 6, 2
	load := schema.PointLoad{Concurrency: new(int64(lanes)), AgenticWarmupRequestConcurrency: new(int64(burst))}
	outcome, err := made.Measure(t.Context(), Job{Point: runner.Point{
		Load: load, Requests: 30, WarmupRequests: lanes, DrainTimeout: schema.Duration(time.Minute),
	}}, Watch{})
	if err != nil || outcome.Aborted != "" {
		t.Fatalf("measuring: %v, aborted %q", err, outcome.Aborted)
	}
	made.Close()
	all := service.requests(t, ready.Spent.Requests)
	if len(all) != 2*lanes+30 {
		t.Fatalf("the service saw %d requests, want %d", len(all), 2*lanes+30)
	}
	heldInTheBurst(t, all[:2*lanes], all[lanes:2*lanes], burst)
	if first := all[2*lanes].Read; slices.ContainsFunc(all[lanes:2*lanes], func(r seen) bool { return r.over() > first }) {
		t.Error("a request of the burst had not ended when the first measured one was read")
	}
	wentOn(t, all[lanes:2*lanes], all[2*lanes:])
	row := measure.Summarize(outcome, load, schema.Limits{})
	if row.AgenticWarmupIssued == nil || *row.AgenticWarmupIssued != lanes || row.Issued != 30 {
		t.Errorf("the row has %v in the burst and %d measured", row.AgenticWarmupIssued, row.Issued)
	}
}

// heldInTheBurst holds that each request of the burst was for one token, of a conversation that had begun, and that no more were in flight than the cap.
func heldInTheBurst(t *testing.T, until, burst []seen, cap int) {
	t.Helper()
	for _, r := range burst {
		if r.MaxTokens != 1 || r.OutputTokens != 1 || r.CachedTokens != 0 || len(r.Messages) < 3 {
			t.Errorf("the burst asked for %d tokens with %d messages and got %d, %d of %d prompt tokens cached",
				r.MaxTokens, len(r.Messages), r.OutputTokens, r.CachedTokens, r.PromptTokens)
		}
		inFlight := 0
		for _, other := range until {
			if other.Read <= r.Read && other.over() > r.Read {
				inFlight++
			}
		}
		if inFlight > cap {
			t.Errorf("%d requests were in flight in the burst, at a cap of %d", inFlight, cap)
		}
	}
}

// wentOn holds that behind each request of the burst comes one with an answer and a turn more, whose prompt begins with that of the burst and is
// cached so far.
func wentOn(t *testing.T, burst, measured []seen) {
	t.Helper()
	const block = 16 // tokens, of the prefix cache
	for _, warm := range burst {
		at := slices.IndexFunc(measured, func(r seen) bool { return strings.HasPrefix(r.prompt(), warm.prompt()) })
		if at < 0 {
			t.Errorf("nothing goes on from a prompt of %d messages", len(warm.Messages))
			continue
		}
		next := measured[at]
		if grown := next.PromptTokens - warm.PromptTokens; grown < 120 { // an answer of 40 tokens and a turn of 90
			t.Errorf("behind a prompt of %d tokens comes one of %d: the answer between is missing", warm.PromptTokens, next.PromptTokens)
		}
		if len(next.Messages) != len(warm.Messages)+2 || next.CachedTokens < warm.PromptTokens-2*block || next.CachedTokens > warm.PromptTokens+block {
			t.Errorf("behind %d messages of %d tokens come %d messages with %d of %d tokens cached", len(warm.Messages), warm.PromptTokens,
				len(next.Messages), next.CachedTokens, next.PromptTokens)
		}
	}
}

func fixed(n int64) schema.Distribution { return schema.Distribution{Constant: &n} }
