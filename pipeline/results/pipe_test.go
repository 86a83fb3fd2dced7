package results

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file of a run must not be waited for, whoever put it there.
func TestAPipeInARunIsNotWaitedFor(t *testing.T) {
	whole := damaged(t)
	var files []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(whole.Dir(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, path)
			}
		}
	}
	if len(files) < 8 {
		t.Fatalf("files %v", files)
	}
	for _, path := range files {
		name, _ := filepath.Rel(whole.Dir(), path)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			store := t.TempDir()
			dir := filepath.Join(store, whole.ID())
			if err := os.CopyFS(dir, os.DirFS(whole.Dir())); err != nil {
				t.Fatal(err)
			}
			pipe := filepath.Join(dir, name)
			if err := os.Remove(pipe); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				useAll(t, store, dir, name)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Error("it is waited for")
			}
		})
	}
}

// useAll does with a run what can be done.
func useAll(t *testing.T, store, dir, pipe string) {
	_, unread, err := Entries(store)
	if err != nil {
		t.Error(err)
	}
	run, err := Open(dir)
	if pipe == manifestFile {
		if err == nil || len(unread) != 0 && unread[0] == nil {
			t.Error("a pipe is taken for a manifest")
		}
	} else if err != nil {
		t.Error(err)
	} else {
		_, broken := readAll(run)
		if len(broken) == 0 && filepath.Dir(pipe) != "." && filepath.Dir(pipe) != string(GPU) {
			t.Error("nothing is said to be broken")
		}
		_, _ = Check(dir)
		if w, err := Resume(dir); err == nil {
			w.Close()
		}
	}
	if err := Delete(dir); err != nil {
		t.Errorf("deleting: %v", err)
	}
}
