package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

const second = clock.Instant(1e9)

// at is an instant some milliseconds into the tests' time.
func at(ms int64) clock.Instant { return 1000*second + clock.Instant(ms*1e6) }

// request is an ok request of the measured phase: scheduled 1 ms before its dispatch, ended with its last chunk. Times are in milliseconds.
func request(dispatched, tokens int64, chunks ...int64) Record {
	r := Record{Phase: Measured, Status: OK, Scheduled: at(dispatched - 1), Dispatched: at(dispatched), OutputTokens: &tokens, PromptTokens: ref(int64(100)), TokenSource: ref(FromServer)}
	for _, chunk := range chunks {
		r.Chunks = append(r.Chunks, int64(at(chunk)-r.Dispatched))
	}
	r.FirstToken, r.FirstOutput, r.LastToken = at(chunks[0]), at(chunks[0]), at(chunks[len(chunks)-1])
	r.Ended = r.LastToken
	return r
}

func failure(dispatched, ended int64, status Status, message string) Record {
	return Record{Phase: Measured, Status: status, Error: &message, Scheduled: at(dispatched - 1), Dispatched: at(dispatched), Ended: at(ended)}
}

func warmup(r Record) Record {
	r.Phase = Warmup
	return r
}

// numbered gives records their places in the order of dispatch.
func numbered(records ...Record) []Record {
	for i := range records {
		records[i].Index = int64(i)
	}
	return records
}

// twoLanes is a closed loop of two lanes, small enough to be reckoned by hand:
//
//	lane 0:  warmup 0-30   ok 31-62   http_error 63-70   ok 71-121
//	lane 1:  warmup 0-110                                          ok 112-142
func twoLanes() Outcome {
	carried := warmup(request(0, 6, 10, 60, 110))
	third := request(71, 4, 91, 101, 111, 121)
	first := request(31, 5, 41, 51, 61)
	first.Ended = at(62)
	return Outcome{
		Records:  numbered(warmup(request(0, 6, 10, 20, 30)), carried, first, failure(63, 70, HTTPError, "503: busy"), third, request(112, 2, 132, 142)),
		Sessions: []Span{{at(0), at(30)}, {at(0), at(110)}, {at(30), at(62)}, {at(62), at(70)}, {at(70), at(121)}, {at(111), at(142)}},
		Started:  at(0), Finished: at(142), Target: 2, TargetSessions: 2, Late: 3, Dropped: 4, KeptOpen: 5,
		Health: Health{LagP99: ref(0.0051)},
	}
}

