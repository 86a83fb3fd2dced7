package target

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sweetspot/runner"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// serve gives the URL of a simulated service behind a handler that may answer in its place.
func serve(t *testing.T, instead func(n int64, w http.ResponseWriter) bool) string {
	t.Helper()
	simulated, err := simulator.New(schema.Simulator{Profile: "large-gpu"}, simulator.Options{
		Model: "m", Clock: clock.New(), Paced: &simulator.Paced{FirstToken: time.Millisecond, Interval: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && instead != nil && instead(requests.Add(1), w) {
			return
		}
		simulated.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		simulated.Close()
	})
	return server.URL + "/v1"
}

// configOf is that of a trial of short random prompts.
func configOf(t *testing.T, url string) Config {
	t.Helper()
	preset, err := schema.Read("p.yaml", []byte("model: m\nservice: {endpoint: {url: \""+url+"\"}}\nworkload: {random: {prompt_tokens: 120, output_tokens: 4}}\n"), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Spec: preset.Trials[0].Spec, URLs: []string{url}, Streams: 4, RunID: "0123abcd", TrialName: "default", Clock: clock.New(),
		Redact: func(s string) string { return s },
	}
}

// measured is the outcome of so many requests, one after the other.
func measured(t *testing.T, config Config, requests int64) measure.Outcome {
	t.Helper()
	made, _, err := Prepare(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	outcome, err := made.Measure(t.Context(), Job{Point: runner.Point{
		Load: schema.PointLoad{Concurrency: new(int64(1))}, Requests: requests, DrainTimeout: schema.Duration(time.Minute),
	}}, Watch{})
	if err != nil || int64(len(outcome.Records)) != requests {
		t.Fatalf("measuring: %v, %d records", err, len(outcome.Records))
	}
	return outcome
}

func TestAPointIsMeasuredFromItsSpecification(t *testing.T) {
	made, ready, err := Prepare(t.Context(), configOf(t, serve(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if ready.Spent.Requests < 2 || ready.Spent.PromptTokens == 0 || ready.Spent.OutputTokens == 0 {
		t.Errorf("spent %+v before the first point, want requests of the preflight and of the calibration", ready.Spent)
	}
	if ready.Preflight.Addresses[0].RTT == nil {
		t.Error("the time of a round trip is not known")
	}
	var four int64 = 4
	outcome, err := made.Measure(t.Context(), Job{Point: runner.Point{
		Load: schema.PointLoad{Concurrency: &four}, Requests: 12, WarmupRequests: 4, DrainTimeout: schema.Duration(time.Minute),
	}}, Watch{})
	if err != nil || outcome.Aborted != "" {
		t.Fatalf("measuring: %v, aborted %q", err, outcome.Aborted)
	}
	if outcome.HTTPRTT == nil || *outcome.HTTPRTT <= 0 {
		t.Errorf("a round trip on a connection in use took %v", outcome.HTTPRTT)
	}
	measured := 0
	for _, r := range outcome.Records {
		if r.Status != measure.OK || *r.OutputTokens != 4 || *r.PromptTokens != 120 {
			t.Errorf("request %d: %s with %d prompt and %d output tokens, want ok with 120 and 4", r.Index, r.Status, *r.PromptTokens, *r.OutputTokens)
		}
		if r.Phase == measure.Measured {
			measured++
		}
	}
	if measured != 12 || len(outcome.Records) != 16 {
		t.Errorf("%d of %d requests were measured, want 12 of 16", measured, len(outcome.Records))
	}
}

// A gateway may report another context length than the service behind it has (guidellm#308): the check can be left out.
func TestACheckThatIsWrongCanBeLeftOut(t *testing.T) {
	config := configOf(t, serve(t, nil))
	most := int64(1 << 30)
	config.Context = &most
	const advice = `request.skip_checks: ["context"] leaves this check out`
	if _, _, err := Prepare(t.Context(), config); err == nil || !strings.Contains(err.Error(), advice) {
		t.Fatalf("error %v, want one with %s", err, advice)
	}
	config.Spec.Request.SkipChecks = []string{"context"}
	made, _, err := Prepare(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
}

// One answer that passes must not cost a trial (another tool's search ended at its first failed probe).
func TestAPassingFailureBeforeTheFirstPointIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, failing := range []int64{1, 3} { // the preflight's request, and one of the calibration's
		t.Run(fmt.Sprint("request ", failing), func(t *testing.T) {
			t.Parallel() // it waits between tries
			url := serve(t, func(n int64, w http.ResponseWriter) bool {
				if n == failing {
					http.Error(w, "loading", http.StatusServiceUnavailable)
				}
				return n == failing
			})
			made, _, err := Prepare(t.Context(), configOf(t, url))
			if err != nil {
				t.Fatalf("answered with 503 once: %v", err)
			}
			made.Close()
		})
	}
}

// A connection that breaks before the response, and an answer without a token, are as likely to pass.
func TestAnAnswerThatDoesNotComeIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, instead := range map[string]func(w http.ResponseWriter){
		"broken": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"empty": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":0}}`+"\n\ndata: [DONE]\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(n int64, w http.ResponseWriter) bool {
				if n == 1 {
					instead(w)
				}
				return n == 1
			})
			made, _, err := Prepare(t.Context(), configOf(t, url))
			if err != nil {
				t.Fatalf("once: %v", err)
			}
			made.Close()
		})
	}
}

// A stream that is cut before its usage, or that has none, is asked for again; a service that never says usage is refused as ever.
func TestAnAnswerWithoutUsageIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"cut":      `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n",
		"no usage": `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n",
	} {
		for _, bad := range []int64{1, 3, 0} { // the preflight's request, one of the calibration's, and all after the preflight's
			t.Run(fmt.Sprint(name, " ", bad), func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				url := serve(t, func(n int64, w http.ResponseWriter) bool {
					asked.Store(n)
					if n == bad || bad == 0 && n > 1 {
						w.Header().Set("Content-Type", "text/event-stream")
						io.WriteString(w, answer)
						return true
					}
					return false
				})
				made, _, err := Prepare(t.Context(), configOf(t, url))
				switch {
				case bad != 0 && err != nil:
					t.Errorf("once: %v", err)
				case bad == 0 && (err == nil || asked.Load() != 1+tries || name == "no usage" && !strings.Contains(err.Error(), "says no usage.prompt_tokens")):
					t.Errorf("always: %v after %d requests", err, asked.Load())
				}
				if err == nil {
					made.Close()
				}
			})
		}
	}
}

