package selector

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func TestVerdictInWords(t *testing.T) {
	refused := func(p *measure.Point) {
		p.Counts = measure.Counts{Issued: 100, OK: 95, HTTPError: 5}
		p.ErrorRate, p.ErrorExample = ref(0.05), ref("http_error: 503:\nbusy")
	}
	vllm := ladder([]float64{135, 270, 434, 1078.4, 1376}, []float64{0.056, 0.06, 0.084, 0.227, 1.254})
	failing := ladder([]float64{135, 270}, []float64{0.056, 0.06})
	refused(&failing.Points[1].Repeats[0])
	broken := ladder([]float64{135, 270}, []float64{0.056, 0.06})
	refused(&broken.Points[0].Repeats[0])
	broken.Points[1].Repeats[0].SteadyMeanRequests = ref(1.0)
	for _, test := range []struct {
		name  string
		s     Series
		limit time.Duration
		want  string
	}{
		{"feasible", vllm, 300 * time.Millisecond,
			"baseline: concurrency 8 is selected with 1078 tok/s and ttft p50 227ms (limit 300ms). It is 148 % ahead of the runner-up, concurrency 4 (434 tok/s); " +
				"need >= 4 repeats to tell that from noise. Without the limits concurrency 16 would be selected with 1376 tok/s: they cost 22 % of it. The ladder goes on " +
				"to concurrency 16. Rule: highest output_tok_per_s with ttft p50 at most 300ms, error rate at most 1 %."},
		{"no limit", vllm, 0,
			"baseline: concurrency 16 is selected with 1376 tok/s and ttft p50 1.25s; no limit is set. It is 28 % ahead of the runner-up, concurrency 8 (1078 tok/s); " +
				"need >= 4 repeats to tell that from noise. It is the last point of the ladder: extend the ladder to know whether more load is better. " +
				"Rule: highest output_tok_per_s with error rate at most 1 %."},
		{"infeasible", vllm, 50 * time.Millisecond,
			"baseline: no point meets the limits; the fallback, not feasible, is concurrency 1 with the lowest ttft p50 of 56ms and 135 tok/s: ttft p50 56ms is above " +
				"the limit of 50ms. The next lowest is concurrency 2 with 60ms, 7.1 % more; need >= 4 repeats to tell that from noise. Without the limits concurrency 16 " +
				"would be selected with 1376 tok/s: they cost 90 % of it. The ladder goes on to concurrency 16. " +
				"Rule: highest output_tok_per_s with ttft p50 at most 50ms, error rate at most 1 %."},
		{"failures", failing, 300 * time.Millisecond,
			"baseline: concurrency 1 is selected with 135 tok/s and ttft p50 56ms (limit 300ms). No other point could be chosen. The limits cost no throughput: no eligible " +
				"point has more. The ladder goes on to concurrency 2. 5 of 200 requests failed, 0 of them at the selected point. " +
				"Rule: highest output_tok_per_s with ttft p50 at most 300ms, error rate at most 1 %."},
		{"none eligible", broken, 300 * time.Millisecond,
			"baseline: no winner, no point is eligible. concurrency 1: error rate 5 % is above the limit of 1 % (http_error: 503: busy); " +
				"concurrency 2: only 1 of 2 requests in flight (50 %, at least 95 % needed). 5 of 200 requests failed. " +
				"Rule: highest output_tok_per_s with ttft p50 at most 300ms, error rate at most 1 %."},
		{"no points", Series{}, 0, "the trial: no winner, there are no points. Rule: highest output_tok_per_s with error rate at most 1 %."},
	} {
		if diff := cmp.Diff(test.want, Judge(test.s, rule(test.limit)).Text()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestOtherSentences(t *testing.T) {
	late := func(p *measure.Point) {
		p.TargetInFlight, p.TargetSessions, p.RequestRate, p.ScheduledRate, p.AchievedRate = nil, nil, ref(10.0), ref(10.0), ref(9.9)
		p.Late, p.TTFTScheduled.P50 = 18, ref(4.1)
	}
	for _, test := range []struct {
		name   string
		change func(p *measure.Point)
		want   string
	}{
		{"cached prompt", func(p *measure.Point) { p.Workload, p.Cache, p.PromptOff = "fixed", "shared", ref(0.0) }, "its ttft is that of a cached prompt."},
		// https://github.com/vllm-project/guidellm/issues/588: a point may have a most time.
		{"cut short", func(p *measure.Point) { p.Planned = ref(int64(160)) }, "It measured 100 of the 160 requests that were planned."},
		{"degenerate", func(p *measure.Point) { p.Degenerate = true }, "Every longer output repeated one text: the model may be broken."},
		// https://github.com/vllm-project/vllm/pull/9349: short outputs are cheap ones.
		{"short answers", func(p *measure.Point) { p.OutputRatio = ref(0.5) },
			"Its answers had 50 % of the tokens asked for: request.ignore_eos has a service that knows it write all of them."},
		{"bursts", func(p *measure.Point) { p.ICL.P50 = ref(0.0) },
			"Half of its chunks came within 0.1ms of the one before, as from a proxy that holds a response back: tpot and icl are not the service's."},
		// https://github.com/vllm-project/vllm/issues/8625: fewer tokens than events with text.
		{"tokens a chunk", func(p *measure.Point) { p.TokensPerChunk = ref(0.49) },
			"The service counts 0.49 tokens for each event with text: its token counts may be wrong."},
		// https://github.com/kubernetes-sigs/inference-perf/pull/753: who counted the tokens was not said.
		{"counted here", func(p *measure.Point) { p.TokenSource = ref("tokenizer") },
			"Its tokens were counted by request.tokenizer on this machine, which knows no chat template."},
		{"output counted here", func(p *measure.Point) { p.TokenSource = ref("server+tokenizer") },
			"Its output tokens were counted by request.tokenizer on this machine: the service's usage counts the prompt alone."},
		{"prompt counted here", func(p *measure.Point) { p.TokenSource = ref("tokenizer+server") },
			"Its prompt tokens were counted by request.tokenizer on this machine, which knows no chat template: the service's usage counts the output alone."},
		// https://github.com/vllm-project/vllm/issues/54101: a queue in the client that no latency has.
		{"late", late, "18 of 100 requests waited for a slot: ttft p50 is 4.10s counted from when requests were due, 200ms from when they were sent."},
		{"late, from when unknown", func(p *measure.Point) { late(p); p.TTFTScheduled.P50 = nil },
			"18 of 100 requests waited for a slot: ttft p50 is - counted from when requests were due, 200ms from when they were sent."},
		// https://github.com/huggingface/inference-benchmarker/issues/21: a client without a processor to spare.
		{"client busy", func(p *measure.Point) { p.CPUShare = ref(0.87) }, "The client used 87 % of its processors' time, which may have slowed what it measured."},
		{"client lag", func(p *measure.Point) { p.LagP99, p.ClientLimited = ref(0.0062), true }, "The client lagged by 6.2ms at p99"},
		{"cold", func(p *measure.Point) { p.TTFTDrift = ref(0.4) }, "the median of the last third of the requests is 0.4 times that of the first."},
		{"falling behind", func(p *measure.Point) { p.TTFTDrift = ref(2.5) }, "is 2.5 times that of the first."},
		{"opening wave", func(p *measure.Point) { p.TTFT.P95, p.TTFTAfterWave = ref(0.9), ref(0.1) }, "ttft p95 is 900ms, and 100ms without the first requests."},
		{"context", func(p *measure.Point) { p.ContextLength, p.ContextLengthSource = ref(int64(131072)), ref("reported") }, "no request of the run has filled it."},
		{"context of an imported point", func(p *measure.Point) { p.ContextLength, p.ContextLengthSource = ref(int64(131072)), ref("imported") },
			"Its context length was reported; no request of the run has filled it."},
	} {
		r := rule(0)
		if strings.HasPrefix(test.name, "context") {
			r.Limits.MinContextLength = ref(int64(131072))
		}
		v := Judge(Series{Points: []Candidate{point(with(row(8, 100, 0.2), test.change))}}, r)
		if len(v.Notes) != 1 {
			t.Errorf("%s: notes %q", test.name, v.Notes)
		}
		mustContain(t, v.Text(), test.want)
	}
	quiet := with(row(8, 100, 0.2), func(p *measure.Point) {
		p.Workload, p.PromptOff, p.TTFTDrift, p.TTFT.P95, p.TTFTAfterWave = "fixed", ref(0.0), ref(1.2), ref(0.3), ref(0.2)
		p.TokensPerChunk, p.CPUShare, p.RequestRate, p.Late = ref(0.5), ref(0.8), nil, 0
	})
	v := Judge(Series{Points: []Candidate{point(quiet)}}, rule(0))
	if len(v.Notes) != 0 {
		t.Errorf("notes %q", v.Notes)
	}
	mustContain(t, v.Text(), "It is the only point of the ladder")
	mustContain(t, Judge(ladder([]float64{100, 101}, []float64{0.1, 0.1}), rule(0)).Text(), "Throughput levels off from concurrency 1 on: a doubling of the load adds less than 10 %.")
}

// A broken model is broken at every load: the note names the points that show it, also where the selected one does not.
func TestDegeneratePointsAreNamed(t *testing.T) {
	for _, test := range []struct {
		broken []int
		want   []string
	}{
		{nil, []string{}},
		{[]int{1}, []string{"Every longer output repeated one text: the model may be broken."}}, // the selected point
		{[]int{0}, []string{"Every longer output repeated one text at concurrency 1: the model may be broken."}},
		{[]int{0, 1}, []string{"Every longer output repeated one text at concurrency 1; concurrency 2: the model may be broken."}},
	} {
		s := ladder([]float64{100, 200}, []float64{0.1, 0.1})
		for _, i := range test.broken {
			s.Points[i].Repeats[0].Degenerate = true
		}
		if diff := cmp.Diff(test.want, Judge(s, rule(0)).Notes); diff != "" {
			t.Errorf("%v: %s", test.broken, diff)
		}
	}
}

func TestRuleInWords(t *testing.T) {
	r := rule(500 * time.Millisecond)
	r.Limits.MaxTPOT, r.Limits.TPOTStat = ref(schema.Duration(25*time.Millisecond)), "p99"
	r.Limits.MaxTotalTime, r.Limits.MinContextLength = ref(schema.Duration(2*time.Second)), ref(int64(131072))
	r.Select.Maximize = "steady_output_tok_per_s"
	want := "highest steady_output_tok_per_s with ttft p50 at most 500ms, tpot p99 at most 25ms, total_time p50 at most 2.00s, context length at least 131072, error rate at most 1 %"
	if diff := cmp.Diff(want, r.Text()); diff != "" {
		t.Error(diff)
	}
	mustContain(t, Judge(ladder([]float64{100}, []float64{0.1}), r).Text(), "tpot p99 is unknown")
}

func TestLoadText(t *testing.T) {
	for want, load := range map[string]schema.PointLoad{
		"no cap":         {},
		"concurrency 16": {Concurrency: ref(int64(16))},
		"concurrency 64, request cap 16, prefill cap 4, rate 2.5/s": {Concurrency: ref(int64(64)), RequestConcurrency: ref(int64(16)), PrefillConcurrency: ref(int64(4)), RequestRate: ref(2.5)},
	} {
		if got := LoadText(load); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Two points of a sweep, of whatever it is, have two names.
func TestLoadTextNamesEachFieldOfALoad(t *testing.T) {
	for name, load := range eachLoadField() {
		if LoadText(load) == "no cap" {
			t.Errorf("a load with %s has no name", name)
		}
	}
}

// eachLoadField gives, by its column, a load with each of the fields that points can differ in.
func eachLoadField() map[string]schema.PointLoad {
	loads := map[string]schema.PointLoad{}
	of := reflect.TypeFor[schema.PointLoad]()
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("json"); !strings.HasPrefix(name, "asked_") {
			var load schema.PointLoad
			field := reflect.ValueOf(&load).Elem().Field(i)
			field.Set(reflect.New(field.Type().Elem()))
			loads[name] = load
		}
	}
	return loads
}

func TestAnUnfinishedRunSaysSo(t *testing.T) {
	s := ladder([]float64{135, 270, 500}, []float64{0.056, 0.06, 0.08})
	s.Points[1].Repeats[0].Status = measure.PointInterrupted
	s.Points[2].Repeats = nil
	mustContain(t, Judge(s, rule(300*time.Millisecond)).Text(), "2 of 3 points were not measured to their end: another may be better.")
	s.Points[0].Repeats = nil
	mustContain(t, Judge(s, rule(300*time.Millisecond)).Text(), "3 of 3 points were not measured to their end. Rule:")
}

func TestPointsWithTheSameReasonsAreToldTogether(t *testing.T) {
	s := ladder([]float64{135, 270}, []float64{0.056, 0.06})
	for i := range s.Points {
		s.Points[i].Repeats[0].Status, s.Points[i].Repeats[0].Reason = measure.PointFailed, ref("no connection")
	}
	v := Judge(s, rule(300*time.Millisecond))
	if groups := v.ByReasons(); len(groups) != 1 || groups[0].Loads != "all 2 points" {
		t.Errorf("groups %v, want one of both points", groups)
	}
	mustContain(t, v.Text(), "all 2 points: ")
	s.Points[0].Repeats[0].Status, s.Points[0].Repeats[0].Reason = measure.PointCompleted, nil
	s.Points = append(s.Points, s.Points[1])
	v = Judge(s, rule(300*time.Millisecond))
	if groups := v.ByReasons(); len(groups) != 1 || groups[0].Loads != "concurrency 2; concurrency 2" {
		t.Errorf("groups %v, want one of two points of three", groups)
	}
}

func TestReasonsThatStandBesideTheVerdictAreLeftOut(t *testing.T) {
	s := ladder([]float64{135}, []float64{0.056})
	s.Points[0].Repeats[0].Status, s.Points[0].Repeats[0].Reason = measure.PointFailed, ref("is the port right?")
	v := Judge(s, rule(300*time.Millisecond))
	want := "baseline: no winner, no point is eligible. Rule: highest output_tok_per_s with ttft p50 at most 300ms, error rate at most 1 %."
	if diff := cmp.Diff(want, v.BesideReasons()); diff != "" {
		t.Error(diff)
	}
	mustContain(t, v.Text(), "concurrency 1: failed: is the port right? Rule: ")
}

func TestArrivalsFarFromTheRateAreNoted(t *testing.T) {
	s := ladder([]float64{135}, []float64{0.056})
	p := &s.Points[0]
	p.Load = schema.PointLoad{RequestRate: ref(20.0)}
	p.Repeats[0].PointLoad, p.Repeats[0].ScheduledRate, p.Repeats[0].AchievedRate = p.Load, ref(12.4), ref(12.4)
	mustContain(t, strings.Join(Judge(s, rule(300*time.Millisecond)).Notes, " "), "The arrivals drawn came to 12.4/s where 20/s were asked for")
}

func TestAFullPrefillCapIsNoEndOfALadder(t *testing.T) {
	s := ladder([]float64{135, 270}, []float64{0.056, 0.06})
	for i, prefill := range []int64{1, 2} {
		s.Points[i].Load = schema.PointLoad{Concurrency: ref(int64(2)), PrefillConcurrency: ref(prefill)}
		s.Points[i].Repeats[0].SteadyMeanRequests, s.Points[i].Repeats[0].TargetInFlight = ref(2.0), ref(int64(2))
	}
	if text := Judge(s, rule(300*time.Millisecond)).Text(); strings.Contains(text, "extend the ladder") {
		t.Errorf("the verdict asks for a prefill cap above the requests in flight: %s", text)
	}
}

// A model that repeats one text is said where nothing could be selected too.
func TestDegenerateOutputIsSaidWithoutAWinner(t *testing.T) {
	broken := with(row(8, 100, 0.2), func(p *measure.Point) { p.Degenerate, p.ErrorRate = true, ref(0.5) })
	v := Judge(Series{Points: []Candidate{point(row(4, 50, 0.2)), point(broken)}}, rule(0))
	none := Judge(Series{Points: []Candidate{point(broken)}}, rule(0))
	if none.Winner() != nil {
		t.Error("a point with errors was selected")
	}
	mustContain(t, none.Text(), "Every longer output repeated one text at concurrency 8: the model may be broken.")
	mustContain(t, v.Text(), "Every longer output repeated one text at concurrency 8: the model may be broken.")
}
