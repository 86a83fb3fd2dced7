package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// TestMain is a child, or a parent to be killed, where the test binary is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "as" {
		os.Exit(m.Run())
	}
	if err := as(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "as", os.Args[2]+":", err)
		os.Exit(1)
	}
}

func as(what string) error {
	switch what {
	case "child":
		return ServeChild(context.Background(), os.Stdin, os.Stdout)
	case "parent-of-simulator":
		s, err := Start(context.Background(), schema.Service{Simulator: &schema.Simulator{Profile: "cpu"}}, Options{Model: "tiny", Self: self("child")})
		if err != nil {
			return err
		}
		fmt.Println(s.child.(*process).pid(), s.URLs[0])
		select {} // until it is killed
	case "mute": // starts, and says nothing
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "deaf": // serves, and does not stop when told to
		signal.Ignore(syscall.SIGTERM)
		if err := json.NewEncoder(os.Stdout).Encode(childReady{URL: "http://127.0.0.1:1/v1"}); err != nil {
			return err
		}
		select {}
	case "chatty":
		fmt.Println("hello")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	default:
		return fake(what, os.Args[3:])
	}
}

func self(what string) []string { return []string{os.Args[0], "as", what} }

func start(t *testing.T, o Options) *Service {
	t.Helper()
	if o.Self == nil {
		o.Self = self("child")
	}
	o.Model = "tiny"
	s, err := Start(t.Context(), schema.Service{Simulator: &schema.Simulator{Profile: "cpu", Seed: 3}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

const chat = `{"model":"tiny","messages":[{"role":"user","content":"Tell me of the sea."}],"max_tokens":4,"stream":true}`

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// gone waits until nothing answers at url and the process has ended, for no longer than a few seconds.
func gone(t *testing.T, pid int, url string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(url + "/models")
		if err == nil {
			resp.Body.Close()
		}
		if err != nil && !alive(pid) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there (asking %s gives %v)", pid, url, err)
		}
	}
}

// alive is false for a process that ended and that its parent has yet to notice.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if runtime.GOOS != "linux" {
		return true
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(command) > 0
}

func TestTheSimulatedServiceRunsAsAChildUntilItIsStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	log := filepath.Join(dir, "service.log")
	var notes []string
	s := start(t, Options{Log: log, Note: func(text string) { notes = append(notes, text) }})
	if got := post(t, s.URLs[0]+"/chat/completions", chat); !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the answer is %s", got)
	}
	if want := fmt.Sprintf("simulated service cpu is up at %s (process %d)", s.URLs[0], s.child.(*process).pid()); len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if err := s.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	for range 2 {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
	if err := s.Err(); err != nil {
		t.Errorf("after it was stopped: %v", err)
	}
	if s.child.(*process).err != nil {
		t.Errorf("it did not end by itself when its input did: %v", s.child.(*process).err)
	}
	gone(t, s.child.(*process).pid(), s.URLs[0])
	for path, want := range map[string]os.FileMode{dir: 0o700, log: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, want)
		}
	}
}

func TestAStopWithRequestsOpenLeavesNothing(t *testing.T) {
	s := start(t, Options{Paced: &simulator.Paced{FirstToken: time.Hour}})
	for range 5 {
		resp, err := http.Post(s.URLs[0]+"/chat/completions", "application/json", strings.NewReader(chat))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stopping: %v", err)
	}
	gone(t, s.child.(*process).pid(), s.URLs[0])
}

func TestAKilledParentLeavesNoChild(t *testing.T) {
	argv := self("parent-of-simulator")
	parent := exec.Command(argv[0], argv[1:]...)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var url string
	if _, err := fmt.Fscan(bufio.NewReader(stdout), &pid, &url); err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("process %d does not run", pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	gone(t, pid, url)
}

func TestAChildThatEndsByItselfIsReported(t *testing.T) {
	s := start(t, Options{})
	if err := syscall.Kill(s.child.(*process).pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.child.over()
	for _, err := range []error{s.Err(), s.Stop(context.Background())} {
		if err == nil || !strings.Contains(err.Error(), "ended by itself (signal: killed)") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

func TestAChildThatDoesNotStopIsKilled(t *testing.T) {
	s := start(t, Options{Self: self("deaf")})
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no patience
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if alive(s.child.(*process).pid()) {
		t.Error("it is still there")
	}
}

func TestAServiceThatDoesNotStartSaysWhy(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "truth.jsonl")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	few := int64(1)
	simulated := schema.Service{Simulator: &schema.Simulator{Profile: "cpu"}}
	for _, want := range []struct {
		name    string
		ctx     context.Context
		service schema.Service
		options Options
		message string
	}{
		{"ends", t.Context(), simulated, Options{Self: self("nothing")}, "ended by itself (exit status 1): as nothing: the disk is on fire"},
		{"no such program", t.Context(), simulated, Options{Self: []string{"/no/such/program"}}, "starting the simulated service: fork/exec /no/such/program"},
		{"no command", t.Context(), simulated, Options{}, "there is no command line to start"},
		{"no URL", t.Context(), simulated, Options{Self: self("chatty")}, `wrote "hello" in the place of its URL`},
		{"no patience", cancelled, simulated, Options{Self: self("mute")}, "to be ready: context canceled"},
		{"log is there", t.Context(), simulated, Options{Self: self("child"), Truth: taken}, "making the simulated service's log: open " + taken},
		{"can't work", t.Context(), schema.Service{Simulator: &schema.Simulator{Profile: "cpu", NumGPUBlocks: &few}}, Options{Self: self("child")},
			"configuring the simulated service: max_model_len 4096 needs 32 blocks"},
		{"nothing", t.Context(), schema.Service{}, Options{}, "the service must be an endpoint, a process or the simulator"},
		{"no key", t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: "http://x", APIKeyEnv: "KEY"}}, Options{LookupEnv: environment(nil)},
			"environment variable KEY, which service.endpoint.api_key_env names, is not set"},
	} {
		t.Run(want.name, func(t *testing.T) {
			want.options.Model = "tiny"
			_, err := Start(want.ctx, want.service, want.options)
			if err == nil || !strings.Contains(err.Error(), want.message) {
				t.Errorf("got %v, want %q", err, want.message)
			}
		})
	}
}

func TestTheChildWritesTheTruth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	s := start(t, Options{Truth: path, Paced: &simulator.Paced{FirstToken: time.Millisecond, Interval: time.Millisecond, Tokens: 3}})
	post(t, s.URLs[0]+"/chat/completions", chat)
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log, err := simulator.ReadLog(file)
	if err != nil || len(log.Requests) != 1 || log.Requests[0].OutputTokens != 3 {
		t.Errorf("the log is %+v, %v", log, err)
	}
}

func TestServeChildNeedsItsConfiguration(t *testing.T) {
	for _, input := range []string{"", "{", `{"model":"m","simulator":{"profile":"none"}}`} {
		if err := ServeChild(t.Context(), strings.NewReader(input), io.Discard); err == nil {
			t.Errorf("%q was taken", input)
		}
	}
}

func TestServeChildEndsWhenItsInputEnds(t *testing.T) {
	in, tell := io.Pipe()
	hear, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeChild(t.Context(), in, out) }()
	if _, err := io.WriteString(tell, `{"model":"tiny","simulator":{"profile":"cpu"}}`); err != nil {
		t.Fatal(err)
	}
	var ready childReady
	if err := json.NewDecoder(hear).Decode(&ready); err != nil || !strings.HasPrefix(ready.URL, "http://127.0.0.1:") {
		t.Fatalf("ready %+v, %v", ready, err)
	}
	tell.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