func TestALastingFailureIsSaidWithItsCause(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(n int64, w http.ResponseWriter) bool {
		asked.Store(n)
		http.Error(w, "no room", http.StatusInternalServerError)
		return true
	})
	_, _, err := Prepare(t.Context(), configOf(t, url))
	if err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v, want one that quotes the service", err)
	}
	if asked.Load() != tries {
		t.Errorf("the service was asked %d times, want %d", asked.Load(), tries)
	}
}

func TestHeaderReadsSecretsByName(t *testing.T) {
	spec := schema.Spec{
		Service: schema.Service{Endpoint: &schema.Endpoint{APIKeyEnv: "KEY"}},
		Request: schema.Request{Headers: map[string]schema.Header{"X-Team": {Value: "a"}, "X-Token": {Env: "TOKEN"}}},
	}
	header := Header(spec, func(name string) (string, bool) { return "value of " + name, true })
	for name, want := range map[string]string{"Authorization": "Bearer value of KEY", "X-Team": "a", "X-Token": "value of TOKEN"} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A response that its service does not end behind [DONE] keeps its slot for a while, which is seen of the point.
func TestResponsesKeptOpenAreCounted(t *testing.T) {
	for _, open := range []bool{false, true} {
		answer := answering(`,"completion_tokens":1`)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r)
			w.(http.Flusher).Flush()
			if open && r.Method == http.MethodPost {
				<-r.Context().Done() // the client has closed the connection
			}
		}))
		t.Cleanup(server.Close)
		outcome := measured(t, configOf(t, server.URL+"/v1"), 3)
		if open && outcome.KeptOpen != 3 { // where it ends them, a busy machine may make one late all the same
			t.Errorf("%d of 3 responses were kept open, want all", outcome.KeptOpen)
		}
		if !open && outcome.KeptOpen == 3 {
			t.Error("all responses are taken for kept open")
		}
	}
}
