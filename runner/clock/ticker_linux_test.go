package clock

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// open is how many descriptors the process has.
func open(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAStoppedTickerLeavesNoDescriptor(t *testing.T) {
	NewTicker(time.Hour).Stop() // the runtime's poller is there for good
	before := open(t)
	ticker := NewTicker(time.Hour)
	if during := open(t); during != before+1 {
		t.Errorf("%d descriptors before, %d with a ticker", before, during)
	}
	ticker.Stop()
	if after := open(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestWhereNoDescriptorIsLeftTimersWake(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	ticker := NewTicker(time.Millisecond)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	defer ticker.Stop()
	if _, ok := ticker.(*timerTicker); !ok {
		t.Errorf("without a descriptor it is %T", ticker)
	}
	if !ticker.Wait() {
		t.Error("it ended unasked")
	}
}
