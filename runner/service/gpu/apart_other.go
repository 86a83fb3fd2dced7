//go:build !linux

package gpu

import "syscall"

// apart is how a process is started in a group of its own. When this one is killed, the next line that it writes ends it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
