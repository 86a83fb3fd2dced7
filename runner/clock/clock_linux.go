package clock

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func monotonic() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock: reading CLOCK_MONOTONIC: " + err.Error()) // the kernel has had it since 2.6
	}
	return Instant(ts.Nano())
}

func machineID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "monotonic"
	}
	return "monotonic:" + strings.TrimSpace(string(boot))
}
