package metrics

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// answers is a service without a network.
type answers func(*http.Request) (status int, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, body := a(r)
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func source(a answers, urls ...string) Source {
	return Source{Client: &http.Client{Transport: a}, Header: http.Header{"Authorization": {"Bearer k"}}, URLs: urls, Clock: clock.New()}
}

const text = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 3
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny",zone="b",a="c"} 7
# TYPE vllm:request_success_created gauge
vllm:request_success_created 1.7e9
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1"} 4
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 5
vllm:time_to_first_token_seconds_sum 0.75
vllm:time_to_first_token_seconds_count 5
# TYPE lost gauge
lost NaN
`

func ptr[T any](v T) *T { return &v }

func TestAScrapeKeepsEachValueAndItsLabels(t *testing.T) {
	s := source(func(r *http.Request) (int, string) {
		if r.Header.Get("Authorization") != "Bearer k" {
			t.Error("the header was not sent along")
		}
		return http.StatusOK, text
	})
	got, err := s.scrape(t.Context(), "http://here/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(metric, kind string, value *float64) measure.Sample {
		return measure.Sample{URL: "http://here/metrics", Metric: metric, Kind: kind, Value: value}
	}
	running, success := sample("vllm:num_requests_running", "gauge", ptr(3.)), sample("vllm:request_success_total", "counter", ptr(7.))
	running.Engine, running.ModelName = ptr("0"), ptr("tiny")
	success.Engine, success.ModelName, success.FinishedReason, success.Labels = ptr("0"), ptr("tiny"), ptr("stop"), ptr("a=c,zone=b")
	want := []measure.Sample{
		sample("lost", "gauge", nil), running, success,
		sample("vllm:time_to_first_token_seconds_sum", "sum", ptr(0.75)), sample("vllm:time_to_first_token_seconds_count", "count", ptr(5.)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAServiceThatShowsNothingIsSaid(t *testing.T) {
	s := source(func(r *http.Request) (int, string) {
		switch r.URL.Host {
		case "here":
			return http.StatusOK, text
		case "page":
			return http.StatusOK, "<html>"
		case "silent":
			return http.StatusOK, ""
		}
		return http.StatusNotFound, ""
	}, "http://here/metrics", "http://page/metrics", "http://gone/metrics", "http://silent/metrics")
	shown, notes := s.Look(t.Context())
	if len(shown.URLs) != 1 || shown.URLs[0] != "http://here/metrics" || len(notes) != 3 {
		t.Fatalf("shown %v, notes %v", shown.URLs, notes)
	}
	for i, want := range []string{"page/metrics (it is no Prometheus text", "gone/metrics (404 Not Found): server_ columns are null", "silent/metrics (it is empty)"} {
		if !strings.Contains(notes[i], want) {
			t.Errorf("note %q, want %q", notes[i], want)
		}
	}
}

// A service is asked at the start, each second, and at the end; one answer that does not come costs no other.
func TestWatchingAsksEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := source(func(*http.Request) (int, string) {
			if asked++; asked == 3 {
				return http.StatusInternalServerError, ""
			}
			return http.StatusOK, "running " + strconv.Itoa(asked) + "\n"
		}, "http://here/metrics")
		finish := s.Watch(t.Context())
		time.Sleep(3500 * time.Millisecond)
		var values []float64
		for _, sample := range finish() {
			values = append(values, *sample.Value)
		}
		if diff := cmp.Diff([]float64{1, 2, 4, 5}, values); diff != "" { // at 0, 1, (2,) 3 and 3.5 s
			t.Error(diff)
		}
		if samples := (Source{}).Watch(t.Context())(); samples != nil {
			t.Errorf("without a URL there are %d samples", len(samples))
		}
	})
}

// What is no service any more does not hold up the end of a point.
func TestWatchingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	finish := source(func(*http.Request) (int, string) { return http.StatusOK, text }, "http://here/metrics").Watch(ctx)
	cancel()
	if n := len(finish()); n != 5 {
		t.Errorf("%d samples, want those of the first answer", n)
	}
}

func TestMetricsLieBesideTheVersion(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:8000/v1": "http://127.0.0.1:8000/metrics", "https://host/openai/v1/": "https://host/openai/metrics", "http://host": "http://host/metrics",
	} {
		if got, err := Address(base); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", base, got, err, want)
		}
	}
}

func FuzzScrape(f *testing.F) {
	f.Add(text)
	f.Add("a{b=\"c\"} 1 2\n")
	f.Fuzz(func(t *testing.T, body string) {
		s := source(func(*http.Request) (int, string) { return http.StatusOK, body })
		samples, err := s.scrape(t.Context(), "http://here/metrics")
		if err != nil && samples != nil {
			t.Error("an answer that can't be read gave samples")
		}
	})
}
