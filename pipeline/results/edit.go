package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sweetspot/runner/disk"
)

// Rename gives the run in dir a name, which then means this run. It refuses a run that a process is writing.
func Rename(dir, name string, at time.Time) (err error) {
	run, err := Open(dir)
	if err != nil {
		return err
	}
	w, err := hold(run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	kept, holds := readSummary(dir)
	if run.manifest, err = readManifest(dir); err != nil { // again, now that nobody else writes it
		return err
	}
	if err := w.Update(func(m *Manifest) { m.Name, m.NamedAt = name, &at }); err != nil {
		return err
	}
	if !holds {
		return nil
	}
	_ = run.WriteSummary(run.Stamp(), kept.Body) // what it says of the tables still holds
	return nil
}

// deleted is how the name of a run's directory begins while it is removed.
const deleted = ".deleted-"

// Delete removes the run in dir, whether it can be read or not. It refuses a run that a process is writing, and a directory that is no run's. A listing sees all
// of the run or nothing; what a kill leaves of the removal is removed by the next one.
func Delete(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("deleting run %s: %w", dir, err)
	}
	if err := isRun(dir); err != nil {
		return fmt.Errorf("deleting run %s: %w", dir, err)
	}
	w, err := hold(&Run{dir, Manifest{RunID: filepath.Base(dir)}})
	if err != nil {
		return err
	}
	store, base := filepath.Split(dir)
	gone := filepath.Join(store, deleted+base)
	err = os.RemoveAll(gone)
	if err == nil {
		err = os.Rename(dir, gone)
	}
	if err == nil {
		err = syncDir(store)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("deleting run %s: %w", dir, err)
	}
	return removeLeft(store)
}

// removeLeft removes the directories of a store whose removal was begun.
func removeLeft(store string) error {
	left, err := filepath.Glob(filepath.Join(store, deleted+"*"))
	if err != nil {
		return fmt.Errorf("removing what is left of a run: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing what is left of a run: %w", err)
		}
	}
	return nil
}

// isRun says why dir is no run's: it has neither a run's id for a name with something of a run in it, nor a manifest that says which run it is.
func isRun(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	if runID.MatchString(filepath.Base(dir)) {
		for _, name := range []string{manifestFile, lockFile, sumsFile} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return nil
			}
		}
	}
	text, err := disk.Read(filepath.Join(dir, manifestFile))
	if err != nil {
		return errNoRun
	}
	var m struct {
		SchemaVersion *int   `json:"schema_version"`
		RunID         string `json:"run_id"`
	}
	if json.Unmarshal(text, &m) != nil || m.SchemaVersion == nil || m.RunID == "" {
		return fmt.Errorf("its %s is not that of a run", manifestFile)
	}
	return nil
}
