package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// workloads are what the real server is asked, and whether its prefix cache should have something.
var workloads = map[string]struct {
	workload string
	cached   bool
}{
	"fixed":    {`fixed: {prompt_tokens: 256, output_tokens: 16}`, false},
	"random":   {`random: {prompt_tokens: {lognormal: {mean: 700, std: 200, min: 450, max: 1500}}, output_tokens: {uniform: {min: 8, max: 24}}, shared_prefix_tokens: 400}`, true},
	"sessions": {`sessions: {turns: {uniform: {min: 2, max: 4}}, prompt_tokens: 300, output_tokens: 16, shared_prefix_tokens: 256}`, true},
	"tree":     {`tree: {turns: 3, prompt_tokens: 256, output_tokens: 16, depth: 1, fork_width: 1, inherit_share: 0.5, agentic: true}`, true},
	"weka":     {`weka: {file: "agents.jsonl", max_think_time: "100ms", agentic: true}`, true},
}

// agents are recorded ones: in seven requests each a conversation grows by two blocks of 64 tokens at a time, the most that a prefix cache of blocks of
// 128 tokens can have of it. The second starts a sub-agent.
func agents() []byte {
	var lines []byte
	request := func(n int) string {
		blocks := make([]string, 4+2*n)
		for i := range blocks {
			blocks[i] = strconv.Itoa(i)
		}
		return fmt.Sprintf(`{"t": %d, "type": "s", "model": "m", "in": %d, "out": 16, "hash_ids": [%s], "api_time": 0.5, "think_time": 0.05}`, n, 64*len(blocks), strings.Join(blocks, ","))
	}
	for agent := range 8 {
		var requests []string
		for n := range 7 {
			requests = append(requests, request(n))
			if agent == 1 && n == 4 {
				requests = append(requests, `{"t": 4.6, "type": "subagent", "agent_id": "a", "status": "completed", "duration_ms": 300, "models": ["m"], "requests": [`+request(1)+`]}`)
			}
		}
		lines = fmt.Appendf(lines, `{"id": "%d", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [%s]}`+"\n", agent, strings.Join(requests, ","))
	}
	return lines
}

const asking = `
model: "tiny"
service: endpoint: {url: %q}
workload: %s
request: {ignore_eos: true, reset_prefix_cache: true}
load: {concurrency: 2, requests: 24, warmup_requests: 2}
`

// Each request is answered, prompts have the length asked for by the server's own count, and its prefix cache does what is declared.
func TestWorkloads(t *testing.T) {
	needServer(t)
	t.Parallel()
	for name, w := range workloads {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "agents.jsonl"), agents(), 0o600); err != nil {
				t.Fatal(err)
			}
			preset := filepath.Join(dir, name+".cue")
			if err := os.WriteFile(preset, fmt.Appendf(nil, asking, vllm.base+"/v1", w.workload), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ := command(t, dir, "run", "--json", preset)
			run := decode[struct {
				Trials []struct {
					Notes  []string `json:"notes"`
					Points []struct {
						Repeats []struct {
							OK          int64    `json:"requests_ok"`
							PromptRatio *float64 `json:"prompt_length_ratio"`
							PromptOff   *float64 `json:"prompt_length_off_max"`
							OutputRatio *float64 `json:"output_length_ratio"`
							HitRatio    *float64 `json:"cache_hit_ratio"`
							Burst       *int64   `json:"agentic_warmup_requests_issued"`
						} `json:"repeats"`
					} `json:"points"`
				} `json:"trials"`
			}](t, out)
			r := run.Trials[0].Points[0].Repeats[0]
			if r.OK != 24 || r.OutputRatio == nil || *r.OutputRatio != 1 {
				t.Errorf("%d of 24 requests are ok, with %v of the output asked for", r.OK, r.OutputRatio)
			}
			if name == "fixed" && (r.PromptOff == nil || *r.PromptOff != 0) {
				t.Errorf("fixed prompts are off by %v", r.PromptOff)
			}
			if name == "random" && (r.PromptRatio == nil || *r.PromptRatio < 0.99 || *r.PromptRatio > 1.01) {
				t.Errorf("random prompts have %v of the tokens asked for", r.PromptRatio)
			}
			if r.HitRatio == nil || (*r.HitRatio > 0) != w.cached {
				t.Errorf("the prefix cache had %v of the prompt tokens", r.HitRatio)
			}
			if agentic := name == "tree" || name == "weka"; agentic && (r.Burst == nil || *r.Burst != 2) {
				t.Errorf("the burst of two lanes had %v requests", r.Burst)
			}
			for _, note := range run.Trials[0].Notes {
				t.Logf("%s: %s", name, note)
			}
		})
	}
}
