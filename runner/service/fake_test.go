package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// markName is an environment variable that every process of a test inherits, so that /proc tells whose it is.
const markName = "SWEETSPOT_TEST_MARK"

// fake is what the test binary does as a part of a service that commands start.
func fake(what string, args []string) error {
	switch what {
	case "supervise":
		return Supervise(os.Stdin, os.Stdout, os.Stderr)
	case "serve":
		return serve(args)
	case "serve-with-family":
		if err := family(); err != nil {
			return err
		}
		return serve(args)
	case "family": // a daemon's parent ends and leaves it
		return run("stubborn", &syscall.SysProcAttr{Setsid: true})
	case "stubborn": // the signals that ask are not heard
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("stubborn is there")
		select {}
	case "load": // for ever
		fmt.Println("loading weights \x1b[31m10 %\x1b[0m")
		select {}
	case "bring-up": // a service that goes on elsewhere, and says where
		if err := run("serve", &syscall.SysProcAttr{Setsid: true}, args...); err != nil {
			return err
		}
		fmt.Printf("creating\nup at 127.0.0.1:%s\njob-17\n", args[1])
		return nil
	case "take-down":
		return os.WriteFile(args[0], []byte(args[1]), 0o600)
	case "parent": // of a service, to be killed
		return parent(args)
	}
	return errors.New("the disk is on fire")
}

// serve is a service at the port that its flags name. It says what it was started with.
func serve(args []string) error {
	fmt.Println("args", args, "token", os.Getenv("TOKEN"))
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[1])
	if err != nil {
		return err
	}
	server, err := simulator.New(schema.Simulator{Profile: "cpu"}, simulator.Options{Model: "tiny", Clock: clock.New()})
	if err != nil {
		return err
	}
	return server.Serve(context.Background(), listener)
}

// family is what a service may leave behind: a child in its group that does not hear, and one that left group and parent.
func family() error {
	if err := run("stubborn", nil); err != nil {
		return err
	}
	return exec.Command(os.Args[0], "as", "family").Run()
}

// run starts a part and does not wait for it. It inherits what the caller writes to, as a service's workers do.
func run(what string, attributes *syscall.SysProcAttr, args ...string) error {
	command := exec.Command(os.Args[0], append([]string{"as", what}, args...)...)
	command.SysProcAttr, command.Stdout, command.Stderr = attributes, os.Stderr, os.Stderr
	return command.Start()
}

func parent(args []string) error {
	spec := served(args[0])
	spec.Stop.Command = args[1:]
	if args[0] == "bring-up" {
		spec = broughtUp(args[1:])
	}
	s, err := Start(context.Background(), schema.Service{Process: spec}, Options{Model: "tiny", Supervisor: self("supervise"), Environ: os.Environ()})
	if err != nil {
		return err
	}
	fmt.Println(s.URLs[0])
	select {}
}

// served is a service in the foreground that the test binary plays.
func served(what string) *schema.Process {
	return &schema.Process{
		Command: self(what), VerifyTLS: true, Ready: schema.Ready{Path: "/health", Timeout: schema.Duration(time.Minute)},
		Stop: schema.Stop{Signal: "TERM", Grace: schema.Duration(300 * time.Millisecond)},
	}
}

// broughtUp is one that a command brings up, and another takes down.
func broughtUp(stop []string) *schema.Process {
	spec := served("")
	spec.Command, spec.Start, spec.Stop.Command = nil, append(self("bring-up"), "--port", schema.PortPlace), stop
	spec.Stop.Grace = schema.Duration(20 * time.Second) // none of it takes it
	spec.URLPattern, spec.URL = `up at (\S+)`, "http://${MATCH}/v1"
	return spec
}

// marked are the options for a service whose processes can be found by the mark.
func marked(t *testing.T, mark string) Options {
	t.Helper()
	return Options{
		Model: "tiny", Supervisor: self("supervise"), Environ: append(os.Environ(), markName+"="+mark), LookupEnv: os.LookupEnv,
		Log: filepath.Join(t.TempDir(), "service", "log"),
	}
}

// markOf is a mark of the test's own.
func markOf(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
}

// processesOf are the processes that carry a mark, with their command lines.
func processesOf(mark string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err == nil && bytes.Contains(environ, []byte(markName+"="+mark+"\x00")) {
			command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
			found[pid] = strings.ReplaceAll(string(command), "\x00", " ")
		}
	}
	return found
}

// noneLeft waits, for no longer than some seconds, until no process carries the mark.
func noneLeft(t *testing.T, mark string) {
	t.Helper()
	eventually(t, func() string {
		if left := processesOf(mark); len(left) > 0 {
			return fmt.Sprint("processes are left: ", left)
		}
		return ""
	})
}

// eventually waits until look has nothing to say.
func eventually(t *testing.T, look func() string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(15 * time.Second)
	for {
		said := look()
		if said == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(said)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
