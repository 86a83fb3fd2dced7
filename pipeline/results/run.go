package results

import "path/filepath"

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
	if r.manifest.Status == Running && !isHeld(r.dir) {
		return Killed
	}
	return r.manifest.Status
}

func (r *Run) path(name string) string { return filepath.Join(r.dir, name) }
