package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

const stdoutFile = "stdout"

// used is what a command and all processes below it took.
type used struct {
	cpu  time.Duration // in user mode and in the system
	peak int64         // bytes of memory, each shared page split between those that share it; the greatest of what was there each quarter of a second
}

// runWhole runs a command whose output goes to files of dir, and waits for it and for everything that it leaves behind. Descendants that nobody
// else waits for become children of this process, so that no CPU time is lost.
func runWhole(ctx context.Context, dir string, argv, env []string) (used, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return used{}, err
	}
	stdout, err := os.Create(filepath.Join(dir, stdoutFile))
	if err != nil {
		return used{}, err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return used{}, err
	}
	defer stderr.Close()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir, command.Stdout, command.Stderr, command.Env = dir, stdout, stderr, append(os.Environ(), env...)
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return unix.Kill(-command.Process.Pid, unix.SIGKILL) }
	if err := command.Start(); err != nil {
		return used{}, err
	}
	ended, watched := make(chan struct{}), make(chan int64, 1)
	go func() { watched <- watch(command.Process.Pid, ended) }()
	err = command.Wait()
	close(ended)
	u := used{peak: <-watched, cpu: command.ProcessState.UserTime() + command.ProcessState.SystemTime() + reap()}
	if err != nil {
		return u, fmt.Errorf("running %s: %w: see %s", argv[0], err, dir)
	}
	return u, nil
}

// reap waits for the descendants that are left in the tool's wake, and gives the CPU time that they took.
func reap() time.Duration {
	var cpu time.Duration
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return cpu
		}
		cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
}

// watch gives the most memory that the process and its descendants had at once, until ended is closed.
func watch(pid int, ended <-chan struct{}) int64 {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	var peak int64
	for {
		select {
		case <-ended:
			return peak
		case <-tick.C:
			peak = max(peak, memoryBelow(pid))
		}
	}
}

func memoryBelow(pid int) int64 {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0
	}
	children := map[int][]procfs.Proc{}
	var sum int64
	for _, p := range all {
		if p.PID == pid {
			sum += proportional(p)
			continue
		}
		if stat, err := p.Stat(); err == nil {
			children[stat.PPID] = append(children[stat.PPID], p)
		}
	}
	for below := children[pid]; len(below) > 0; below = below[1:] {
		sum += proportional(below[0])
		below = append(below, children[below[0].PID]...)
	}
	return sum
}

func proportional(p procfs.Proc) int64 {
	rollup, err := p.ProcSMapsRollup()
	if err != nil {
		return 0 // it has ended
	}
	return int64(rollup.Pss)
}
