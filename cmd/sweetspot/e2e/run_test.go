package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		PromptRatio    *float64 `json:"prompt_length_ratio"`
		MeanInFlight   *float64 `json:"steady_mean_requests_in_flight"`
	} `json:"repeats"`
}

// ladder is the preset of REAL-SERVERS: with 16 sequences at once the server's plateau begins at 16 and its TTFT cliff lies between 16 and 32.
const ladder = `
name: "ladder"
model: "tiny"
service: endpoint: {url: %q}
workload: random: {prompt_tokens: 200, output_tokens: 100}
request: {ignore_eos: true}
load: {concurrency: [1, 4, 16, 32], requests_per_slot: 6}
`

func TestTheWinnerMovesWithTheLimit(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	preset := filepath.Join(dir, "ladder.cue")
	if err := os.WriteFile(preset, fmt.Appendf(nil, ladder, vllm.base+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := command(t, dir, "run", "--json", preset)
	if code != 0 {
		t.Fatalf("run exits %d, want 0", code)
	}
	free := decode[document](t, out)
	points := free.Trials[0].Points
	for _, p := range points {
		checkWhole(t, p)
	}
	at := func(concurrency int64) point {
		return points[slices.IndexFunc(points, func(p point) bool { return p.Concurrency == concurrency })]
	}
	if got := *free.Trials[0].Selected; got != at(32).PointID {
		t.Errorf("without a limit point %s is selected, want %s: the one at 32", got, at(32).PointID)
	}

	before, after := *at(16).Repeats[0].TTFTP50, *at(32).Repeats[0].TTFTP50
	if before*1.5 > after {
		t.Fatalf("TTFT is %.3f s at 16 and %.3f s at 32: the server shows no cliff to choose by", before, after)
	}
	limit := fmt.Sprintf("%.0fms", (before+after)/2*1000)
	out, code = command(t, dir, "select", free.RunID, "--max-ttft", limit, "--json")
	if code != 0 {
		t.Fatalf("select exits %d, want 0", code)
	}
	limited := decode[document](t, out)
	if got := *limited.Trials[0].Selected; got != at(16).PointID {
		t.Errorf("with a limit of %s point %s is selected, want %s: the one at 16", limit, got, at(16).PointID)
	}
	if !limited.Trials[0].Feasible {
		t.Errorf("the winner with a limit of %s is not feasible", limit)
	}
}

// checkWhole holds a point against what was asked: all requests are there and ok, none more in flight than asked, prompts as long as asked.
func checkWhole(t *testing.T, p point) {
	t.Helper()
	for _, r := range p.Repeats {
		if r.Status != "completed" || r.RequestsIssued != max(20, 6*p.Concurrency) || r.RequestsOK != r.RequestsIssued {
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
