package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var (
	sweetspot string // the built command
	vllm      *server
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv("SWEETSPOT_E2E") != "1" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sweetspot-e2e")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if sweetspot, err = build(dir); err != nil {
		return fail(err)
	}
	if vllm, err = startVLLM(os.Getenv("SWEETSPOT_VLLM"), filepath.Join(dir, "vllm.log")); err != nil {
		return fail(err)
	}
	defer vllm.stop()
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// needServer skips a test where the real parts are not asked for.
func needServer(t *testing.T) {
	t.Helper()
	if os.Getenv("SWEETSPOT_E2E") != "1" {
		t.Skip("needs a real inference server: run with SWEETSPOT_E2E=1, as .ci/run does")
	}
}

func build(dir string) (string, error) {
	path := filepath.Join(dir, "sweetspot")
	if out, err := exec.Command("go", "build", "-race=false", "-o", path, "sweetspot/cmd/sweetspot").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the command: %w\n%s", err, out)
	}
	return path, nil
}

// server is a vLLM that runs in its own process group.
type server struct {
	base  string // http://127.0.0.1:PORT
	group *exec.Cmd
	ended chan error
}

// startVLLM starts the real server from the environment env, made by ".ci/python vllm", and waits until it answers.
func startVLLM(env, log string) (*server, error) {
	if env == "" {
		return nil, errors.New("SWEETSPOT_VLLM must name the environment that .ci/python vllm prints")
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(env, "bin", "python"), "-m", "vllm.entrypoints.openai.api_server",
		"--model", filepath.Join(env, "model"), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--max-model-len", "4096", "--max-num-seqs", "16", "--enforce-eager", "--enable-prompt-tokens-details")
	// The model computes on one processor and leaves the others to the client: a client that is kept from running says so, and can't be trusted.
	cmd.Env = append(os.Environ(), "VLLM_CPU_OMP_THREADS_BIND=0", "VLLM_CPU_KVCACHE_SPACE=1", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_SERVER_DEV_MODE=1")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting vLLM: %w", err)
	}
	s := &server{base: fmt.Sprintf("http://127.0.0.1:%d", port), group: cmd, ended: make(chan error, 1)}
	go func() { s.ended <- cmd.Wait() }()
	if err := s.await(5 * time.Minute); err != nil {
		s.stop()
		text, _ := os.ReadFile(log)
		return nil, fmt.Errorf("%w; its output ends with:\n%s", err, tail(text, 4000))
	}
	return s, nil
}

func (s *server) await(limit time.Duration) error {
	deadline := time.After(limit)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("vLLM ended before it was ready: %w", err)
		case <-deadline:
			return fmt.Errorf("vLLM was not ready after %v", limit)
		case <-tick.C:
			if answer, err := http.Get(s.base + "/health"); err == nil {
				answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
	}
}

// stop ends the whole group: its terminal signal first, then the one it can't refuse.
func (s *server) stop() {
	syscall.Kill(-s.group.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
	}
	syscall.Kill(-s.group.Process.Pid, syscall.SIGKILL)
}

// counter is the sum over labels of one of the server's own counters.
func (s *server) counter(t *testing.T, name string) int64 {
	t.Helper()
	answer, err := http.Get(s.base + "/metrics")
	if err != nil {
		t.Fatalf("reading the server's metrics: %v", err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatalf("parsing the server's metrics: %v", err)
	}
	family, ok := families[name]
	if !ok {
		t.Fatalf("the server has no counter %s", name)
	}
	var sum float64
	for _, metric := range family.GetMetric() {
		sum += metric.GetCounter().GetValue()
	}
	return int64(sum)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// command runs the built command in dir and gives its standard output and exit code.
func command(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, sweetspot, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	t.Logf("sweetspot %v\n%s", args, stderr.String())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running the command: %v", err)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("decoding %.200q: %v", text, err)
	}
	return value
}
