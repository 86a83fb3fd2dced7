package clock

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewTicker wakes by a timer of the kernel, which a process that sleeps is woken by once, and in time: by Go's, it is woken twice and more. Where no descriptor
// is left it wakes by Go's.
func NewTicker(period time.Duration) Ticker {
	t, err := newKernelTicker(period)
	if err != nil {
		return NewTimerTicker(period)
	}
	return t
}

type kernelTicker struct {
	file *os.File // of the timer, which the runtime's poller waits for
	raw  syscall.RawConn
	read func(fd uintptr) bool
}

func newKernelTicker(period time.Duration) (*kernelTicker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &kernelTicker{file: os.NewFile(uintptr(fd), "timer"), read: readTimer}
	every := unix.NsecToTimespec(period.Nanoseconds())
	if err = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err == nil {
		t.raw, err = t.file.SyscallConn()
	}
	if err == nil {
		err = t.file.SetDeadline(time.Time{}) // fails where the poller can't wait for it
	}
	if err != nil {
		t.Stop()
		return nil, err
	}
	return t, nil
}

// Wait does not allocate.
func (t *kernelTicker) Wait() bool { return t.raw.Read(t.read) == nil }

func (t *kernelTicker) Stop() { _ = t.file.Close() }

// readTimer takes how many periods have ended, and reports false where none has. The call does not block, so the runtime, whose watching thread it would wake
// otherwise, is not told of it.
func readTimer(fd uintptr) bool {
	var periods uint64
	_, _, err := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&periods)), unsafe.Sizeof(periods))
	return err != unix.EAGAIN
}
