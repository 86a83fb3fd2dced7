package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func held(t *testing.T, path, want string, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want || info.Mode() != mode {
		t.Errorf("%s has %q and mode %v (%v), want %q and %v", path, got, info.Mode(), err, want, mode)
	}
}

// within fails the test where what may hang does.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
}

func TestOnlyFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe(t), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe(t), link, dir, os.DevNull} {
		within(t, func() {
			if _, err := Open(path); !errors.Is(err, ErrNoFile) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || string(got) != "abc" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestAFileIsReplacedWholeAndKeepsItsPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, text("new")); err != nil {
		t.Fatal(err)
	}
	held(t, path, "new", 0o600)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Write(path, func(w io.Writer) error { return errors.Join(text("half")(w), broken) }); !errors.Is(err, broken) {
		t.Errorf("a fault of the content: %v", err)
	}
	held(t, path, "new", 0o644)
	if err := Write(path, text("newer")); err != nil {
		t.Fatal(err)
	}
	held(t, path, "newer", 0o644)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	target := filepath.Join(there, "target")
	link, linkToLink := filepath.Join(dir, "link"), filepath.Join(dir, "links")
	for from, to := range map[string]string{link: target, linkToLink: "link"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range []string{"made", "made anew"} { // where the target is not there, and where it is
		if err := Write(linkToLink, text(content)); err != nil {
			t.Fatal(err)
		}
		held(t, target, content, 0o600)
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Errorf("the link leads to %q, %v", to, err)
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, text("x")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestWhatIsNoFileStays(t *testing.T) {
	path := pipe(t)
	got := make(chan string, 1)
	go func() {
		read, _ := os.ReadFile(path)
		got <- string(read)
	}()
	within(t, func() {
		if err := Write(path, text("through")); err != nil {
			t.Error(err)
		}
		if read := <-got; read != "through" {
			t.Errorf("the pipe gave %q", read)
		}
	})
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the pipe is now %v, %v", info.Mode(), err)
	}
}

func TestWhatCantBeWrittenIsSaid(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{"": "name a file", dir: "it is a folder", dir + "/no/file": "no such file"} {
		if err := Write(path, text("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	full := filepath.Join(dir, "full") // a link, so that a fault of Write can't replace the device itself
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no /dev/full")
	}
	if err := Write(full, text("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}
