package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweetspot/schema"
)

// launched starts a service and has it stopped, and looked for, at the end of the test.
func launched(t *testing.T, spec *schema.Process, o Options) *Service {
	t.Helper()
	s, err := Start(t.Context(), schema.Service{Process: spec}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestACommandIsStartedWithItsFlagsAndStoppedWhole(t *testing.T) {
	mark := markOf(t)
	o := marked(t, mark)
	var note string
	o.Note = func(text string) { note = text }
	secret := "s3cr3t-of-the-service"
	o.LookupEnv = environment(map[string]string{"THE_TOKEN": secret})
	o.Redact = func(text string) string { return strings.ReplaceAll(text, secret, schema.Redacted) }
	spec := served("serve-with-family")
	spec.Args = schema.Args{"port": "${PORT}", "x": true}
	spec.Env = map[string]schema.Header{"TOKEN": {Env: "THE_TOKEN"}}
	s := launched(t, spec, o)
	if got := post(t, s.URLs[0]+"/chat/completions", chat); !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the answer is %s", got)
	}
	running := processesOf(mark)
	if len(running) != 3 {
		t.Errorf("processes %v, want the server, one in its group and one that left it", running)
	}
	for pid := range running {
		if pid == s.child.(*supervised).pid() {
			t.Errorf("the supervisor %d is given the service's environment", pid)
		}
	}
	supervisor := readFile(t, fmt.Sprintf("/proc/%d/cmdline", s.child.(*supervised).pid()))
	if strings.Contains(supervisor, secret) || !strings.HasSuffix(supervisor, "\x00as\x00supervise\x00") {
		t.Errorf("the supervisor's command line is %q", supervisor)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stopping: %v", err)
	}
	noneLeft(t, mark)
	log := readFile(t, o.Log)
	port := s.URLs[0][strings.LastIndexByte(s.URLs[0], ':')+1 : len(s.URLs[0])-len("/v1")]
	if !strings.Contains(log, "args [--port "+port+" --x] token REDACTED\n") || strings.Contains(log, secret) || !strings.HasPrefix(log, "== 20") {
		t.Errorf("the log is %s", log)
	}
	if info, err := os.Stat(o.Log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log has %v, %v", info.Mode(), err)
	}
	if facts := s.Facts(); facts["ready_output_tokens"] != "1" || facts["service_started_in_s"] == "" || !strings.Contains(facts["service_command"], "--port ${PORT}") {
		t.Errorf("facts %v", facts)
	}
	if !strings.HasPrefix(note, "the service is up at "+s.URLs[0]+" after ") {
		t.Errorf("note %q", note)
	}
	if s.Err() != nil || s.Stop(context.Background()) != nil {
		t.Errorf("after the stop: %v", s.Err())
	}
}

func TestAStopInAHurryDoesNotWait(t *testing.T) {
	mark := markOf(t)
	spec := served("serve-with-family")
	spec.Stop.Grace = schema.Duration(time.Hour) // which a stubborn process would take
	s := launched(t, spec, marked(t, mark))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stopping: %v", err)
	}
	noneLeft(t, mark)
}