func TestSummarizeByHand(t *testing.T) {
	limit := schema.Duration(15 * time.Millisecond)
	load := schema.PointLoad{Concurrency: ref(int64(2))}
	got := Summarize(twoLanes(), load, schema.Limits{MaxTTFT: &limit})
	inf := math.Inf(1)
	tenths := Dist{N: 6, Mean: ref(0.01), Std: ref(0.0), Min: ref(0.01), Max: ref(0.01), P50: ref(0.01)}
	meanGap := tenths
	meanGap.N = 3
	lag := meanGap
	lag.Mean, lag.Min, lag.Max, lag.P50 = ref(0.001), ref(0.001), ref(0.001), ref(0.001)
	ttft := Dist{N: 3, Mean: ref(0.05 / 3), Std: ref(0.01 / math.Sqrt(3)), Min: ref(0.01), Max: ref(0.02), P50: ref(0.02)}
	due := Dist{N: 3, Mean: ref(0.053 / 3), Std: ttft.Std, Min: ref(0.011), Max: ref(0.021), P50: ref(0.021)}
	want := Point{
		PointLoad: load, Status: PointCompleted, Started: at(0), Finished: at(142),
		Counts:       Counts{Issued: 4, OK: 3, HTTPError: 1},
		WarmupIssued: 2, Late: 3, Dropped: 4, KeptOpen: ref(int64(5)), SuccessRate: ref(0.75), ErrorRate: ref(0.25), ErrorExample: ref("http_error: 503: busy"),
		PromptTokens: ref(int64(300)), OutputTokens: ref(int64(11)), TokenSource: ref("server"), TokensPerChunk: ref(11.0 / 9),
		Wall: ref(0.111), OutputTokPerS: ref(11 / 0.111), TotalTokPerS: ref(311 / 0.111), RequestsPerS: ref(3 / 0.111), GoodputPerS: ref(1 / 0.111),
		// From 31, when the second lane's warmup was still in flight. Of its 3 chunks 2 lie in the window, of the request of 71 all but the last.
		SteadyStart: at(31), SteadyEnd: at(112),
		SteadyReason:      ref("its window of 0.081 s is shorter than 1 s: measure more requests (load.requests_per_slot, load.requests, or load.duration)"),
		OutputTokPerSUser: ref(3 / 0.025), TargetInFlight: ref(int64(2)), TargetSessions: ref(int64(2)), AchievedRate: ref(3 / 0.081),
		InFlight: InFlight{
			MeanSessions: ref(200.0 / 111), PeakSessions: ref(int64(2)),
			MeanRequests: ref(197.0 / 111), PeakRequests: ref(int64(2)),
			MeanPrefills: ref(57.0 / 111), PeakPrefills: ref(int64(1)),
			SteadyMeanSessions: ref(161.0 / 81), SteadyMeanRequests: ref(158.0 / 81), SteadyMeanPrefills: ref(37.0 / 81),
		},
		TTFT: ttft, TTFOT: ttft, TTFTScheduled: due, QueueDelay: lag, ICL: tenths, ICLMean: meanGap,
		TotalTime: Dist{N: 3, Mean: ref(0.111 / 3), Std: ref(math.Sqrt((36.0 + 169 + 49) / 2 / 1e6)), Min: ref(0.03), Max: ref(0.05), P50: ref(0.031)},
		TPOT:      Dist{N: 3, Mean: ref(0.025 / 3), Std: ref(0.005 / math.Sqrt(3)), Min: ref(0.005), Max: ref(0.01), P50: ref(0.01)},
		TTFTAll:   AllDist{Mean: &inf, Max: &inf, P50: ref(0.02)},
		TPOTAll:   AllDist{Mean: &inf, Max: &inf, P50: ref(0.01)},
		// Of 30, 31, 50 and infinite: between 31 and 50.
		TotalTimeAll: AllDist{Mean: &inf, Max: &inf, P50: ref(0.0405)},
		Health:       Health{LagP99: ref(0.0051)}, ClientLimited: true,
	}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Error(diff)
	}
}

