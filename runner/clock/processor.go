package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Processor is the time that this process has used of all processors, in user mode and in the system. On a machine that is busy with something else it says
// more of what a task costs than the time that has passed.
func Processor() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic("clock: reading the processor time: " + err.Error()) // of the process itself it can always be read
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
