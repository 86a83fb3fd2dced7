package imports

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sweetspot/runner/disk"
)

func TestAPipeIsNotImported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := Open(path)
		opened <- err
	}()
	select {
	case err := <-opened:
		if !errors.Is(err, disk.ErrNoFile) {
			t.Errorf("opened with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it is waited for")
	}
}
