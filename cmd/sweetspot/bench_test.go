package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// BenchmarkProcess tells what CPU time the whole command takes, built as users have it, from its start to its end, where it has little to do. The simulated
// service runs in this process, and is not counted.
func BenchmarkProcess(b *testing.B) {
	simulated, err := simulator.New(schema.Simulator{Profile: "large-gpu"}, simulator.Options{
		Model: "tiny", Clock: clock.New(), Paced: &simulator.Paced{FirstToken: 100 * time.Millisecond, Interval: 50 * time.Millisecond},
	})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(simulated.Handler())
	defer func() {
		server.Close()
		if err := simulated.Close(); err != nil {
			b.Error(err)
		}
	}()
	dir := b.TempDir()
	built := filepath.Join(dir, "sweetspot")
	if out, err := exec.Command("go", "build", "-race=false", "-o", built, ".").CombinedOutput(); err != nil {
		b.Fatalf("building the command: %v\n%s", err, out)
	}
	preset := func(requests, tokens int) string {
		path := filepath.Join(dir, fmt.Sprintf("%dx%d.cue", requests, tokens))
		text := fmt.Sprintf(`model: "tiny"
service: endpoint: url: "%s/v1"
workload: random: {prompt_tokens: 32, output_tokens: %d}
request: {api: "completions", ignore_eos: true}
load: {concurrency: 1, requests: %d, warmup_requests: 0}
`, server.URL, tokens, requests)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	store := filepath.Join(dir, "store")
	for _, c := range []struct {
		name string
		args []string
	}{
		{"help", []string{"--help"}},
		{"1x16", []string{"run", preset(1, 16), "--json", "--store", store}},
		{"2x100", []string{"run", preset(2, 100), "--json", "--store", store}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				command := exec.Command(built, c.args...)
				err := command.Run()
				if command.ProcessState == nil || command.ProcessState.ExitCode() > exitFailed { // a point that a busy client kept from winning is measured all the same
					b.Fatal(err)
				}
				took += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}
