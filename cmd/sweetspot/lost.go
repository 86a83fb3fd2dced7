package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// outOfMemory are the words of a Go program that its system gave no more memory, the last those of its race detector.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "failed to reserve", "errno=12", "errno: 12"}

// lost says why a process that looks at a file before this one does was lost, and reports whether it wanted more memory than it may have. What it said last must
// be with the error, as [exec.Cmd.Output] has it.
func lost(err *exec.ExitError) (memory bool, why string) {
	said := string(err.Stderr)
	for _, words := range outOfMemory {
		if strings.Contains(said, words) {
			return true, ""
		}
	}
	if status, ok := err.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return false, fmt.Sprintf("the process that looks at it first was ended (%v), as where the machine has no memory left: free some, and try again", err)
	}
	why = fmt.Sprintf("the process that looks at it first ended with %v", err)
	if first, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); first != "" {
		why += ": " + first
	}
	return false, why
}
