package results

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAFullDiskIsGivenTheRoomOfTheStreamOnce(t *testing.T) {
	w := newRun(t)
	k := keys(w.Run, pointA, 0, 0)
	stream(t, w, k, 3)
	m := MeasurementOf(k)
	path := w.path(m.file(partial, streamEnding))
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size() == 0 {
		t.Fatal("the stream is empty")
	}
	noRoom := fmt.Errorf("writing: %w", syscall.ENOSPC)
	first, small := 0, 0
	written := func() error { first++; return nil }
	err := w.makingRoom(m, []func() error{written, func() error {
		if small++; size() > 0 {
			return noRoom
		}
		return nil
	}})
	if err != nil || first != 1 || small != 2 || size() != 0 {
		t.Errorf("%v after %d and %d writes, the stream has %d bytes", err, first, small, size())
	}
	err = w.makingRoom(m, []func() error{func() error { return noRoom }})
	if err == nil || !strings.Contains(err.Error(), "free space, then go on with --resume "+w.ID()) {
		t.Errorf("a disk that stays full: %v", err)
	}
	w.Close()
	w = resume(t, w.Dir())
	if left, err := w.Partial(); err != nil || len(left) != 1 || left[0] != m {
		t.Errorf("the attempt is not used up: %v, %v", left, err)
	}
}
