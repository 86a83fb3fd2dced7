package pipeline

import (
	"strings"
	"testing"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// What may differ between two runs is all there, and no secret.
func TestSidesSayWhatTheRunWas(t *testing.T) {
	preset := chat()
	preset.Trials[0].Spec.Service.Endpoint.URL = "http://me:hunter2@127.0.0.1:8000/v1"
	preset.Trials[0].Spec.Service.Endpoint.GPUs = &schema.GPUs{Name: "H200", Count: 8}
	plan, run := newRun(t, preset)
	execute(t, plan, run, newWorld().deps(), results.Completed)
	if err := run.Update(func(m *results.Manifest) { m.Services[plan.Trials[0].ID]["preflight_requests"] = "7" }); err != nil {
		t.Fatal(err)
	}
	sides, broken, err := Sides(run.Run, nil)
	if err != nil || len(broken) > 0 || len(sides) != len(plan.Trials) {
		t.Fatalf("%d sides, %v, %v", len(sides), broken, err)
	}
	first := sides[0]
	if first.RunID != run.ID() || first.RunName != preset.Name || first.Verdict.TrialID != plan.Trials[0].ID || len(first.Verdict.Points) != len(plan.Trials[0].Points) {
		t.Errorf("side %+v", first)
	}
	for path, want := range map[string]string{
		"model": `"llama"`, "service.endpoint.gpus.count": "8", "reported.version": `"0.32.0"`, "client.tool_version": `["0.1.0"]`, "limits.ttft_stat": `"p50"`, "select.across": `"selected"`,
	} {
		if got := first.Facts[path]; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path, value := range first.Facts {
		if strings.Contains(value, "hunter2") || strings.Contains(path, "preflight") {
			t.Errorf("%s is %s", path, value)
		}
	}
	for _, path := range []string{"load.concurrency", "workload.random.prompt_tokens", "request.cache", "client.hostname"} {
		if first.Facts[path] == "" {
			t.Errorf("%s is not said", path)
		}
	}
}

// Judged by another rule, the sides say that rule.
func TestSidesByAnotherRule(t *testing.T) {
	plan, run := newRun(t, chat())
	execute(t, plan, run, newWorld().deps(), results.Completed)
	rule := plan.Rule
	rule.Select.Across = "complete"
	sides, _, err := Sides(run.Run, &rule)
	if err != nil || sides[0].Facts["select.across"] != `"complete"` || sides[0].Verdict.Rule.Select.Across != "complete" {
		t.Errorf("%+v, %v", sides[0].Facts["select.across"], err)
	}
}
