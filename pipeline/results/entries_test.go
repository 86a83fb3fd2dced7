package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is the run of that id among those of a store.
func entry(t *testing.T, store, id string) Entry {
	t.Helper()
	entries, _, err := Entries(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.RunID == id {
			return e
		}
	}
	t.Fatalf("no run %s in %+v", id, entries)
	return Entry{}
}

func summarise(t *testing.T, dir, body string) {
	t.Helper()
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.WriteSummary(run.Stamp(), []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// A summary is believed only while the manifest, the list of checksums and the folder of points are what they were.
func TestASummaryHoldsUntilTheRunChanges(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"manifest": func(dir string) error {
			m, err := readManifest(dir)
			if err != nil {
				return err
			}
			m.Status = Failed
			return writeManifest(dir, m)
		},
		"checksums": func(dir string) error { return os.WriteFile(filepath.Join(dir, sumsFile), []byte("more\n"), fileMode) },
		"a point":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "points", "x.parquet"), nil, fileMode) },
		"time of change": func(dir string) error {
			return os.Chtimes(filepath.Join(dir, manifestFile), time.Time{}, time.Unix(1, 0))
		},
		"the summary itself": func(dir string) error { return os.WriteFile(filepath.Join(dir, summaryFile), []byte("{"), fileMode) },
		"no body": func(dir string) error {
			run, err := Open(dir)
			if err != nil {
				return err
			}
			return run.WriteSummary(run.Stamp(), []byte("null"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			saved(t, store, "0aaa1111", "chat", 3)
			dir := filepath.Join(store, "0aaa1111")
			if err := os.Mkdir(filepath.Join(dir, "points"), dirMode); err != nil {
				t.Fatal(err)
			}
			if e := entry(t, store, "0aaa1111"); e.Body != nil || e.Name != "chat" {
				t.Errorf("without a summary: %+v", e)
			}
			summarise(t, dir, `{"trials":1}`)
			if e := entry(t, store, "0aaa1111"); string(e.Body) != `{"trials":1}` || e.Name != "chat" || e.Status != Completed {
				t.Errorf("with a summary: %+v", e)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if e := entry(t, store, "0aaa1111"); e.Body != nil || e.Name != "chat" {
				t.Errorf("after a change: %+v", e)
			}
		})
	}
}

func TestANameMeansTheRunThatGotItLast(t *testing.T) {
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 3)
	saved(t, store, "0abb2222", "chat", 5)
	summarise(t, filepath.Join(store, "0aaa1111"), `{}`)
	if run, _, err := Find(store, "chat"); err != nil || run.ID() != "0abb2222" {
		t.Errorf("%v, %v", run, err)
	}
	if err := Rename(filepath.Join(store, "0aaa1111"), "chat", time.Now()); err != nil {
		t.Fatal(err)
	}
	if run, _, err := Find(store, "chat"); err != nil || run.ID() != "0aaa1111" {
		t.Errorf("%v, %v", run, err)
	}
	if e := entry(t, store, "0aaa1111"); string(e.Body) != `{}` {
		t.Errorf("a new name costs the summary: %+v", e)
	}
}

func TestARunThatIsWrittenIsNeitherRenamedNorDeleted(t *testing.T) {
	w, err := Create(t.TempDir(), Manifest{Name: "chat", Status: Running, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"delete": Delete(w.Dir()), "rename": Rename(w.Dir(), "other", time.Now())} {
		if err == nil || !strings.Contains(err.Error(), "another process is writing it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), manifestFile), []byte("{"), fileMode); err != nil {
		t.Fatal(err)
	}
	if err := Delete(w.Dir()); err == nil {
		t.Error("a running run was deleted because its manifest is corrupt")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Delete(w.Dir()); err != nil {
		t.Errorf("a corrupt run stays: %v", err)
	}
	if _, err := os.Stat(w.Dir()); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}

func TestOnlyRunsAreDeleted(t *testing.T) {
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 3)
	if err := os.Rename(filepath.Join(store, "0aaa1111"), filepath.Join(store, "kept")); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string][]string{"website": {"manifest.json"}, "home": {"notes.txt"}, "deadbeef": {"notes.txt"}} {
		if err := os.Mkdir(filepath.Join(store, name), dirMode); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(store, name, file), []byte(`{"name":"site"}`), fileMode); err != nil {
				t.Fatal(err)
			}
		}
		if err := Delete(filepath.Join(store, name)); err == nil {
			t.Errorf("%s was deleted", name)
		}
	}
	if err := os.Symlink(filepath.Join(store, "kept"), filepath.Join(store, "0bbb1111")); err != nil {
		t.Fatal(err)
	}
	if err := Delete(filepath.Join(store, "0bbb1111")); err == nil {
		t.Error("what a link points to was deleted")
	}
	if err := os.Mkdir(filepath.Join(store, deleted+"0ccc1111"), dirMode); err != nil {
		t.Fatal(err)
	}
	if err := Delete(filepath.Join(store, "kept")); err != nil {
		t.Errorf("a run in a directory of another name stays: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(store, deleted+"*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// What can't be read can still be named: by its directory, or the start of that.
func TestBrokenRunsAreLocated(t *testing.T) {
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 3)
	saved(t, store, "0abb2222", "chat", 5)
	saved(t, store, "0abc3333", "chat", 6)
	for _, id := range []string{"0abb2222", "0abc3333"} {
		if err := os.WriteFile(filepath.Join(store, id, manifestFile), []byte("{"), fileMode); err != nil {
			t.Fatal(err)
		}
	}
	for argument, want := range map[string]string{"0abb2222": "0abb2222", "0abb": "0abb2222", "0aa": "0aaa1111", "chat": "0aaa1111", "latest": "0aaa1111"} {
		if dir, err := Locate(store, argument); err != nil || filepath.Base(dir) != want {
			t.Errorf("%s: %s, %v, want %s", argument, dir, err, want)
		}
	}
	if _, err := Locate(store, "0ab"); err == nil || !strings.Contains(err.Error(), "2 runs begin with it: 0abb2222, 0abc3333") {
		t.Errorf("error %v", err)
	}
	_, broken, err := Entries(store)
	var of *Unreadable
	if err != nil || len(broken) != 2 || !errors.As(broken[0], &of) || of.Dir != filepath.Join(store, "0abb2222") {
		t.Errorf("%v, %v", broken, err)
	}
}

// A process that is ended between making a run's directory and its manifest leaves a directory that a person must be able to see and delete.
func TestWhatAKillLeavesOfACreationIsNamed(t *testing.T) {
	store := t.TempDir()
	w, err := Create(store, Manifest{Name: "chat", Status: Running, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.Dir(), manifestFile)); err != nil {
		t.Fatal(err)
	}
	if entries, broken, err := Entries(store); len(entries)+len(broken) != 0 || err != nil {
		t.Errorf("while it is made: %v, %v, %v", entries, broken, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, broken, _ := Entries(store); len(broken) != 1 || !strings.Contains(broken[0].Error(), "was ended at once") {
		t.Errorf("broken %v", broken)
	}
}
