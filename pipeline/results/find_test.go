package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// saved makes a run with an id and a name, begun the given number of hours into a day.
func saved(t *testing.T, store, id, name string, hour int) {
	t.Helper()
	dir := filepath.Join(store, id)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		t.Fatal(err)
	}
	started := time.Date(2026, 11, 1, hour, 0, 0, 0, time.UTC)
	manifest := Manifest{SchemaVersion: SchemaVersion, RunID: id, Name: name, Status: Completed, CreatedAt: started}
	if err := writeManifest(dir, manifest); err != nil {
		t.Fatal(err)
	}
}

func TestRunsAreFoundByWhatAPersonTypes(t *testing.T) {
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 3)
	saved(t, store, "0abb2222", "chat", 5)
	saved(t, store, "1ccc3333", "0aaa", 4)
	saved(t, store, "2ddd4444", "1ccc3333", 1)
	if err := os.Mkdir(filepath.Join(store, "notes"), dirMode); err != nil {
		t.Fatal(err)
	}
	for argument, want := range map[string]string{
		"0aaa1111": "0aaa1111", "0ab": "0abb2222", "2": "2ddd4444", // ids and their starts
		"chat": "0abb2222", "latest": "0abb2222", // the newest
		"0aaa": "1ccc3333", "1ccc3333": "1ccc3333", // a name before a start, an id before a name
		filepath.Join(store, "0aaa1111"): "0aaa1111",
	} {
		run, _, err := Find(store, argument)
		if err != nil || run.ID() != want {
			t.Errorf("%s: %v, %v, want %s", argument, run, err, want)
		}
	}
	for argument, want := range map[string]string{
		"0":                           "finding run 0 in " + store + ": 2 runs begin with it: 0abb2222 (chat), 0aaa1111 (chat)",
		"":                            "there is no such id, start of an id, or name; the newest are 0abb2222 (chat), 1ccc3333 (0aaa), 0aaa1111 (chat), 2ddd4444 (1ccc3333)",
		"ff":                          "there is no such id",
		filepath.Join(store, "notes"): "it has no manifest.json: it is no run",
	} {
		if _, _, err := Find(store, argument); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", argument, err, want)
		}
	}
}

func TestAnEmptyStoreHasNoRuns(t *testing.T) {
	store := filepath.Join(t.TempDir(), "nowhere")
	if runs, broken, err := Entries(store); len(runs) != 0 || len(broken) != 0 || err != nil {
		t.Errorf("runs %v, broken %v, error %v", runs, broken, err)
	}
	if _, _, err := Find(store, "latest"); err == nil || !strings.Contains(err.Error(), "there are no runs in "+store) {
		t.Errorf("error %v", err)
	}
}

// One corrupt saved preset broke the whole listing of another tool (TRAPS.md, "Presets, sweeps and winners"): it is named and the rest is listed.
func TestABrokenRunIsNamedAndTheRestListed(t *testing.T) {
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 3)
	saved(t, store, "0abb2222", "chat", 5)
	path := filepath.Join(store, "0abb2222", manifestFile)
	if err := os.WriteFile(path, []byte("{"), fileMode); err != nil {
		t.Fatal(err)
	}
	runs, broken, err := Entries(store)
	wantBroken(t, broken, path, "it is corrupt")
	if err != nil || len(runs) != 1 || runs[0].RunID != "0aaa1111" {
		t.Errorf("runs %v, error %v", runs, err)
	}
	for _, argument := range []string{"0abb", "latest"} {
		_, broken, _ := Find(store, argument)
		wantBroken(t, broken, path, "it is corrupt")
	}
}

// A manifest that may not be read is whole: it is neither put back nor removed.
func TestAManifestThatMayNotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	store := t.TempDir()
	saved(t, store, "0aaa1111", "chat", 1)
	if err := os.Chmod(filepath.Join(store, "0aaa1111", manifestFile), 0); err != nil {
		t.Fatal(err)
	}
	_, _, err := Find(store, "0aaa1111")
	if err == nil || !strings.HasSuffix(err.Error(), "permission denied: have its owner let you read it") {
		t.Errorf("error %v", err)
	}
}
