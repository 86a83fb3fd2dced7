package client

import "golang.org/x/sys/unix"

// raiseDescriptors raises the limit on open files as far as the system lets it without asking, and returns it.
func raiseDescriptors() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxDescriptors // not limited by anything that is known
	}
	if raised := (unix.Rlimit{Cur: limit.Max, Max: limit.Max}); limit.Cur < limit.Max && unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return int64(min(limit.Cur, maxDescriptors))
}

// maxDescriptors stands for a limit that is none.
const maxDescriptors = 1 << 30
