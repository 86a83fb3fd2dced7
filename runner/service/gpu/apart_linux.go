package gpu

import "syscall"

// apart is how a process is started in a group of its own, to be killed with this one.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
