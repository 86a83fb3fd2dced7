package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func ptr[T any](v T) *T { return &v }

// chat is a preset of two trials on one service, with two points each.
func chat() *schema.Preset {
	spec := schema.Spec{
		Model:    "llama",
		Service:  schema.Service{Endpoint: &schema.Endpoint{URL: "http://127.0.0.1:8000/v1", APIKeyEnv: "VLLM_API_KEY", VerifyTLS: true}},
		Workload: schema.Workload{Random: schema.NewRandom(1024, 256)},
		Request: schema.Request{API: "chat", MaxTokensField: "max_tokens", Cache: "isolated", Timeout: schema.Duration(10 * time.Minute),
			IdleTimeout: schema.Duration(4 * time.Second), HTTP: "1.1", Headers: map[string]schema.Header{"X-Route": {Value: "a"}, "X-Key": {Env: "ROUTE_KEY"}},
			ExtraBody: map[string]any{"top_p": json.Number("0.9")}},
	}
	completions := spec
	completions.Request.API = "completions"
	return &schema.Preset{
		Name:   "chat",
		Trials: []schema.Trial{{Name: "baseline", Spec: spec}, {Name: "second", Spec: completions}},
		Load:   schema.Load{Concurrency: []int64{1, 4}, RequestsPerSlot: 10, MinRequests: 20, DrainTimeout: schema.Duration(time.Minute), Repeats: 2, Seed: 7},
		Limits: schema.Limits{MaxTTFT: ptr(schema.Duration(500 * time.Millisecond)), TTFTStat: "p50", TPOTStat: "p50", TotalTimeStat: "p50", MaxErrorRate: 0.01},
		Select: schema.Select{Maximize: "output_tok_per_s", Across: "selected", Tolerance: schema.Tolerance{InFlight: 0.95, OutputLength: 0.95, Rate: 0.05}},
	}
}

