package service

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopts is whether a supervisor finds processes that leave their group and parent.
const adopts = true

// adopt makes this process the parent of every process below it whose own parent has ended, so that none can leave it.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// apart is how a process is started in a group of its own. It is killed with this one, should this one be killed; the thread that starts it must
// live on for that.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// nothingBelow is asked when no child is left: then nothing is, as orphans become children.
func nothingBelow([]int) bool { return true }

// below lists the processes below this one, at any depth, those that have ended and were not waited for left out. The groups that are known are
// used only where there is no /proc.
func below(known []int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return groups(known)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, alive := parentOf(pid); alive {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return found
}

// parentOf reads /proc/PID/stat: the state and the parent stand behind the name, which is in parentheses and may hold any.
func parentOf(pid int) (parent int, alive bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 || string(fields[0]) == "Z" {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// carrying lists the processes, those that have ended left out, in whose environment a variable stood when they were started, NAME=VALUE.
func carrying(variable string) []int {
	entries, _ := os.ReadDir("/proc") // without it nothing is found
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"\x00")) {
			continue
		}
		if _, alive := parentOf(pid); alive {
			found = append(found, pid)
		}
	}
	return found
}
