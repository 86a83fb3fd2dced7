package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// document is what this test reads of the JSON that run, select and show print.
type document struct {
	RunID  string  `json:"run_id"`
	Status string  `json:"status"`
	Winner *string `json:"winner"`
	Trials []struct {
		Selected *string `json:"selected"`
		Feasible bool    `json:"feasible"`
		Points   []point `json:"points"`
	} `json:"trials"`
}

type point struct {
	PointID     string   `json:"point_id"`
	Concurrency int64    `json:"concurrency"`
	Eligible    bool     `json:"eligible"`
	Reasons     []string `json:"reasons"`
	Repeats     []struct {
		Status         string   `json:"status"`
		RequestsIssued int64    `json:"requests_issued"`
		RequestsOK     int64    `json:"requests_ok"`
		OutputTokens   int64    `json:"output_tokens"`
		TTFTP50        *float64 `json:"ttft_p50_s"`
		OutputTokPerS  *float64 `json:"output_tok_per_s"`
		PromptRatio    *float64 `json:"prompt_length_ratio"`
		MeanInFlight   *float64 `json:"steady_mean_requests_in_flight"`
	} `json:"repeats"`
}

// ladder is the preset of this test: with 16 sequences at once the server's TTFT cliff lies between 16 and 32.
const ladder = `
name: "ladder"
model: "tiny"
service: endpoint: {url: %q}
workload: random: {prompt_tokens: 200, output_tokens: 100}
request: {ignore_eos: true}
load: {concurrency: [1, 4, 16, 32], requests_per_slot: 5}
`

func TestTheWinnerMovesWithTheLimit(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	preset := filepath.Join(dir, "ladder.cue")
	if err := os.WriteFile(preset, fmt.Appendf(nil, ladder, vllm.base+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := measured(t, dir, preset)
	points := run.Trials[0].Points
	at := map[int64]point{}
	best := points[0]
	for _, p := range points {
		checkWhole(t, p)
		at[p.Concurrency] = p
		if p.throughput() > best.throughput() {
			best = p
		}
	}
	if best.Concurrency < 16 {
		t.Errorf("the server gives most at %d: it shows no plateau", best.Concurrency)
	}
	checkSelected(t, run, "no limit", best)

	// Each limit lies between two points: the winner is the one before it, though the server gives more after it.
	for before, after := range map[int64]int64{4: 16, 16: 32} {
		low, high := at[before].ttft(), at[after].ttft()
		if low*1.2 > high {
			t.Errorf("TTFT is %.3f s at %d and %.3f s at %d: there is no limit between them", low, before, high, after)
			continue
		}
		limit := fmt.Sprintf("%.2fms", (low+high)/2*1000)
		out, code := command(t, dir, "select", run.RunID, "--max-ttft", limit, "--json")
		if code != 0 {
			t.Errorf("select with a limit of %s exits %d, want 0", limit, code)
		}
		limited := decode[document](t, out)
		checkSelected(t, limited, "a limit of "+limit, at[before])
		if !limited.Trials[0].Feasible {
			t.Errorf("the winner with a limit of %s is not feasible", limit)
		}
	}
}

// measured runs the preset and holds its tokens against the server's own counters. The client shares two processors with the server and is at times
// kept from running, which it says: then the run is made again.
func measured(t *testing.T, dir, preset string) document {
	t.Helper()
	const tries = 4
	for n := 1; ; n++ {
		before := vllm.tokens(t)
		out, _ := command(t, dir, "run", "--json", preset)
		run := decode[document](t, out)
		checkTokens(t, filepath.Join(dir, "results", run.RunID), before, vllm.tokens(t))
		if n == tries || !slices.ContainsFunc(run.Trials[0].Points, point.clientLimited) {
			return run
		}
	}
}

func (p point) clientLimited() bool {
	return slices.ContainsFunc(p.Reasons, func(reason string) bool { return strings.Contains(reason, "client lag") })
}

func (p point) ttft() float64       { return *p.Repeats[0].TTFTP50 }
func (p point) throughput() float64 { return *p.Repeats[0].OutputTokPerS }

func checkSelected(t *testing.T, run document, with string, want point) {
	t.Helper()
	if got := run.Trials[0].Selected; got == nil || *got != want.PointID {
		t.Errorf("with %s the point at %d is not the one selected", with, want.Concurrency)
	}
}

// checkWhole holds a point against what was asked: all requests are there and ok, none more in flight than asked, prompts as long as asked.
func checkWhole(t *testing.T, p point) {
	t.Helper()
	for _, r := range p.Repeats {
		if r.Status != "completed" || r.RequestsIssued != max(20, 5*p.Concurrency) || r.RequestsOK != r.RequestsIssued {
			t.Errorf("concurrency %d: %s with %d of %d requests ok", p.Concurrency, r.Status, r.RequestsOK, r.RequestsIssued)
		}
		if r.OutputTokens != 100*r.RequestsOK {
			t.Errorf("concurrency %d: %d output tokens, want 100 for each of %d requests", p.Concurrency, r.OutputTokens, r.RequestsOK)
		}
		if *r.PromptRatio < 0.99 || *r.PromptRatio > 1.01 {
			t.Errorf("concurrency %d: prompts have %.3f of the tokens asked for", p.Concurrency, *r.PromptRatio)
		}
		if *r.MeanInFlight < 0.95*float64(p.Concurrency) || *r.MeanInFlight > float64(p.Concurrency) {
			t.Errorf("concurrency %d: %.2f requests in flight", p.Concurrency, *r.MeanInFlight)
		}
	}
	if !p.Eligible {
		t.Errorf("concurrency %d is not eligible: %s", p.Concurrency, strings.Join(p.Reasons, "; "))
	}
}

// tokens are counts of prompt and output tokens.
type tokens struct {
	Prompt int64 `json:"prompt"`
	Output int64 `json:"output"`
}

// tokens are all that the server has counted since it started.
func (s *server) tokens(t *testing.T) tokens {
	t.Helper()
	return tokens{s.counter(t, "vllm:prompt_tokens_total"), s.counter(t, "vllm:generation_tokens_total")}
}

// sums reads the stored requests of a run as an analyst does, with DuckDB.
const sums = `
import duckdb, json, sys
row = duckdb.sql(f"select sum(prompt_tokens)::bigint, sum(output_tokens)::bigint from '{sys.argv[1]}/requests/*.parquet'").fetchall()[0]
print(json.dumps({"prompt": row[0], "output": row[1]}))
`

// checkTokens holds the stored token counts of every request, and of those sent before the first point, against the server's own counters.
func checkTokens(t *testing.T, run string, before, after tokens) {
	t.Helper()
	out, err := exec.Command(filepath.Join(os.Getenv("SWEETSPOT_READERS"), "bin", "python"), "-c", sums, run).Output()
	if err != nil {
		t.Fatalf("reading the stored requests: %v", err)
	}
	stored := decode[tokens](t, string(out))
	text, err := os.ReadFile(filepath.Join(run, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := decode[struct {
		Services map[string]map[string]string `json:"services"`
	}](t, string(text))
	for _, facts := range manifest.Services {
		stored.Prompt += number(t, facts["preflight_prompt_tokens"])
		stored.Output += number(t, facts["preflight_output_tokens"])
	}
	if counted := (tokens{after.Prompt - before.Prompt, after.Output - before.Output}); stored != counted {
		t.Errorf("stored are %+v tokens, the server counted %+v", stored, counted)
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("the manifest has %q where a number is needed", text)
	}
	return n
}