func TestSummarizeNothing(t *testing.T) {
	got := Summarize(Outcome{Started: at(0), Finished: at(1)}, schema.PointLoad{}, schema.Limits{MaxTTFT: ref(schema.Duration(time.Second))})
	reason, steady := "no request was measured", "neither requests nor sessions in flight have a target"
	want := Point{Started: at(0), Finished: at(1), Status: PointFailed, Reason: &reason, SteadyReason: &steady, KeptOpen: ref(int64(0))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPointStatus(t *testing.T) {
	cancelled := failure(0, 10, Cancelled, "declared")
	for _, test := range []struct {
		name    string
		change  func(o *Outcome)
		status  PointStatus
		reason  string
		example string
	}{
		{"fine", func(o *Outcome) {}, PointCompleted, "", "http_error: 503: busy"},
		{"aborted", func(o *Outcome) { o.Aborted = "cache reset: 404" }, PointFailed, "cache reset: 404", "http_error: 503: busy"},
		{"interrupted", func(o *Outcome) { o.Interrupted, o.Aborted = true, "x" }, PointInterrupted, "the run was interrupted during the point", "http_error: 503: busy"},
		{"warmup only", func(o *Outcome) { o.Records = o.Records[:2] }, PointFailed, "no request was measured", ""},
		{"cancelled", func(o *Outcome) { o.Records = numbered(cancelled, cancelled) }, PointFailed, "all 2 requests were cancelled", ""},
		{"unknown status", func(o *Outcome) { o.Records[2].Status = "" }, PointFailed, "the requests by status do not add up to the 4 issued", "http_error: 503: busy"},
		// The commonest class, and of equals the one that the statuses list first; the message of its first request.
		{"none ok", func(o *Outcome) {
			o.Records = numbered(failure(0, 5, Timeout, "t"), failure(1, 5, StreamError, "first"), failure(2, 5, StreamError, "second"),
				failure(3, 5, Empty, "e"), failure(4, 5, Timeout, "t"), cancelled)
		}, PointFailed, "none of 6 requests was ok: stream_error: first", "stream_error: first"},
		{"no message", func(o *Outcome) {
			r := failure(0, 5, Empty, "")
			r.Error = nil
			o.Records = numbered(r)
		}, PointFailed, "none of 1 requests was ok: empty", "empty"},
	} {
		o := twoLanes()
		test.change(&o)
		p := Summarize(o, schema.PointLoad{}, schema.Limits{})
		if p.Status != test.status || textOr(p.Reason, "") != test.reason || textOr(p.ErrorExample, "") != test.example {
			t.Errorf("%s: %s, reason %q, example %q", test.name, p.Status, textOr(p.Reason, ""), textOr(p.ErrorExample, ""))
		}
	}
}

// Who counted is said of a point where it is the same for all of its requests. Regression: https://github.com/kubernetes-sigs/inference-perf/pull/753
func TestTokenSource(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(r *Record)
		want   string
	}{
		{"all alike", func(*Record) {}, "server"},
		{"one by another", func(r *Record) { r.TokenSource = ref(FromTokenizer) }, "null"},
		{"one without a count", func(r *Record) { r.OutputTokens = nil }, "null"},
		{"one of nobody's", func(r *Record) { r.TokenSource = nil }, "null"},
	} {
		o := twoLanes()
		test.change(&o.Records[4])
		if got := textOr(Summarize(o, schema.PointLoad{}, schema.Limits{}).TokenSource, "null"); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Tokens that the service did not report are not taken to be those asked for, nor the chunks. Regression:
// https://github.com/kubernetes-sigs/inference-perf/pull/410 and the rivals that fell back to the tokens asked for.
func TestMissingTokenCounts(t *testing.T) {
	o := twoLanes()
	for i := range o.Records {
		o.Records[i].RequestedOutputTokens = ref(int64(8))
	}
	o.Records[4].OutputTokens = nil
	p := Summarize(o, schema.PointLoad{}, schema.Limits{})
	if p.OutputTokens != nil || p.OutputTokPerS != nil || p.TotalTokPerS != nil || p.TokensPerChunk != nil || p.OutputRatio != nil || p.SteadyOutputTokPS != nil {
		t.Errorf("figures without a count: %v %v %v %v %v %v", p.OutputTokens, p.OutputTokPerS, p.TotalTokPerS, p.TokensPerChunk, p.OutputRatio, p.SteadyOutputTokPS)
	}
	if got := textOr(p.SteadyReason, ""); got != "a request in it has no token count" {
		t.Errorf("steady reason %q", got)
	}
	if p.TPOT.N != 2 || p.TTFT.N != 3 || *p.RequestedOK != 24 {
		t.Errorf("n of tpot %d, of ttft %d, requested %d", p.TPOT.N, p.TTFT.N, *p.RequestedOK)
	}
}

func TestLengthRatios(t *testing.T) {
	o := twoLanes()
	for i := range o.Records {
		o.Records[i].RequestedOutputTokens, o.Records[i].RequestedPromptTokens = ref(int64(5)), ref(int64(80))
	}
	p := Summarize(o, schema.PointLoad{}, schema.Limits{})
	if diff := cmp.Diff([]*float64{ref(11.0 / 15), ref(1.25), ref(0.25)}, []*float64{p.OutputRatio, p.PromptRatio, p.PromptOff}, nearly); diff != "" {
		t.Error(diff)
	}
	o.Records[2].PromptTokens = ref(int64(40))
	if p := Summarize(o, schema.PointLoad{}, schema.Limits{}); *p.PromptOff != 0.5 {
		t.Errorf("the prompt that is off most is off by %v", *p.PromptOff)
	}
	o.Records[2].RequestedPromptTokens = nil
	if p := Summarize(o, schema.PointLoad{}, schema.Limits{}); p.PromptRatio != nil || p.PromptOff != nil {
		t.Errorf("prompt ratio %v though one asked for no length", *p.PromptRatio)
	}
}

// Regression: https://github.com/vllm-project/guidellm/issues/444. Failures change no latency, yet can't hide: with more than half of the
// requests failed, the median with failures counted is infinite.
func TestFailuresStayOutOfLatencies(t *testing.T) {
	clean, failing := twoLanes(), twoLanes()
	failing.Records = slices.Clone(clean.Records)
	for range 3 {
		cut := failure(112, 113, Truncated, "cut at the drain deadline")
		cut.FirstToken = at(113)
		failing.Records = append(failing.Records, cut)
	}
	failing.Records = numbered(failing.Records...)
	a, b := Summarize(clean, schema.PointLoad{}, schema.Limits{}), Summarize(failing, schema.PointLoad{}, schema.Limits{})
	if diff := cmp.Diff([]Dist{a.TTFT, a.TPOT, a.TotalTime, a.ICL}, []Dist{b.TTFT, b.TPOT, b.TotalTime, b.ICL}); diff != "" {
		t.Errorf("failures changed a latency: %s", diff)
	}
	if b.TTFTAll.P50 == nil || !math.IsInf(*b.TTFTAll.P50, 1) {
		t.Errorf("median with 4 of 7 failed: %v", b.TTFTAll.P50)
	}
}

// A request cancelled by the preset is neither a success nor a failure.
func TestCancelledCountsAsNeither(t *testing.T) {
	o := twoLanes()
	cancelled := failure(113, 114, Cancelled, "declared")
	o.Records = numbered(append(slices.Clone(o.Records), warmup(cancelled), warmup(failure(113, 114, Empty, "")), cancelled, cancelled, cancelled)...)
	p := Summarize(o, schema.PointLoad{}, schema.Limits{})
	if diff := cmp.Diff([]*float64{ref(0.25), ref(3.0 / 7), ref(0.02)}, []*float64{p.ErrorRate, p.SuccessRate, p.TTFTAll.P50}, nearly); diff != "" {
		t.Error(diff)
	}
	if p.WarmupIssued != 4 || p.WarmupFailed != 1 {
		t.Errorf("of %d in warmup %d failed", p.WarmupIssued, p.WarmupFailed)
	}
}

// Regression: https://github.com/vllm-project/vllm-omni/issues/6693. One token has no time per output token, rather than one of 0, and meets no
// limit on it. In the statistics with failures it is left out: it says nothing of the pace, good or bad.
func TestOneTokenHasNoTPOT(t *testing.T) {
	limit := schema.Duration(time.Second)
	o := Outcome{Records: numbered(request(0, 1, 10), request(20, 3, 30, 40, 50), failure(60, 70, Timeout, "t")), Target: 1}
	p := Summarize(o, schema.PointLoad{}, schema.Limits{MaxTPOT: &limit})
	if p.TPOT.N != 1 || *p.TPOT.Min != 0.01 || p.TPOTAll.P50 == nil || !math.IsInf(*p.TPOTAll.P50, 1) {
		t.Errorf("tpot of %d, min %v, median with failures %v", p.TPOT.N, p.TPOT.Min, p.TPOTAll.P50)
	}
	if diff := cmp.Diff(ref(1/0.07), p.GoodputPerS, nearly); diff != "" {
		t.Errorf("goodput: %s", diff)
	}
}

// Regression: https://github.com/vllm-project/vllm-omni/issues/6693. Tokens that all came in one read show no span to spread over them: they have no
// time per output token, rather than one of 0, which would make the service look infinitely fast to one user.
func TestOneReadHasNoTPOT(t *testing.T) {
	limit := schema.Duration(time.Second)
	one := request(0, 12, 10, 10, 10)
	if got := MetricsOf(&one).TPOT; got != nil {
		t.Errorf("tpot of one read %v", *got)
	}
	o := Outcome{Records: numbered(one, request(20, 3, 30, 40, 50)), Target: 1}
	p := Summarize(o, schema.PointLoad{}, schema.Limits{MaxTPOT: &limit})
	if p.TPOT.N != 1 || *p.TPOT.Min != 0.01 || *p.TPOTAll.Mean != 0.01 {
		t.Errorf("tpot of %d, min %v, mean with failures %v", p.TPOT.N, *p.TPOT.Min, *p.TPOTAll.Mean)
	}
	if diff := cmp.Diff([]*float64{ref(1 / 0.05), ref(100.0)}, []*float64{p.GoodputPerS, p.OutputTokPerSUser}, nearly); diff != "" {
		t.Errorf("goodput and tokens a user: %s", diff)
	}
}

// With several tokens in the first event, the time after it belongs to the others.
func TestFirstEventTokens(t *testing.T) {
	r := request(0, 9, 10, 30)
	r.FirstEventTokens = ref(int64(4))
	if diff := cmp.Diff(ref(0.004), MetricsOf(&r).TPOT, nearly); diff != "" {
		t.Error(diff)
	}
	r.FirstEventTokens = ref(int64(9))
	if got := MetricsOf(&r).TPOT; got != nil {
		t.Errorf("no token after the first event, yet tpot %v", *got)
	}
}

// Regression: https://github.com/vllm-project/guidellm/issues/1145. One stall of a second among a hundred gaps is seen in the pooled gaps, and
// not in the mean of each request.
func TestStallIsSeenInPooledGaps(t *testing.T) {
	var records []Record
	for i := range int64(100) {
		start := i * 10000
		chunks := []int64{start + 10}
		for c := range int64(50) {
			gap := int64(10)
			if c == 25 {
				gap = 1000
			}
			chunks = append(chunks, chunks[len(chunks)-1]+gap)
		}
		records = append(records, request(start, 51, chunks...))
	}
	p := Summarize(Outcome{Records: numbered(records...), Target: 1}, schema.PointLoad{}, schema.Limits{})
	if *p.ICL.P99 != 1 || *p.ICLMean.P99 > 0.03 || p.ICL.N != 5000 || p.ICLMean.N != 100 {
		t.Errorf("p99 of %d gaps %v, of %d means %v", p.ICL.N, *p.ICL.P99, p.ICLMean.N, *p.ICLMean.P99)
	}
}

// A model that says one thing over and over is flagged, and a short answer like "1" is no sign of it.
func TestDegenerateOutput(t *testing.T) {
	long := func(distinct *int64) Record {
		r := request(0, 8, 1, 2, 3, 4, 5, 6, 7, 8)
		r.DistinctChunks = distinct
		return r
	}
	short := request(0, 7, 1, 2, 3, 4, 5, 6, 7)
	short.DistinctChunks = ref(int64(1))
	for _, test := range []struct {
		name    string
		records []Record
		want    bool
	}{
		{"all repeat", []Record{long(ref(int64(1))), long(ref(int64(1))), short}, true},
		{"one varies", []Record{long(ref(int64(1))), long(ref(int64(2)))}, false},
		{"only short", []Record{short, short}, false},
		{"unknown", []Record{long(nil)}, false},
	} {
		p := Summarize(Outcome{Records: numbered(test.records...), Target: 1}, schema.PointLoad{}, schema.Limits{})
		if p.Degenerate != test.want {
			t.Errorf("%s: degenerate %v", test.name, p.Degenerate)
		}
	}
}

// slower is an outcome in which everything takes a hundred times as long.
func slower(o Outcome) Outcome {
	slow := func(instants ...*clock.Instant) {
		for _, i := range instants {
			if i.Happened() {
				*i = at(0) + (*i-at(0))*100
			}
		}
	}
	for i := range o.Records {
		r := &o.Records[i]
		slow(&r.Scheduled, &r.Dispatched, &r.FirstToken, &r.FirstOutput, &r.LastToken, &r.Ended)
		for j := range r.Chunks {
			r.Chunks[j] *= 100
		}
	}
	for i := range o.Sessions {
		slow(&o.Sessions[i].Start, &o.Sessions[i].End)
	}
	slow(&o.Started, &o.Finished)
	return o
}

func TestSteadyWindow(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(o *Outcome)
		start  clock.Instant
		end    clock.Instant
		reason string
	}{
		{"target in the measured phase", func(o *Outcome) {}, at(3100), at(11200), ""},
		{"never reached", func(o *Outcome) { o.Target = 3 }, 0, 0, "at most 2 of 3 requests were in flight before the last was dispatched"},
		{"sessions bind", func(o *Outcome) { o.Target = 0 }, at(3100), at(11200), ""},
		{"nothing binds", func(o *Outcome) { o.Target, o.TargetSessions = 0, 0 }, 0, 0, "neither requests nor sessions in flight have a target"},
		{"half empty", func(o *Outcome) { o.Records[1].Ended = at(4000) }, at(3100), at(11200), "a mean of 1.086 requests in flight is below 95 % of the target of 2"},
	} {
		o := slower(twoLanes())
		test.change(&o)
		p := Summarize(o, schema.PointLoad{}, schema.Limits{})
		if p.SteadyStart != test.start || p.SteadyEnd != test.end || textOr(p.SteadyReason, "") != test.reason {
			t.Errorf("%s: %d to %d, %q", test.name, p.SteadyStart, p.SteadyEnd, textOr(p.SteadyReason, ""))
		}
		if want := (6.0*2/3 + 5 + 4.0*3/4) / 8.1; test.reason == "" && (p.SteadyOutputTokPS == nil || math.Abs(*p.SteadyOutputTokPS-want) > 1e-9) {
			t.Errorf("%s: throughput %v, want %v", test.name, p.SteadyOutputTokPS, want)
		}
		if test.reason != "" && p.SteadyOutputTokPS != nil {
			t.Errorf("%s: throughput %v", test.name, *p.SteadyOutputTokPS)
		}
	}
}

// A window that holds less than a second, or less than one request, has a throughput that depends on where it was cut. The load was kept up all the same.
func TestAShortSteadyWindowHasNoThroughput(t *testing.T) {
	const do = ": measure more requests (load.requests_per_slot, load.requests, or load.duration)"
	for _, test := range []struct {
		name   string
		last   int64 // dispatch of the last request, in milliseconds
		ended  int64 // of the requests before it
		reason string
	}{
		{"a second", 1000, 900, ""},
		{"less than a second", 999, 900, "its window of 0.999 s is shorter than 1 s" + do},
		{"all decode", 2000, 30_000, "its window of 2 s is shorter than 20.1 s, which a request takes" + do},
	} {
		o := Outcome{
			Records: numbered(request(0, 10, 100, test.ended), request(0, 10, 100, test.ended), request(test.last, 10, test.last+100, test.last+200)),
			Target:  2, Finished: at(40_000),
		}
		o.Records[0].Ended, o.Records[1].Ended = max(o.Records[0].Ended, at(test.last)), max(o.Records[1].Ended, at(test.last))
		p := Summarize(o, schema.PointLoad{}, schema.Limits{})
		if reason := textOr(p.SteadyReason, ""); reason != test.reason || (p.SteadyOutputTokPS == nil) != (test.reason != "") {
			t.Errorf("%s: throughput %v, %q", test.name, p.SteadyOutputTokPS, reason)
		}
		if p.SteadyMeanRequests == nil || *p.SteadyMeanRequests != 2 {
			t.Errorf("%s: mean in flight %v", test.name, p.SteadyMeanRequests)
		}
	}
}

// Warmup may run at another load than the measured phase, which then begins above its cap: the window starts where the cap holds.
func TestSteadyWindowLeavesOutBusierWarmup(t *testing.T) {
	o := Outcome{
		Records: numbered(warmup(request(0, 2, 10, 50)), warmup(request(0, 2, 10, 20)), warmup(request(0, 2, 10, 20)),
			request(20, 2, 30, 50), request(50, 2, 60, 90), request(50, 2, 60, 90), request(90, 2, 100, 110)),
		Finished: at(110), Target: 2,
	}
	p := Summarize(o, schema.PointLoad{}, schema.Limits{})
	if p.SteadyStart != at(20) || *p.SteadyMeanRequests != 2 || *p.PeakRequests != 2 {
		t.Errorf("from %d, mean %v, peak %d", p.SteadyStart, *p.SteadyMeanRequests, *p.PeakRequests)
	}
}

func TestContextLength(t *testing.T) {
	limits := schema.Limits{MinContextLength: ref(int64(4096))}
	for _, test := range []struct {
		name   string
		o      Outcome
		limits schema.Limits
		length *int64
		source string
		reason string
	}{
		{"probed", Outcome{ContextLength: ref(int64(4096))}, limits, ref(int64(4096)), "probe", ""},
		{"too long", Outcome{ContextLengthReason: "http_error: 400"}, limits, nil, "", "http_error: 400"},
		{"not sent", Outcome{}, limits, nil, "", "the context was not probed"},
		{"not asked for", Outcome{}, schema.Limits{}, nil, "", ""},
	} {
		p := Summarize(test.o, schema.PointLoad{}, test.limits)
		if !cmp.Equal(p.ContextLength, test.length) || textOr(p.ContextLengthSource, "") != test.source || textOr(p.ContextReason, "") != test.reason {
			t.Errorf("%s: %v, %v, %v", test.name, p.ContextLength, p.ContextLengthSource, p.ContextReason)
		}
	}
}

// Regression: https://github.com/vllm-project/vllm/issues/16858 (the first requests of a cold service) and
// https://github.com/aws-samples/aws-do-eks/pull/88 (an opening wave of 10 that is the whole tail).
func TestColdStartIsSeen(t *testing.T) {
	var records []Record
	for i := range int64(40) {
		start, ttft := i*1000, int64(100)
		if i < 10 {
			ttft = 900
		}
		records = append(records, request(start, 2, start+ttft, start+ttft+10))
	}
	p := Summarize(Outcome{Records: numbered(records...), Target: 10}, schema.PointLoad{}, schema.Limits{})
	if diff := cmp.Diff([]*float64{ref(1.0 / 9), ref(0.9), ref(0.1)}, []*float64{p.TTFTDrift, p.TTFT.P95, p.TTFTAfterWave}, nearly); diff != "" {
		t.Error(diff)
	}
	p = Summarize(Outcome{Records: numbered(records[:29]...), Target: 10}, schema.PointLoad{}, schema.Limits{})
	if p.TTFTDrift != nil || p.TTFTAfterWave != nil {
		t.Errorf("from 29 requests: drift %v, p95 after the first 10 %v", p.TTFTDrift, p.TTFTAfterWave)
	}
}

// Regression: https://github.com/vllm-project/vllm/issues/54101. The wait for a slot of the client's own is not the service's, but a user waits all
// the same: time to first token stands beside that from when the request was due. Where either instant did not happen there is none.
func TestWaitForASlotIsInTimeSinceScheduled(t *testing.T) {
	late, never, silent := request(500, 2, 510, 520), request(600, 2, 610, 620), request(700, 2, 710, 720)
	late.Scheduled, never.Scheduled, silent.FirstToken = at(100), 0, 0
	p := Summarize(Outcome{Records: numbered(late, never, silent)}, schema.PointLoad{RequestRate: ref(10.0)}, schema.Limits{})
	if p.TTFT.N != 2 || *p.TTFT.Max != 0.01 || p.TTFTScheduled.N != 1 || *p.TTFTScheduled.Max != 0.41 {
		t.Errorf("of %d from dispatch at most %v, of %d from when due at most %v", p.TTFT.N, p.TTFT.Max, p.TTFTScheduled.N, p.TTFTScheduled.Max)
	}
}

// Regression: https://github.com/kubernetes-sigs/inference-perf/issues/141. What was sent stands beside what was asked for and what the drawn
// arrivals wanted.
func TestRates(t *testing.T) {
	late := request(50, 2, 60, 70)
	late.Scheduled = at(20)
	o := Outcome{Records: numbered(warmup(request(1, 2, 5, 6)), request(11, 2, 15, 16), late)}
	p := Summarize(o, schema.PointLoad{RequestRate: ref(120.0)}, schema.Limits{})
	if diff := cmp.Diff([]*float64{ref(100.0), ref(1 / 0.039)}, []*float64{p.ScheduledRate, p.AchievedRate}, nearly); diff != "" {
		t.Error(diff)
	}
	asked, ok := p.Asked()
	if !ok || asked.Dimension != "rate" || asked.Target != p.ScheduledRate || asked.Achieved != p.AchievedRate {
		t.Errorf("asked %+v, %v", asked, ok)
	}
	if p := Summarize(o, schema.PointLoad{}, schema.Limits{}); p.ScheduledRate != nil {
		t.Errorf("a closed loop has the scheduled rate %v", *p.ScheduledRate)
	}
}

// A million tokens at 1,000 tok/s take 1,000 s: of 8 GPUs at 3.6 an hour each, 8.
func TestHardwareIsWhatIsDeclared(t *testing.T) {
	price := 3.6
	gpus := schema.GPUs{Name: "H200", Count: 8, PricePerGPUHour: &price}
	want := Hardware{GPUName: ref("H200"), GPUs: ref(int64(8)), OutputTokPerSGPU: ref(125.0), CostPerMillion: ref(8.0)}
	if diff := cmp.Diff(want, HardwareOf(&gpus, ref(1000.0)), nearly); diff != "" {
		t.Error(diff)
	}
	gpus.PricePerGPUHour, want.CostPerMillion = nil, nil
	if diff := cmp.Diff(want, HardwareOf(&gpus, ref(1000.0)), nearly); diff != "" {
		t.Errorf("without a price: %s", diff)
	}
	gpus.PricePerGPUHour, want.OutputTokPerSGPU = &price, nil
	if diff := cmp.Diff(want, HardwareOf(&gpus, nil)); diff != "" {
		t.Errorf("without a throughput: %s", diff)
	}
	if zero := HardwareOf(&gpus, ref(0.0)); zero.CostPerMillion != nil {
		t.Errorf("no tokens cost %v a million", *zero.CostPerMillion)
	}
	if diff := cmp.Diff(Hardware{}, HardwareOf(nil, ref(1000.0))); diff != "" {
		t.Errorf("none declared: %s", diff)
	}
}
