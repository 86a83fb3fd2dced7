package service

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Left is that something of a service may be left when it was stopped: it may cost money, or take the place of the next.
type Left struct{ why string }

func (l *Left) Error() string { return l.why }

// MayBeLeft tells it from other errors of a stop where this package is not known.
func (l *Left) MayBeLeft() {}

// mayBeLeft is a [Left], or nil. The caller holds the lock.
func (s *supervised) mayBeLeft() error {
	switch {
	case s.left != nil && s.up != "":
		return &Left{fmt.Sprintf("%s; processes %v could not be killed: they may wait for a device", s.up, s.left)}
	case s.left != nil:
		return &Left{fmt.Sprintf("processes %v could not be killed: they may wait for a device", s.left)}
	case s.up != "":
		return &Left{s.up}
	}
	return nil
}

// serviceMark is the environment variable by which every process is found that comes of a service's command: its value is that of no other service.
const serviceMark = "SWEETSPOT_SERVICE"

func newMark() string { return serviceMark + "=" + rand.Text() }

// takeOver does what a supervisor that was killed can't do any more: it runs the command that stops the service, unless that was done, and ends every process
// that is left.
func (s *supervised) takeOver() {
	s.mu.Lock()
	what, returned, group, down := s.what, s.returned, s.group, s.down
	s.mu.Unlock()
	up := ""
	if what.Returns && len(what.Stop.Words) > 0 && !down {
		if err := s.runStop(what.Stop.with(returned), what); err != nil {
			up = stopFault + ": " + err.Error()
		}
	}
	left := sweepMarked(group, s.mark)
	s.mu.Lock()
	defer s.mu.Unlock()
	if up != "" {
		s.up = up
	}
	s.left = left
}

// runStop runs the command that stops the service, for no longer than the grace that it has.
func (s *supervised) runStop(line line, what orders) error {
	command := &exec.Cmd{Path: line.Path, Args: line.Words, Env: what.Env, Stdout: s.command, Stderr: s.command, WaitDelay: pipeGrace,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if err := command.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(time.Duration(what.Grace), func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	err := command.Wait()
	if !late.Stop() {
		return fmt.Errorf("it did not return after %v", time.Duration(what.Grace))
	}
	if errors.Is(err, exec.ErrWaitDelay) { // what it left holds its output open
		return nil
	}
	return err
}

// sweepMarked kills what is left of a service whose supervisor is gone: the group of its command, and every process that carries its mark. It gives those that
// could not be killed.
func sweepMarked(group int, mark string) []int {
	_ = syscall.Kill(-group, syscall.SIGKILL)
	for deadline := time.Now().Add(killGrace); ; time.Sleep(killPause) {
		left := carrying(mark)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
