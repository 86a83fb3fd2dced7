package clock

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func monotonic() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock: reading CLOCK_MONOTONIC: " + err.Error()) // the kernel has had it since 10.12
	}
	return Instant(ts.Nano())
}

func machineID() string {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "monotonic"
	}
	return "monotonic:" + strconv.FormatInt(boot.Sec, 10)
}