func planOf(t *testing.T, preset *schema.Preset) *Plan {
	t.Helper()
	plan, err := NewPlan(preset)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestTheWholeLadderIsMeasuredBeforeItsRepeats(t *testing.T) {
	plan := planOf(t, chat())
	var got []string
	for i := range plan.Trials {
		for _, job := range plan.Jobs(&plan.Trials[i]) {
			got = append(got, fmt.Sprintf("%s c=%d repeat %d: %d after %d", job.TrialName, *job.Load.Concurrency, job.Repeat, *job.Requests, job.WarmupRequests))
		}
	}
	want := []string{
		"baseline c=1 repeat 0: 20 after 1", "baseline c=4 repeat 0: 40 after 4", "baseline c=1 repeat 1: 20 after 1", "baseline c=4 repeat 1: 40 after 4",
		"second c=1 repeat 0: 20 after 1", "second c=4 repeat 0: 40 after 4", "second c=1 repeat 1: 20 after 1", "second c=4 repeat 1: 40 after 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Ids are how results of different days are known to be of the same thing. They may change with the results' schema version and never otherwise.
func TestIdsNeverChange(t *testing.T) {
	var got []string
	for _, trial := range planOf(t, chat()).Trials {
		got = append(got, trial.ID)
		for _, point := range trial.Points {
			got = append(got, point.ID)
		}
	}
	want := []string{"4f8f658e42f81f27", "80e98f7abed45bd8", "208773d93a9dc566", "fbf21fee752967de", "01f5f86d83ab8d26", "9832e740a5430115"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// ids are those of the first trial and its first point.
func ids(t *testing.T, change func(*schema.Preset)) [2]string {
	t.Helper()
	preset := chat()
	change(preset)
	trial := planOf(t, preset).Trials[0]
	return [2]string{trial.ID, trial.Points[0].ID}
}

func TestIdsAreOfWhatIsMeasured(t *testing.T) {
	before := ids(t, func(*schema.Preset) {})
	for name, change := range map[string]func(*schema.Preset){
		"name":        func(p *schema.Preset) { p.Name = "other" },
		"limits":      func(p *schema.Preset) { p.Limits.TTFTStat = "p99" },
		"select":      func(p *schema.Preset) { p.Select.Across = "complete" },
		"repeats":     func(p *schema.Preset) { p.Load.Repeats = 9 },
		"more points": func(p *schema.Preset) { p.Load.Concurrency = []int64{1, 2, 4, 8} },
		"clip":        func(p *schema.Preset) { p.Load.Clip = true },
		"a password": func(p *schema.Preset) {
			p.Trials[0].Spec.Request.ExtraBody = map[string]any{"top_p": json.Number("0.9")}
		},
	} {
		if after := ids(t, change); after != before {
			t.Errorf("%s changes ids %v to %v", name, before, after)
		}
	}
	for name, change := range map[string]func(*schema.Preset){
		"trial name": func(p *schema.Preset) { p.Trials[0].Name = "other" },
		"model":      func(p *schema.Preset) { p.Trials[0].Spec.Model = "other" },
		"service":    func(p *schema.Preset) { p.Trials[0].Spec.Service.Endpoint.URL += "/other" },
		"workload":   func(p *schema.Preset) { *p.Trials[0].Spec.Workload.Random.OutputTokens.Constant++ },
		"request":    func(p *schema.Preset) { p.Trials[0].Spec.Request.Temperature = 1 },
		"header":     func(p *schema.Preset) { p.Trials[0].Spec.Request.Headers["X-Route"] = schema.Header{Value: "b"} },
		"body":       func(p *schema.Preset) { p.Trials[0].Spec.Request.ExtraBody["top_p"] = json.Number("0.8") },
	} {
		after := ids(t, change)
		if after[0] == before[0] || after[1] == before[1] {
			t.Errorf("%s leaves ids %v as %v", name, before, after)
		}
	}
	for name, change := range map[string]func(*schema.Load){
		"concurrency":      func(l *schema.Load) { l.Concurrency = []int64{2} },
		"request cap":      func(l *schema.Load) { l.RequestConcurrency = []int64{1} },
		"prefill cap":      func(l *schema.Load) { l.PrefillConcurrency = []int64{1} },
		"requests":         func(l *schema.Load) { l.Requests = ptr(int64(50)) },
		"per slot":         func(l *schema.Load) { l.RequestsPerSlot++ },
		"least requests":   func(l *schema.Load) { l.MinRequests++ },
		"duration":         func(l *schema.Load) { l.Duration = ptr(schema.Duration(time.Minute)) },
		"most time":        func(l *schema.Load) { l.MaxDuration = ptr(schema.Duration(time.Minute)) },
		"warmup":           func(l *schema.Load) { l.WarmupRequests = ptr(int64(1)) },
		"drain":            func(l *schema.Load) { l.DrainTimeout++ },
		"seed":             func(l *schema.Load) { l.Seed++ },
		"warmup's own cap": func(l *schema.Load) { l.WarmupRequestConcurrency = []int64{1} },
	} {
		after := ids(t, func(p *schema.Preset) { change(&p.Load) })
		if after[0] != before[0] || after[1] == before[1] {
			t.Errorf("load's %s: ids %v became %v", name, before, after)
		}
	}
}

func TestAPointIsWhatWasMeasuredNotWhatWasAsked(t *testing.T) {
	with := func(request int64) Point {
		preset := chat()
		preset.Load.Concurrency, preset.Load.RequestConcurrency, preset.Load.Clip = []int64{4}, []int64{request}, true
		return planOf(t, preset).Trials[0].Points[0]
	}
	clipped, plain := with(9), with(4)
	if clipped.AskedRequestConcurrency == nil || *clipped.RequestConcurrency != 4 || clipped.ID != plain.ID {
		t.Errorf("clipped to %+v with id %s, want %s", clipped.PointLoad, clipped.ID, plain.ID)
	}
}

// A password in a URL must not be in an id either: a hash of little else gives a short one away.
func TestIdsDoNotHoldSecrets(t *testing.T) {
	with := func(userinfo string) [2]string {
		return ids(t, func(p *schema.Preset) { p.Trials[0].Spec.Service.Endpoint.URL = "http://" + userinfo + "@127.0.0.1/v1" })
	}
	if a, b := with("me:1234"), with("me:1235"); a != b {
		t.Errorf("ids %v and %v tell passwords apart", a, b)
	}
}

func TestEveryTrialAndPointHasItsOwnId(t *testing.T) {
	seen := map[string]bool{}
	for _, trial := range planOf(t, chat()).Trials {
		for _, point := range trial.Points {
			if seen[point.ID] || len(point.ID) != 16 {
				t.Errorf("point id %q", point.ID)
			}
			seen[point.ID] = true
		}
	}
}

func TestMeasuredRequestsAreEnough(t *testing.T) {
	load := schema.Load{RequestsPerSlot: 10, MinRequests: 20}
	limits := schema.Limits{TTFTStat: "p50", TPOTStat: "p99", TotalTimeStat: "p99"}
	with := func(change func(*schema.Load, *schema.Limits)) (schema.Load, schema.Limits) {
		load, limits := load, limits
		change(&load, &limits)
		return load, limits
	}
	for _, c := range []struct {
		why    string
		change func(*schema.Load, *schema.Limits)
		slots  int64
		want   int64
	}{
		{"min_requests", func(*schema.Load, *schema.Limits) {}, 1, 20},
		{"requests_per_slot", func(*schema.Load, *schema.Limits) {}, 64, 640},
		{"ttft_stat p99", func(_ *schema.Load, l *schema.Limits) { l.TTFTStat = "p99" }, 1, 100},
		{"ttft_stat p95", func(load *schema.Load, l *schema.Limits) {
			load.MinRequests = 1
			load.RequestsPerSlot = 1
			l.TTFTStat = "p95"
		}, 1, 20},
		{"ttft_stat p90", func(load *schema.Load, l *schema.Limits) {
			load.MinRequests = 1
			load.RequestsPerSlot = 1
			l.TTFTStat = "p90"
		}, 1, 10},
		{"ttft_stat p50", func(load *schema.Load, _ *schema.Limits) { load.MinRequests = 1; load.RequestsPerSlot = 1 }, 1, 2},
		{"ttft_stat max", func(load *schema.Load, l *schema.Limits) {
			load.MinRequests = 1
			load.RequestsPerSlot = 1
			l.TTFTStat = "max"
		}, 1, 1},
		{"a limit on tpot", func(_ *schema.Load, l *schema.Limits) { l.MaxTPOT = ptr(schema.Duration(1)) }, 1, 100},
		{"a limit on total time", func(_ *schema.Load, l *schema.Limits) { l.MaxTotalTime = ptr(schema.Duration(1)) }, 1, 100},
		{"requests", func(load *schema.Load, l *schema.Limits) { load.Requests = ptr(int64(5)); l.TTFTStat = "p99" }, 1, 5},
		{"an open loop", func(*schema.Load, *schema.Limits) {}, 0, 20},
	} {
		load, limits := with(c.change)
		if got := measuredRequests(load, limits, c.slots); got != c.want {
			t.Errorf("%s at %d slots: %d requests, want %d", c.why, c.slots, got, c.want)
		}
	}
}

// The prefill cap does not count among the slots: a slot of it is free again at the first token.
func TestSlotsAreSessionsOrRequests(t *testing.T) {
	preset := chat()
	preset.Load.Concurrency, preset.Load.RequestConcurrency, preset.Load.PrefillConcurrency = []int64{64}, []int64{16}, []int64{2}
	point := planOf(t, preset).Trials[0].Points[0]
	if *point.Requests != 160 || point.WarmupRequests != 64 {
		t.Errorf("%d requests after %d in warmup, want 160 after 64", *point.Requests, point.WarmupRequests)
	}
}

func TestAMostTimeStandsBesideTheCount(t *testing.T) {
	preset := chat()
	preset.Load.MaxDuration = ptr(schema.Duration(30 * time.Second))
	plan := planOf(t, preset)
	point := plan.Trials[0].Points[1]
	if point.Requests == nil || *point.Requests != 40 || point.Duration == nil || *point.Duration != schema.Duration(30*time.Second) {
		t.Errorf("point %+v", point)
	}
	if got := plan.Estimate(nil); got != nil {
		t.Errorf("estimate %v: how long the count takes is not known", got)
	}
}

func TestDurationReplacesTheCount(t *testing.T) {
	preset := chat()
	preset.Load.Duration, preset.Load.WarmupRequests = ptr(schema.Duration(30*time.Second)), ptr(int64(0))
	plan := planOf(t, preset)
	point := plan.Trials[0].Points[1]
	if point.Requests != nil || *point.Duration != schema.Duration(30*time.Second) || point.WarmupRequests != 0 {
		t.Errorf("point %+v", point)
	}
	if got := plan.Estimate(nil); got == nil || *got != 8*30*time.Second {
		t.Errorf("estimate %v, want 4m0s", got)
	}
}

func TestNoTimeIsGuessed(t *testing.T) {
	plan := planOf(t, chat())
	if got := plan.Estimate(nil); got != nil {
		t.Errorf("estimate %v of a plan that says nothing of time", *got)
	}
	var earlier []measure.Point
	for i, trial := range plan.Trials {
		for j, point := range trial.Points {
			for _, took := range []int64{10, 20, 90} {
				end := measure.Point{Keys: measure.Keys{PointID: point.ID}, Status: measure.PointCompleted, Started: 1e9}
				end.Finished = end.Started.Add(time.Duration(took) * time.Second)
				earlier = append(earlier, end)
			}
			known := plan.Estimate(earlier)
			if last := i == 1 && j == 1; (known != nil) != last || last && *known != 8*20*time.Second {
				t.Errorf("after trial %d, point %d the estimate is %v", i, j, known)
			}
		}
	}
	failed := slices.Clone(earlier)
	for i := range failed {
		failed[i].Status = measure.PointFailed
	}
	if got := plan.Estimate(failed); got != nil {
		t.Errorf("estimate %v from points that failed", *got)
	}
}

func TestALoadThatNoPointCanHaveIsAnError(t *testing.T) {
	preset := chat()
	preset.Load.PrefillConcurrency = []int64{9}
	if _, err := NewPlan(preset); err == nil {
		t.Error("prefill 9 at concurrency 1 was planned")
	}
}

func TestAJobIsWholeAsJSON(t *testing.T) {
	plan := planOf(t, chat())
	want := plan.Jobs(&plan.Trials[1])[3]
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Job
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadsOfDifferentTrialsHaveOneKey(t *testing.T) {
	plan := planOf(t, chat())
	a, b := plan.Jobs(&plan.Trials[0]), plan.Jobs(&plan.Trials[1])
	if a[1].LoadKey() != b[3].LoadKey() || a[1].LoadKey() != "concurrency=4" || a[0].LoadKey() == a[1].LoadKey() {
		t.Errorf("keys %q, %q and %q", a[0].LoadKey(), a[1].LoadKey(), b[3].LoadKey())
	}
	all := Job{Load: schema.PointLoad{Concurrency: ptr(int64(8)), RequestConcurrency: ptr(int64(4)), WarmupRequestConcurrency: ptr(int64(3)),
		AgenticWarmupRequestConcurrency: ptr(int64(2)), PrefillConcurrency: ptr(int64(1)), RequestRate: ptr(2.5), AskedPrefillConcurrency: ptr(int64(5))}}
	want := "agentic_warmup_request_concurrency=2 concurrency=8 prefill_concurrency=1 request_concurrency=4 request_rate=2.5 warmup_request_concurrency=3"
	if got := all.LoadKey(); got != want {
		t.Errorf("key %q, want %q", got, want)
	}
}

// In an open loop requests come when they come, whatever the service does.
func TestTheTimeOfAnOpenLoopIsKnown(t *testing.T) {
	preset := chat()
	preset.Load.Concurrency, preset.Load.RequestRate, preset.Load.Requests = nil, []float64{2, 8}, ptr(int64(400))
	for _, test := range []struct {
		most *schema.Duration
		want time.Duration // of the two loads, in two trials of two repeats
	}{{nil, 4 * 250 * time.Second}, {ptr(schema.Duration(100 * time.Second)), 4 * 150 * time.Second}} {
		preset.Load.MaxDuration = test.most
		if got := planOf(t, preset).Estimate(nil); got == nil || *got != test.want {
			t.Errorf("at most %v: estimate %v, want %v", test.most, got, test.want)
		}
	}
	for i := range preset.Trials { // how many requests a conversation has is not known
		preset.Trials[i].Spec.Workload = schema.Workload{Sessions: &schema.Sessions{}}
	}
	if got := planOf(t, preset).Estimate(nil); got != nil {
		t.Errorf("of conversations: estimate %v", got)
	}
}
