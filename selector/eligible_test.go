package selector

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Each reason names the figure and the limit; what is not known is a reason too.
func TestReasons(t *testing.T) {
	byRate := func(achieved *float64) func(p *measure.Point) {
		return func(p *measure.Point) {
			p.TargetInFlight, p.TargetSessions, p.RequestRate, p.ScheduledRate, p.AchievedRate = nil, nil, ref(11.0), ref(10.0), achieved
		}
	}
	limited := func(r *Rule) { r.Limits.MaxTTFT = ref(schema.Duration(500 * time.Millisecond)) }
	p99 := func(r *Rule) { limited(r); r.Limits.TTFTStat = "p99" }
	tpot := func(r *Rule) { r.Limits.MaxTPOT = ref(schema.Duration(20 * time.Millisecond)) }
	context := func(r *Rule) { r.Limits.MinContextLength = ref(int64(32768)) }
	steady := func(r *Rule) { r.Select.Maximize = "steady_output_tok_per_s" }
	for _, test := range []struct {
		name   string
		rule   func(r *Rule)
		change func(p *measure.Point)
		want   string
	}{
		{"failed", nil, func(p *measure.Point) {
			p.Status, p.Reason, p.ErrorRate = measure.PointFailed, ref("none of 20 requests was ok: timeout"), nil
		},
			"failed: none of 20 requests was ok: timeout"},
		{"interrupted", nil, func(p *measure.Point) { p.Status = measure.PointInterrupted }, "interrupted"},
		{"errors", nil, func(p *measure.Point) { p.ErrorRate, p.ErrorExample = ref(0.025), ref("http_error: 503") }, "error rate 2.5 % is above the limit of 1 % (http_error: 503)"},
		{"errors, just", nil, func(p *measure.Point) { p.ErrorRate = ref(0.01004) }, "error rate 1.004 % is above the limit of 1 %"},
		{"errors unknown", nil, func(p *measure.Point) { p.ErrorRate = nil }, "error rate is unknown (at most 1 % allowed)"},
		{"errors not a number", nil, func(p *measure.Point) { p.ErrorRate = ref(math.NaN()) }, "error rate is unknown (at most 1 % allowed)"},
		{"no statistic, no limit", nil, func(p *measure.Point) { p.TTFTAll.P50 = nil }, ""},
		{"no statistic", limited, func(p *measure.Point) { p.TTFTAll.P50 = nil }, "ttft p50 is unknown (limit 500ms)"},
		{"statistic infinite", limited, func(p *measure.Point) {
			p.TTFTAll.P50, p.Counts = ref(math.Inf(1)), measure.Counts{Issued: 20, OK: 8, Timeout: 12}
		},
			"ttft p50 is infinite: 12 of 20 requests failed (limit 500ms)"},
		{"statistic not a number", limited, func(p *measure.Point) { p.TTFTAll.P50 = ref(math.NaN()) }, "ttft p50 is unknown (limit 500ms)"},
		{"statistic 0", limited, func(p *measure.Point) { p.TTFTAll.P50 = ref(0.0) }, "ttft p50 of 0ms is not a time that can be held against the limit of 500ms"},
		{"p99 of 20", p99, func(p *measure.Point) { p.TTFT.N, p.Counts = 19, measure.Counts{Issued: 20, OK: 19, Timeout: 1} },
			"ttft p99 is unknown: it needs 100 requests and there were 20 (limit 500ms)"},
		{"no tpot", tpot, func(p *measure.Point) { p.TPOT.N = 0 }, "tpot p50 is unknown: it needs 2 requests that have one, and 0 of 100 had (limit 20ms)"},
		{"no tokens", nil, func(p *measure.Point) { p.OutputTokens = nil }, "output tokens are unknown: at least one ok request has no count"},
		{"no throughput", nil, func(p *measure.Point) { p.OutputTokPerS = nil }, "output_tok_per_s is unknown"},
		{"throughput 0", nil, func(p *measure.Point) { p.OutputTokPerS = ref(0.0) }, "output_tok_per_s is unknown"},
		{"no steady throughput", steady, func(p *measure.Point) { p.SteadyOutputTokPS, p.SteadyReason = nil, ref("why") }, "steady_output_tok_per_s is unknown: why"},
		{"steady throughput", steady, func(p *measure.Point) { p.OutputTokPerS = nil }, ""},
		{"half in flight", nil, func(p *measure.Point) { p.SteadyMeanRequests = ref(48.1) }, "only 48.1 of 64 requests in flight (75 %, at least 95 % needed)"},
		{"responses kept open", nil, func(p *measure.Point) { p.SteadyMeanRequests, p.KeptOpen = ref(48.1), ref(int64(100)) },
			"only 48.1 of 64 requests in flight (75 %, at least 95 % needed): 100 responses had not ended 5 ms after [DONE], and until then their slots stay taken: have the service, or a proxy before it, end them there, or ask for longer outputs"},
		{"one response kept open", nil, func(p *measure.Point) { p.SteadyMeanRequests, p.KeptOpen = ref(48.1), ref(int64(1)) }, "only 48.1 of 64 requests in flight (75 %, at least 95 % needed)"},
		{"nearly in flight", nil, func(p *measure.Point) { p.SteadyMeanRequests = ref(60.77) }, "only 60.8 of 64 requests in flight (94.95 %, at least 95 % needed)"},
		{"just in flight", nil, func(p *measure.Point) { p.SteadyMeanRequests = ref(60.8) }, ""},
		{"in flight unknown", nil, func(p *measure.Point) { p.SteadyMeanRequests, p.SteadyReason = nil, ref("at most 48 of 64") },
			"requests in flight in the steady window are unknown (at least 95 % of 64 needed): at most 48 of 64"},
		{"sessions bind", nil, func(p *measure.Point) {
			p.TargetInFlight, p.SteadyMeanRequests, p.SteadyMeanSessions = nil, nil, ref(32.0)
		},
			"only 32 of 64 sessions in flight (50 %, at least 95 % needed)"},
		{"rate", nil, byRate(ref(9.5)), ""},
		{"rate too low", nil, byRate(ref(9.4)), "9.4 requests/s were sent, 10 were scheduled (6 % off, at most 5 % allowed)"},
		{"rate too high", nil, byRate(ref(11.0)), "11 requests/s were sent, 10 were scheduled (10 % off, at most 5 % allowed)"},
		{"rate unknown", nil, byRate(nil), "achieved request rate is unknown (within 5 % of the scheduled one needed)"},
		{"schedule unknown", nil, func(p *measure.Point) { byRate(ref(9.5))(p); p.ScheduledRate = nil },
			"achieved request rate is unknown (within 5 % of the scheduled one needed)"},
		{"nothing asked", nil, func(p *measure.Point) { p.TargetInFlight, p.TargetSessions = nil, nil }, "in flight: nothing says how much there should have been"},
		{"fixed prompts", nil, func(p *measure.Point) { p.Workload, p.PromptOff = "fixed", ref(0.0) }, ""},
		{"fixed prompts off", nil, func(p *measure.Point) { p.Workload, p.PromptOff = "fixed", ref(0.0039) },
			"the length of a prompt is 0.39 % off what was asked for (at most 0 % allowed)"},
		{"fixed prompts unknown", nil, func(p *measure.Point) { p.Workload = "fixed" },
			"prompt length over what was asked for is unknown (at most 0 % off allowed)"},
		{"fixed prompts off, allowed", func(r *Rule) { r.Select.Tolerance.PromptLength = ref(0.01) }, func(p *measure.Point) { p.Workload, p.PromptOff = "fixed", ref(0.01) }, ""},
		{"random prompts off", nil, func(p *measure.Point) { p.PromptRatio, p.PromptOff = ref(1.05), ref(0.3) },
			"the length of all prompts together is 5 % off what was asked for (at most 1 % allowed)"},
		{"random prompts short", nil, func(p *measure.Point) { p.PromptRatio = ref(0.9899) },
			"the length of all prompts together is 1.01 % off what was asked for (at most 1 % allowed)"},
		{"random prompts off, within", nil, func(p *measure.Point) { p.PromptRatio, p.PromptOff = ref(1.009), ref(0.3) }, ""},
		{"random prompts unknown", nil, func(p *measure.Point) { p.PromptRatio = nil },
			"prompt length over what was asked for is unknown (at most 1 % off allowed)"},
		{"prompts of a file", nil, func(p *measure.Point) { p.Workload, p.PromptRatio = "prompts", nil }, ""},
		{"short output", nil, func(p *measure.Point) { p.OutputRatio = ref(0.62) }, ""},
		{"cut short", nil, func(p *measure.Point) { p.IgnoreEOS, p.OutputRatio = true, ref(0.62) },
			"output length is 62 % of what was asked for (at least 95 % needed with ignore_eos)"},
		{"length unknown", nil, func(p *measure.Point) { p.IgnoreEOS = true },
			"output length over what was asked for is unknown (95 % to 105 % allowed)"},
		// https://github.com/vllm-project/vllm/issues/8625: 120 tokens counted for max_tokens 12 are ten times the throughput.
		{"counted too high", nil, func(p *measure.Point) { p.OutputRatio = ref(10.0) },
			"output length is 1000 % of what was asked for (at most 105 % allowed: a service that keeps to max_tokens can't have more)"},
		{"counted too high, just", nil, func(p *measure.Point) { p.IgnoreEOS, p.OutputRatio = true, ref(1.0501) },
			"output length is 105.01 % of what was asked for (at most 105 % allowed: a service that keeps to max_tokens can't have more)"},
		{"counted as asked, at most", nil, func(p *measure.Point) { p.IgnoreEOS, p.OutputRatio = true, ref(1.05) }, ""},
		{"length infinite", nil, func(p *measure.Point) { p.OutputRatio = ref(math.Inf(1)) },
			"output length over what was asked for is unknown (95 % to 105 % allowed)"},
		{"context", context, func(p *measure.Point) { p.ContextLength = ref(int64(32768)) }, ""},
		{"context short", context, func(p *measure.Point) { p.ContextLength = ref(int64(8192)) }, "context length 8192 is below the limit of 32768"},
		{"context unknown", context, func(p *measure.Point) {}, "context length is unknown (at least 32768 needed)"},
		{"context refused", context, func(p *measure.Point) { p.ContextReason = ref("http_error: 400") }, "context length is unknown (at least 32768 needed): http_error: 400"},
		{"lag of a tenth", nil, func(p *measure.Point) { p.LagP99, p.ClientLimited = ref(0.02), true }, ""}, // of 200 ms
		{"lag", nil, func(p *measure.Point) { p.LagP99 = ref(0.0201) }, "client lag p99 20.1ms is above the limit of 20ms: the client was too slow to be trusted"},
		{"lag of a fast service", nil, func(p *measure.Point) { p.LagP99, p.TTFT.P50 = ref(0.006), ref(0.03) },
			"client lag p99 6ms is above the limit of 5ms: the client was too slow to be trusted"},
		{"lag unknown", nil, func(p *measure.Point) { p.LagP99 = nil }, "client lag p99 is unknown (at most 20ms allowed)"},
		{"above the limit", limited, func(p *measure.Point) { p.TTFTAll.P50 = ref(0.612) }, "ttft p50 612ms is above the limit of 500ms"},
		{"just above the limit", limited, func(p *measure.Point) { p.TTFTAll.P50 = ref(0.5001) }, "ttft p50 500.1ms is above the limit of 500ms"},
		{"at the limit", limited, func(p *measure.Point) { p.TTFTAll.P50 = ref(0.5) }, ""},
		{"no tpot limit", limited, func(p *measure.Point) { p.TPOTAll.P50 = ref(9.0) }, ""},
	} {
		r := rule(0)
		if test.rule != nil {
			test.rule(&r)
		}
		want := []string{}
		if test.want != "" {
			want = append(want, test.want)
		}
		v := Judge(Series{Points: []Candidate{point(with(row(64, 1000, 0.2), test.change))}}, r)
		if diff := cmp.Diff(want, v.Points[0].Reasons); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got := v.Points[0].Feasible; got != (test.want == "") {
			t.Errorf("%s: feasible %v", test.name, got)
		}
	}
}

// Several reasons are all given.
func TestAllReasonsAreGiven(t *testing.T) {
	bad := with(row(64, 1000, 0.7), func(p *measure.Point) { p.ErrorRate, p.SteadyMeanRequests = ref(0.5), ref(4.9) })
	v := Judge(Series{Points: []Candidate{point(bad)}}, rule(500*time.Millisecond))
	want := []string{"error rate 50 % is above the limit of 1 %", "only 4.9 of 64 requests in flight (7.7 %, at least 95 % needed)", "ttft p50 700ms is above the limit of 500ms"}
	if diff := cmp.Diff(want, v.Points[0].Reasons); diff != "" {
		t.Error(diff)
	}
}
