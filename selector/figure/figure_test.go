package figure

import (
	"slices"
	"strings"
	"testing"

	"sweetspot/runner/measure"
)

func TestOf(t *testing.T) {
	ttft, context := 0.25, int64(4096)
	p := measure.Point{Counts: measure.Counts{OK: 7}, ContextLength: &context, TTFT: measure.Dist{P50: &ttft}}
	for name, want := range map[string]float64{"requests_ok": 7, "context_length": 4096, "ttft_p50_s": 0.25} {
		f, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Of(&p); got == nil || *got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"ttft_p99_s", "output_tok_per_s", "peak_requests_in_flight"} {
		f, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Of(&p); got != nil {
			t.Errorf("%s is %v, want nothing", name, *got)
		}
	}
}

// Which way is better decides the words of every comparison, so each kind is held here.
func TestBetter(t *testing.T) {
	for better, names := range map[Better][]string{
		Higher: {"output_tok_per_s", "steady_output_tok_per_s", "output_tok_per_s_gpu", "output_tok_per_s_user", "total_tok_per_s", "requests_per_s", "goodput_per_s", "success_rate"},
		Lower:  {"ttft_p50_s", "ttft_all_p99_s", "ttft_after_first_wave_p95_s", "ttfot_max_s", "total_time_mean_s", "tpot_p50_s", "icl_p99_s", "icl_mean_p99_s", "queue_delay_p99_s", "error_rate", "cost_per_million_output_tokens"},
		None: {"ttft_n", "ttft_std_s", "ttft_drift", "wall_s", "requests_issued", "request_rate", "achieved_request_rate", "concurrency", "gpus", "client_lag_p99_s", "rtt_s", "http_rtt_s",
			"output_length_ratio", "mean_requests_in_flight"},
	} {
		for _, name := range names {
			f, err := Find(name)
			if err != nil {
				t.Errorf("%v", err)
			} else if f.Better != better {
				t.Errorf("%s is better when %q, want %q", name, f.Better, better)
			}
		}
	}
}

func TestUsualOnesAreFigures(t *testing.T) {
	for _, f := range Usual() {
		if f.Name == "" || f.Better == None {
			t.Errorf("%+v", f)
		}
	}
	if len(Usual()) != len(usual) {
		t.Errorf("%d of %d", len(Usual()), len(usual))
	}
}

func TestFindSuggests(t *testing.T) {
	for name, want := range map[string]string{
		"ttft_p50": "did you mean ttft_p50_s?", "ttft": "did you mean ttft_p50_s?", "output_tok_per_sec": "did you mean output_tok_per_s?", "TTFT_P99_S": "did you mean ttft_p99_s?",
		"throughput": "is no figure. The usual ones are output_tok_per_s, ", "repeat": "is no figure", "started_ns": "is no figure", "status": "is no figure",
	} {
		_, err := Find(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if names := All(); slices.ContainsFunc(names, func(f Figure) bool { return f.Name == "attempt" }) || len(names) < 100 {
		t.Errorf("%d figures", len(names))
	}
}
