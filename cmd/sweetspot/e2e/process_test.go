package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// swept has the server started by the run itself, once with each number of sequences at once.
const swept = `
name: "swept"
model: "tiny"
service: process: {
	command: [%[1]q, "-m", "vllm.entrypoints.openai.api_server"]
	args: {
		model: %[2]q, "served-model-name": "tiny", host: "127.0.0.1", "max-model-len": 4096
		"enforce-eager": true, "enable-prompt-tokens-details": true
	}
	env: {
		VLLM_CPU_OMP_THREADS_BIND: "1", VLLM_CPU_KVCACHE_SPACE: "1", HF_HUB_OFFLINE: "1", TRANSFORMERS_OFFLINE: "1", VLLM_NO_USAGE_STATS: "1"
		SWEETSPOT_TEST_MARK: %[3]q
	}
	ready: timeout: "5m"
}
workload: random: {prompt_tokens: 100, output_tokens: 50}
request: ignore_eos: true
load: {concurrency: [1, 4, 8], requests: 24}
matrix: {"service.process.args.max-num-seqs": [2, 16]}
`

// sweptDocument is what this test reads of the result.
type sweptDocument struct {
	RunID  string `json:"run_id"`
	Trials []struct {
		TrialID   string  `json:"trial_id"`
		TrialName string  `json:"trial_name"`
		Points    []point `json:"points"`
	} `json:"trials"`
}

// TestAServerIsStartedSweptAndKilled has vLLM started for two trials, and kills it while it is measured: that costs one point and one more start, and
// no process is left.
func TestAServerIsStartedSweptAndKilled(t *testing.T) {
	needServer(t)
	t.Parallel() // it waits for servers to start, on the processor that the other server leaves
	dir, env := t.TempDir(), os.Getenv("SWEETSPOT_VLLM")
	mark := fmt.Sprintf("e2e-%d", os.Getpid())
	preset := filepath.Join(dir, "swept.cue")
	text := fmt.Sprintf(swept, filepath.Join(env, "bin", "python"), filepath.Join(env, "model"), mark)
	if err := os.WriteFile(preset, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run, progress := killedOnce(t, dir, preset, mark)
	if left := marked(mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	starts := strings.Count(progress, "starting the service: ") + strings.Count(progress, "starting the service again: ")
	if starts != 3 {
		t.Errorf("%d starts, want one for each trial and one more after the kill:\n%s", starts, progress)
	}
	if len(run.Trials) != 2 || run.Trials[0].TrialName != "max-num-seqs=2" || run.Trials[1].TrialName != "max-num-seqs=16" {
		t.Fatalf("trials %+v", run.Trials)
	}
	var failed []string
	at := map[string]float64{}
	for _, trial := range run.Trials {
		for _, p := range trial.Points {
			if p.Repeats[0].Status != "completed" {
				failed = append(failed, fmt.Sprint(trial.TrialName, " ", p.Concurrency, " ", p.Reasons))
				continue
			}
			at[fmt.Sprint(trial.TrialName, " ", p.Concurrency)] = p.ttft()
		}
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "max-num-seqs=2 1 ") || !strings.Contains(failed[0], "ended in the middle of the point") ||
		!strings.Contains(failed[0], "signal: killed") {
		t.Errorf("failed points %q, want the one during which the server was killed", failed)
	}
	if few, many := at["max-num-seqs=2 8"], at["max-num-seqs=16 8"]; few < 2*many {
		t.Errorf("at 8 requests in flight the first token comes after %.3f s with 2 sequences and %.3f s with 16: the flag does not reach the server", few, many)
	}
	log, err := os.ReadFile(filepath.Join(dir, "results", run.RunID, "service", run.Trials[0].TrialID+".log"))
	if err != nil || bytes.Count(log, []byte("== ")) < 2 || !bytes.Contains(log, []byte("Application startup complete")) {
		t.Errorf("the log of the first trial has %d bytes, %v", len(log), err)
	}
}

// killedOnce runs the preset and kills the server when its first point is measured.
func killedOnce(t *testing.T, dir, preset, mark string) (sweptDocument, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sweetspot, "run", "--json", preset)
	cmd.Dir = dir
	var stdout, told bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(10*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	killed := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&told, lines.Text())
		if _, after, up := strings.Cut(lines.Text(), "(process "); up && !killed {
			killed = true
			pid, err := strconv.Atoi(strings.TrimSuffix(after, ")"))
			if err != nil {
				t.Fatal(err)
			}
			killInTheMiddle(t, pid, lines.Text())
		}
	}
	_ = cmd.Wait() // the verdict hangs on how busy the machine is
	t.Logf("%s", told.String())
	return decode[sweptDocument](t, stdout.String()), told.String()
}

// killInTheMiddle waits until the server has answered requests of the first point, and kills it.
func killInTheMiddle(t *testing.T, pid int, up string) {
	t.Helper()
	base := up[strings.Index(up, "http://"):]
	s := &server{base: base[:strings.Index(base, "/v1")]}
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for start := s.counter(t, "vllm:generation_tokens_total"); s.counter(t, "vllm:generation_tokens_total") < start+300; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the first point does not begin")
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// marked are the processes that inherited the mark.
func marked(mark string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		if environ, err := os.ReadFile(path); err == nil && bytes.Contains(environ, []byte("SWEETSPOT_TEST_MARK="+mark)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}
