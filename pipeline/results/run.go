package results

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const lockFile = "lock"

// Run is the directory of one run, for reading. It may be read while it is written.
type Run struct {
	dir      string
	manifest Manifest
}

// Open opens the run in dir.
func Open(dir string) (*Run, error) {
	manifest, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Run{dir, manifest}, nil
}

// ID is the run's id.
func (r *Run) ID() string { return r.manifest.RunID }

// Dir is the run's directory.
func (r *Run) Dir() string { return r.dir }

// Manifest is what the run's manifest said when the run was opened or last changed through it.
func (r *Run) Manifest() Manifest { return r.manifest }

// Status is how far the run is. A run that says it is running and that no process holds was killed.
func (r *Run) Status() Status {
	if r.manifest.Status == Running && !r.held() {
		return Killed
	}
	return r.manifest.Status
}

// held reports whether a process holds the run for writing.
func (r *Run) held() bool {
	lock := flock.New(r.path(lockFile), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free {
		lock.Unlock()
	}
	return !free && err == nil
}

func (r *Run) path(name string) string { return filepath.Join(r.dir, name) }
