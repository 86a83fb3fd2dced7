//go:build !linux

package service

import "syscall"

// adopts is whether a supervisor finds processes that leave their group and parent.
const adopts = false

// adopt does nothing: here a process that leaves its group and its parent can't be followed.
func adopt() error { return nil }

// apart is how a process is started in a group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// nothingBelow is asked when no child is left: of the groups that are known there may be more.
func nothingBelow(known []int) bool { return len(known) == 0 }

// below gives the groups that are known, as a signal is sent to a group: what left them is not found.
func below(known []int) []int { return groups(known) }

// carrying finds nothing: here other processes' environments can't be read.
func carrying(string) []int { return nil }
