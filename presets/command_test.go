package presets

import (
	"strings"
	"testing"

	"sweetspot/schema"
)

func TestTheCommandLineOfAService(t *testing.T) {
	port, seqs := int64(8000), int64(64)
	for want, spec := range map[string]schema.Spec{
		"sweetspot simulate --profile cpu --model 'it'\\''s'": {Model: "it's", Service: schema.Service{Simulator: &schema.Simulator{Profile: "cpu"}}},
		"sweetspot simulate --profile cpu --model m --seed=3": {Model: "m", Service: schema.Service{Simulator: &schema.Simulator{Profile: "cpu", Seed: 3}}},
		`(printf '%s\n' '{"model":"m","simulator":{"profile":"cpu","seed":0,"max_num_seqs":64}}'; cat) | sweetspot simulate --child`: {Model: "m",
			Service: schema.Service{Simulator: &schema.Simulator{Profile: "cpu", MaxNumSeqs: &seqs}}},
		`HF_TOKEN="$HF" MODE='a b' vllm serve m --max-num-seqs 64 --port 8000`: {Service: schema.Service{Process: &schema.Process{
			Command: []string{"vllm", "serve", "m", "--max-num-seqs", "64"}, Port: &port,
			Env: map[string]schema.Header{"HF_TOKEN": {Env: "HF"}, "MODE": {Value: "a b"}}}}},
		"vllm serve --port ${PORT}": {Service: schema.Service{Process: &schema.Process{Command: []string{"vllm", "serve"}}}},
	} {
		got, err := commandOf(spec)
		if err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	secret := schema.Process{Command: []string{"vllm", "serve", "--api-key", "sk-abcdefghijklmnopqrstuvwx"}}
	if got, _ := commandOf(schema.Spec{Service: schema.Service{Process: &secret}}); strings.Contains(got, "abcdefgh") {
		t.Errorf("a key is printed: %s", got)
	}
	if _, err := commandOf(schema.Spec{}); err == nil {
		t.Error("a run that does not say how its service was started has a command line")
	}
}
