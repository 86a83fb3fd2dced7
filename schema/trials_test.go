package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const base = `
model: "tiny"
service: endpoint: {url: "http://h/v1", api_key_env: "KEY"}
workload: random: prompt_tokens: 100
`

func TestTrialNames(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"none", ``, "default"},
		{"in the order of the file", `trials: {zeta: {}, alpha: {}, mid: {}}`, "zeta alpha mid"},
		{"matrix alone", `matrix: "workload.random.prompt_tokens": [64, 32]`, "prompt_tokens=64 prompt_tokens=32"},
		{"trials and matrix", `trials: {a: {}, b: {}}, matrix: "request.temperature": [0, 1]`, "a/temperature=0 a/temperature=1 b/temperature=0 b/temperature=1"},
		{"two axes, the last fastest", `matrix: {model: ["x", "y"], "request.temperature": [0, 1]}`,
			"model=x,temperature=0 model=x,temperature=1 model=y,temperature=0 model=y,temperature=1"},
		{"paths that end alike", `matrix: {"workload.random.prompt_tokens": [1], "request.extra_body.prompt_tokens": [2]}`,
			"workload.random.prompt_tokens=1,request.extra_body.prompt_tokens=2"},
		{"values without a short form", `matrix: "workload": [{fixed: {}}, {random: {}}]`, "workload=#1 workload=#2"},
		{"addresses are not shown", `matrix: "service.endpoint.url": ["http://u:p@a/v1", "http://b/v1"]`, "url=#1 url=#2"},
		{"zip", `matrix: zip: [{model: ["x", "y"], "request.temperature": [0, 1]}]`, "model=x,temperature=0 model=y,temperature=1"},
		{"exclude", `matrix: {model: ["x", "y"], "request.temperature": [0, 1], exclude: [{model: "x", "request.temperature": 0}, {model: "y", "request.temperature": 1}]}`,
			"model=x,temperature=1 model=y,temperature=0"},
	} {
		preset, err := Read("preset.cue", []byte(base+test.src), Options{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var names []string
		for _, trial := range preset.Trials {
			names = append(names, trial.Name)
		}
		if diff := cmp.Diff(test.want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestPatches holds how a trial's changes are laid over the preset.
func TestPatches(t *testing.T) {
	src := base + `
request: {headers: {"X-A": "a", "X-B": "b"}, extra_body: {stop: ["a", "b"], more: {x: 1, y: 2}}}
trials: {
	same: {}
	url: service: endpoint: url: "http://other/v1"
	simulated: service: simulator: seed: 3
	merged: request: {headers: "X-B": "c", extra_body: {stop: ["c"], more: y: 3}}
}
`
	preset, err := Read("preset.cue", []byte(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	same, url, simulated, merged := preset.Trials[0].Spec, preset.Trials[1].Spec, preset.Trials[2].Spec, preset.Trials[3].Spec
	if diff := cmp.Diff(Endpoint{URL: "http://other/v1", APIKeyEnv: "KEY", VerifyTLS: true}, *url.Service.Endpoint); diff != "" {
		t.Errorf("a part of the same service is changed (-want +got):\n%s", diff)
	}
	if simulated.Service.Endpoint != nil || simulated.Service.Simulator.Seed != 3 {
		t.Errorf("another service does not replace the first: %+v", simulated.Service)
	}
	if diff := cmp.Diff(map[string]Header{"X-A": {Value: "a"}, "X-B": {Value: "c"}}, merged.Request.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	more, _ := merged.Request.ExtraBody["more"].(map[string]any)
	if stop, _ := merged.Request.ExtraBody["stop"].([]any); len(stop) != 1 || len(more) != 2 {
		t.Errorf("extra_body: %v", merged.Request.ExtraBody)
	}
	if same.Request.Headers["X-B"].Value != "b" || same.Service.Endpoint.URL != "http://h/v1" {
		t.Errorf("one trial changes another: %+v", same)
	}
}

// TestAxes holds that a trial says where it stands in the matrix.
func TestAxes(t *testing.T) {
	preset, err := Read("preset.cue", []byte(base+`matrix: {model: ["x"], "request.extra_body.stop": [["a", "b"]]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Axis{{"model", `"x"`}, {"request.extra_body.stop", `["a","b"]`}}
	if diff := cmp.Diff(want, preset.Trials[0].Axes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNames holds what a preset without a name is called.
func TestNames(t *testing.T) {
	for filename, want := range map[string]string{
		"chat.cue":              "chat",
		"/a/b/long context.cue": "long-context",
		"-":                     "preset",
		"latest.cue":            "preset",
		"...cue":                "preset",
		"löwe.cue":              "l-we",
		"v1.2.cue":              "v1.2",
	} {
		src := `{"model": "m", "service": {"simulator": {}}, "workload": {"fixed": {}}}`
		preset, err := Read(filename, []byte(src), Options{})
		if err != nil {
			t.Errorf("%s: %v", filename, err)
			continue
		}
		if preset.Name != want {
			t.Errorf("%s is named %s, want %s", filename, preset.Name, want)
		}
	}
}
