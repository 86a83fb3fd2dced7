package workload

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/schema"
)

func TestBodiesAreWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		request := schema.Request{
			API:            rapid.SampledFrom([]string{"chat", "completions"}).Draw(rt, "api"),
			Temperature:    rapid.Float64Range(0, 2).Draw(rt, "temperature"),
			IgnoreEOS:      rapid.Bool().Draw(rt, "ignore_eos"),
			MaxTokensField: rapid.SampledFrom([]string{"max_tokens", "max_completion_tokens"}).Draw(rt, "field"),

			ContinuousUsage: rapid.Bool().Draw(rt, "continuous_usage"),

			ExtraBody: map[string]any{"top_p": 0.9, "logit_bias": map[string]any{"50256": -100.0}, rapid.String().Draw(rt, "name") + "_": rapid.String().Draw(rt, "value")},
		}
		model, text := rapid.String().Draw(rt, "model"), rapid.String().Draw(rt, "text")
		encoder, err := NewEncoder(model, request)
		if err != nil {
			rt.Fatal(err)
		}
		want := map[string]any{
			"model": model, "temperature": request.Temperature, request.MaxTokensField: 17.0,
			"stream": true, "stream_options": map[string]any{"include_usage": true},
		}
		if request.ContinuousUsage {
			want["stream_options"] = map[string]any{"include_usage": true, "continuous_usage_stats": true}
		}
		if request.API == "chat" {
			want["messages"] = []any{map[string]any{"role": "user", "content": text}}
		} else {
			want["prompt"] = text
		}
		if request.IgnoreEOS {
			want["ignore_eos"] = true
		}
		for name, value := range request.ExtraBody {
			want[name] = value
		}
		var got map[string]any
		if err := json.Unmarshal(encoder.Body(text, 17), &got); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("body (-want +got):\n%s", diff)
		}
	})
}

func TestTheBodyOfARequestIsTheEncodersOfItsText(t *testing.T) {
	for _, spec := range []schema.Spec{fixedSpec(300, "isolated"), fixedSpec(300, "shared"), randomSpec(300, "isolated")} {
		spec.Model = `org/"model" <é>`
		spec.Request.API = "completions"
		source, err := New(spec, Seed{Run: `"\`}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		encoder, err := NewEncoder(spec.Model, spec.Request)
		if err != nil {
			t.Fatal(err)
		}
		request := requestAt(t, source, "measured", 3)
		text, err := promptOf(request.Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(encoder.Body(text, 64)), string(request.Body)); diff != "" {
			t.Errorf("body (-encoder +source):\n%s", diff)
		}
	}
}

// A nested cache_salt, as an SDK's extra_body makes it, is ignored by servers: fields go to the top level.
func TestExtraFieldsStandAtTheTopLevelInOrder(t *testing.T) {
	encoder, err := NewEncoder("m", schema.Request{API: "chat", ExtraBody: map[string]any{"z": 1, "a": []any{"x"}, "min_tokens": int64(5)}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":5,"temperature":0,"stream":true,` +
		`"stream_options":{"include_usage":true},"a":["x"],"min_tokens":5,"z":1}`
	if diff := cmp.Diff(want, string(encoder.Body("Hi", 5))); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestReservedFieldsAreRefused(t *testing.T) {
	for _, name := range reserved {
		_, err := NewEncoder("m", schema.Request{ExtraBody: map[string]any{name: true}})
		if err == nil || !strings.Contains(err.Error(), "extra_body must not set "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec := fixedSpec(100, "shared")
	spec.Request.ExtraBody = map[string]any{"stream": false}
	if _, err := New(spec, Seed{}, Calibration{}); err == nil {
		t.Error("a source accepts extra_body.stream")
	}
	if _, err := NewEncoder("m", schema.Request{ExtraBody: map[string]any{"x": math.NaN()}}); err == nil || !strings.Contains(err.Error(), "extra_body.x") {
		t.Errorf("NaN: %v", err)
	}
}
