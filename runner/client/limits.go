package client

import (
	"errors"

	"golang.org/x/sys/unix"
)

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

// exhausted says what to do where no connection was had because something of this machine's had run out, else "".
func exhausted(err error) string {
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return ": no local port was free; each closed connection may keep its own for a minute: widen the range (" + portSetting + "), or lower the load"
	case errors.Is(err, unix.EMFILE):
		return ": the limit on open files was reached: raise it (ulimit -n), or lower the load"
	}
	return ""
}

// maxDescriptors stands for a limit that is none.
const maxDescriptors = 1 << 30
