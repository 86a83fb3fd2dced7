package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

const (
	keyValue = "s3cr3t-value-of-the-key"
	password = "hunter22"
)

// leaky is a preset whose service is reached with a password.
func leaky() *schema.Preset {
	preset := one()
	for i := range preset.Trials {
		preset.Trials[i].Spec.Service.Endpoint = &schema.Endpoint{URL: "http://me:" + password + "@127.0.0.1:8000/v1", APIKeyEnv: "VLLM_API_KEY"}
		preset.Trials[i].Spec.Request.ExtraBody = map[string]any{"api_key": password + "2", "nested": map[string]any{"password": password}, "n": json.Number("1")}
	}
	return preset
}

// Credentials printed by another tool: https://github.com/vllm-project/vllm/issues/45143
func TestNoSecretIsStored(t *testing.T) {
	w := newWorld()
	w.preflight = func(job Job) (Preflight, error) {
		if job.TrialName == "second" {
			return Preflight{}, errors.New("401 for key " + keyValue)
		}
		return Preflight{Facts: results.Facts{"url": job.Spec.Service.Endpoint.URL}, Notes: []string{"sent " + keyValue}}, nil
	}
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, func(*measure.Record) {})
		o.Records[0].Status, o.Records[0].Error = measure.HTTPError, ptr("wrong key "+keyValue)
		o.Records[1].Sample = ptr("your key is " + keyValue)
		for i := range o.Records {
			ended(&o.Records[i])
		}
		if job.Spec.Service.Endpoint.URL != "http://me:"+password+"@127.0.0.1:8000/v1" {
			t.Errorf("the job's own URL was redacted: %s", job.Spec.Service.Endpoint.URL)
		}
		return o, nil
	}
	plan, err := NewPlan(leaky())
	if err != nil {
		t.Fatal(err)
	}
	redact := func(text string) string { return schema.RedactText(strings.ReplaceAll(text, keyValue, "KEY")) }
	given := results.Given{Filename: "chat.yaml", Text: "# key: " + keyValue + "\nservice: {endpoint: {url: \"http://me:" + password + "@127.0.0.1:8000/v1\"}}\n",
		Overrides: []string{"service.endpoint.url=http://me:" + password + "@127.0.0.1/v1"}}
	manifest, err := NewManifest(leaky(), plan, given, redact)
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Create(t.TempDir(), manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	deps := w.deps()
	deps.Redact = redact
	var seen []any
	deps.Observe = func(e Event) {
		if _, job := e.(PointStarted); !job { // a job is for driving the point, which needs the password
			seen = append(seen, note(e))
		}
	}
	execute(t, plan, run, deps, results.Failed)
	checkFiles(t, run.Dir())
	checkText(t, "manifest", run.Manifest())
	checkText(t, "what was observed", seen)
	rows, _ := run.Points()
	for _, row := range rows {
		checkText(t, "points", asJSON(row))
	}
	for row, err := range run.Requests(results.Measurement{PointID: plan.Trials[0].Points[0].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, "requests", asJSON(row))
	}
}

// What survives a kill must not hold a secret either.
func TestNoSecretIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		plan, run := newRun(t, one())
		w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
			o := driven(job, func(*measure.Record) {})
			o.Records[0].Error = ptr("wrong key " + keyValue)
			ended(&o.Records[0])
			time.Sleep(2 * time.Second) // the stream is written every second
			synctest.Wait()
			n := 0
			for row, err := range run.PartialRequests(results.MeasurementOf(job.Keys)) {
				if n++; err != nil || *row.Error != "wrong key KEY" {
					t.Errorf("the stream has %v, %v", *row.Error, err)
				}
			}
			if n != 1 {
				t.Errorf("%d requests are in the stream, want 1", n)
			}
			return o, nil
		}
		deps := w.deps()
		deps.Redact = func(text string) string { return strings.ReplaceAll(text, keyValue, "KEY") }
		execute(t, plan, run, deps, results.Completed)
	})
}

// note is what of an event is shown to a person.
func note(e Event) any {
	switch e := e.(type) {
	case PointDone:
		return asJSON(e.Point)
	case TrialDone:
		return e.Verdict
	case Note:
		return e.Text
	}
	return nil
}

// asJSON is a row as JSON, which has no number for an infinite figure.
func asJSON(row any) json.RawMessage {
	text, err := measure.MarshalRow(row)
	if err != nil {
		panic(err)
	}
	return text
}

func checkText(t *testing.T, what string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{keyValue, password} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds %s: %s", what, secret, text)
		}
	}
}

func checkFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{keyValue, password} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %s", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheStoredPresetIsTheWholeOne(t *testing.T) {
	preset := chat()
	safe, err := redactPreset(preset, schema.RedactText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(preset, safe); diff != "" {
		t.Errorf("a preset without secrets was changed: %s", diff)
	}
	preset.Trials[1].Spec.Service = schema.Service{Process: &schema.Process{Env: map[string]schema.Header{"A": {Env: "HF_TOKEN"}, "B": {Value: "b"}, "C": {Env: "ROUTE_KEY"}}}}
	sent, passed := Environment(preset)
	if diff := cmp.Diff([][]string{{"ROUTE_KEY", "VLLM_API_KEY"}, {"HF_TOKEN"}}, [][]string{sent, passed}); diff != "" {
		t.Error(diff)
	}
	if !StartsCommands(preset) || StartsCommands(chat()) {
		t.Error("which presets start commands is not known")
	}
	preset = leaky()
	safe, err = redactPreset(preset, schema.RedactText)
	if err != nil {
		t.Fatal(err)
	}
	spec := safe.Trials[0].Spec
	want := schema.Body{"api_key": schema.Redacted, "nested": map[string]any{"password": schema.Redacted}, "n": json.Number("1")}
	if diff := cmp.Diff(want, spec.Request.ExtraBody); diff != "" || spec.Service.Endpoint.URL != "http://REDACTED@127.0.0.1:8000/v1" {
		t.Errorf("url %s, body %s", spec.Service.Endpoint.URL, diff)
	}
	if preset.Trials[0].Spec.Service.Endpoint.URL == spec.Service.Endpoint.URL {
		t.Error("the preset itself was changed")
	}
}
