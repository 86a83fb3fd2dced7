package schema

import (
	"fmt"
	"strings"
	"testing"
)

// normalPreset is a preset as people write it.
const normalPreset = `
name:  "llama-8b-chat"
model: "meta-llama/Llama-3.1-8B-Instruct"
service: endpoint: {url: "http://127.0.0.1:8000/v1", api_key_env: "VLLM_API_KEY"}
workload: random: {prompt_tokens: 1024, output_tokens: 256}
request: {api: "chat", temperature: 0, ignore_eos: true}
load: {concurrency: "1..64", requests_per_slot: 10}
limits: max_ttft: "500ms"
trials: {baseline: {}, second: service: endpoint: url: "http://127.0.0.1:8001/v1"}
`

// BenchmarkRead validates a normal preset, the compiling of the specification included. It must stay well under 60 ms.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := Read("preset.cue", []byte(normalPreset), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile is the part of it that the specification itself takes.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := compile(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPoints10000 reads a preset whose load has 10,000 points, and expands and checks them. It must stay under 2 s.
func BenchmarkPoints10000(b *testing.B) {
	var sessions, requests []string
	for i := range 100 {
		sessions = append(sessions, fmt.Sprint(1000+i))
		requests = append(requests, fmt.Sprint(1+i))
	}
	load := fmt.Sprintf("load: {concurrency: [%s], request_concurrency: [%s]}", strings.Join(sessions, ","), strings.Join(requests, ","))
	src := []byte(strings.Replace(normalPreset, `load: {concurrency: "1..64", requests_per_slot: 10}`, load, 1))
	for b.Loop() {
		preset, err := Read("preset.cue", src, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if points, err := preset.Load.Points(); err != nil || len(points) != 10000 {
			b.Fatal(len(points), err)
		}
	}
}

// BenchmarkTrials10000 is the worst case: 10,000 trials of one point each, every one with a service of its own.
func BenchmarkTrials10000(b *testing.B) {
	values := make([]string, 100)
	for i := range values {
		values[i] = fmt.Sprint(i + 1)
	}
	list := "[" + strings.Join(values, ",") + "]"
	src := []byte(`{"model": "tiny", "service": {"simulator": {}}, "workload": {"random": {}}, "load": {"concurrency": 1},
		"matrix": {"service.simulator.max_num_seqs": ` + list + `, "service.simulator.block_size": ` + list + `}}`)
	for b.Loop() {
		preset, err := Read("preset.json", src, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(preset.Trials) != 10000 {
			b.Fatal(len(preset.Trials))
		}
	}
}

// BenchmarkRedactText is what the start of a request's output costs: nothing in it looks like a secret.
func BenchmarkRedactText(b *testing.B) {
	text := strings.Repeat("The harbour lay quiet under a pale moon, and nobody spoke. ", 4)
	for b.Loop() {
		RedactText(text)
	}
}