func TestNothingIsLeftOfAServiceWhoseParentIsKilled(t *testing.T) {
	for _, what := range []string{"serve-with-family", "bring-up"} {
		t.Run(what, func(t *testing.T) {
			mark := markOf(t)
			witness := filepath.Join(t.TempDir(), "taken-down")
			argv := append(self("parent"), what)
			if what == "bring-up" {
				argv = append(append(argv, self("take-down")...), witness, "${OUTPUT}")
			}
			parent := exec.Command(argv[0], argv[1:]...)
			parent.Env = append(os.Environ(), markName+"="+mark)
			parent.Stderr = os.Stderr
			stdout, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if len(processesOf(mark)) < 3 {
				t.Errorf("only %v run", processesOf(mark))
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			noneLeft(t, mark)
			if what == "bring-up" && readFile(t, witness) != "job-17" {
				t.Errorf("it was taken down with %q", readFile(t, witness))
			}
		})
	}
}

func TestACrashIsReportedAndLeavesNothing(t *testing.T) {
	mark := markOf(t)
	o := marked(t, mark)
	s := launched(t, served("serve-with-family"), o)
	group := s.child.(*supervised).group
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Over()
	want := fmt.Sprintf("process %d ended by itself (signal: killed): ", group)
	for _, err := range []error{s.Err(), s.Stop(context.Background())} {
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "stubborn is there") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
	noneLeft(t, mark)
}

func TestAKilledSupervisorTakesTheServiceWithIt(t *testing.T) {
	mark := markOf(t)
	s := launched(t, served("serve"), marked(t, mark))
	if err := syscall.Kill(s.child.(*supervised).pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Over()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "its supervisor was ended") {
		t.Errorf("got %v", err)
	}
	_ = s.Stop(context.Background())
	noneLeft(t, mark)
}

func TestAServiceThatACommandBringsUp(t *testing.T) {
	mark := markOf(t)
	witness := filepath.Join(t.TempDir(), "taken-down")
	o := marked(t, mark)
	spec := broughtUp(append(self("take-down"), witness, "${OUTPUT}"))
	spec.Log = self("load")
	s := launched(t, spec, o)
	if got := post(t, s.URLs[0]+"/chat/completions", chat); !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the answer is %s", got)
	}
	eventually(t, func() string {
		if !strings.Contains(readFile(t, o.Log), "loading weights") {
			return "its log is not followed"
		}
		return ""
	})
	if _, err := os.Stat(witness); err == nil || s.Err() != nil {
		t.Errorf("it was taken down before its end, or %v", s.Err())
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if got := readFile(t, witness); got != "job-17" {
		t.Errorf("it was taken down with %q", got)
	}
	noneLeft(t, mark)
}

func TestAStopCommandThatFailsIsReported(t *testing.T) {
	mark := markOf(t)
	s := launched(t, broughtUp(self("nothing")), marked(t, mark))
	err := s.Stop(context.Background())
	if err == nil || err.Error() != "the command that stops the service: exit status 1" {
		t.Errorf("got %v", err)
	}
	noneLeft(t, mark)
}

func TestWhyACommandDoesNotBecomeAService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := int64(listener.Addr().(*net.TCPAddr).Port)
	short := schema.Ready{Path: "/health", Timeout: schema.Duration(2 * time.Second)}
	for _, want := range []struct {
		name    string
		change  func(*schema.Process)
		message string
	}{
		{"ends", func(p *schema.Process) { p.Command = self("nothing") }, "ended by itself (exit status 1): as nothing: the disk is on fire"},
		{"never ready", func(p *schema.Process) {
			p.Command, p.Ready = []string{"sh", "-c", `printf 'loading \033[31mweights\033[0m 10 %%\n'; exec sleep 600`}, short
		},
			"it was not ready after 2s: asking http://127.0.0.1:PORT/health: dial tcp 127.0.0.1:PORT: connect: connection refused; it wrote last: loading weights 10 %"},
		{"no such program", func(p *schema.Process) { p.Command = []string{"no-such-program"} }, "looking for the command no-such-program: executable file not found in $PATH"},
		{"port taken", func(p *schema.Process) { p.Port = &taken }, "is taken, or may not be used: set another service.process.port"},
		{"no variable", func(p *schema.Process) { p.Env = map[string]schema.Header{"A": {Env: "NOT_SET"}} },
			"environment variable NOT_SET, which service.process.env.A names, is not set"},
		{"no key", func(p *schema.Process) { p.APIKeyEnv = "NOT_SET" }, "environment variable NOT_SET, which service.process.api_key_env names, is not set"},
		{"start fails", func(p *schema.Process) { *p = *broughtUp(self("nothing")); p.Start = self("nothing") }, "ended by itself (exit status 1): as nothing: the disk is on fire"},
		{"no URL", func(p *schema.Process) { *p = *broughtUp(self("nothing")); p.URLPattern = "at ([a-z]+)$" },
			`service.process.url_pattern "at ([a-z]+)$" is not in what its command wrote, which ends with "job-17"`},
		{"odd URL", func(p *schema.Process) { *p = *broughtUp(self("nothing")); p.URLPattern, p.URL = "job", "" },
			`its URL is to begin with http:// or https:// and a host, and is "job"`},
	} {
		t.Run(want.name, func(t *testing.T) {
			mark := markOf(t)
			spec := served("serve")
			want.change(spec)
			o := marked(t, mark)
			o.LookupEnv = environment(nil)
			_, err := Start(t.Context(), schema.Service{Process: spec}, o)
			if err == nil || !strings.Contains(portPattern.ReplaceAllString(err.Error(), ":PORT"), want.message) {
				t.Errorf("got %v, want %s", err, want.message)
			}
			noneLeft(t, mark)
		})
	}
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	mark := markOf(t)
	o := marked(t, mark)
	ctx, cancel := context.WithCancel(t.Context())
	o.Said = func(string) { cancel() } // when it is about to load
	_, err := Start(ctx, schema.Service{Process: served("load")}, o)
	if err == nil || !strings.Contains(err.Error(), "waiting for it to be ready: context canceled") {
		t.Errorf("got %v", err)
	}
	noneLeft(t, mark)
}

func TestWhatAKilledSupervisorLeavesIsEnded(t *testing.T) {
	for _, what := range []string{"serve-with-family", "bring-up"} {
		t.Run(what, func(t *testing.T) {
			mark := markOf(t)
			witness := filepath.Join(t.TempDir(), "taken-down")
			spec := served(what)
			if what == "bring-up" {
				spec = broughtUp(append(self("take-down"), witness, "${OUTPUT}"))
			}
			s := launched(t, spec, marked(t, mark))
			if err := syscall.Kill(s.child.(*supervised).pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-s.Over()
			if err := s.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "its supervisor was ended") {
				t.Errorf("stopped with %v", err)
			}
			if left := processesOf(mark); len(left) > 0 { // at once: the next service is started now
				t.Errorf("processes are left: %v", left)
			}
			if what == "bring-up" && readFile(t, witness) != "job-17" {
				t.Errorf("it was taken down with %q", readFile(t, witness))
			}
		})
	}
}

func TestAKilledSupervisorsStopCommandThatFailsIsToldBesideTheCrash(t *testing.T) {
	mark := markOf(t)
	s := launched(t, broughtUp(self("nothing")), marked(t, mark))
	if err := syscall.Kill(s.child.(*supervised).pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Over()
	var left *Left
	if err := s.Stop(context.Background()); !errors.As(err, &left) || left.Error() != "the command that stops the service: exit status 1" {
		t.Errorf("stopped with %v", err)
	}
	noneLeft(t, mark)
}
