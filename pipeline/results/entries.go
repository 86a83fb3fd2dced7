package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"
)

// Entry is a run as a listing of its store sees it.
type Entry struct {
	Dir string
	Heading
	Body []byte // JSON as [Run.WriteSummary] was given it; nil where there is none that holds
}

// Unreadable is that a run of a store can't be read. The others can.
type Unreadable struct {
	Dir string
	Err error
}

func (u *Unreadable) Error() string { return u.Err.Error() }

func (u *Unreadable) Unwrap() error { return u.Err }

// Entries lists the runs of a store, newest first. Those that can't be read are named in broken, each an [Unreadable]; directories that are no runs are passed over. A
// store that is not there has none. An error is that the store can't be read.
func Entries(store string) (entries []Entry, broken []error, err error) {
	dirs, err := runDirs(store)
	if err != nil {
		return nil, nil, err
	}
	read := make([]Entry, len(dirs))
	faults := make([]error, len(dirs))
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for i, dir := range dirs {
		reading.Go(func() error {
			read[i], faults[i] = readEntry(dir)
			return nil
		})
	}
	_ = reading.Wait() // none gives an error
	for i, fault := range faults {
		switch {
		case fault == nil:
			entries = append(entries, read[i])
		case !errors.Is(fault, errNoRun):
			broken = append(broken, &Unreadable{dirs[i], fault})
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return entries, broken, nil
}

// runDirs are the directories of a store that may be runs.
func runDirs(store string) ([]string, error) {
	listed, err := os.ReadDir(store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var dirs []string
	for _, entry := range listed {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			dirs = append(dirs, filepath.Join(store, entry.Name()))
		}
	}
	return dirs, nil
}

// readEntry reads a run's summary, or where none holds its manifest.
func readEntry(dir string) (Entry, error) {
	entry := Entry{Dir: dir}
	if kept, holds := readSummary(dir); holds {
		entry.Heading, entry.Body = kept.Heading, kept.Body
	} else {
		manifest, err := readManifest(dir)
		if errors.Is(err, errNoRun) && isHusk(dir) {
			return entry, fmt.Errorf("opening run %s: it has no %s: what made it was ended at once", dir, manifestFile)
		}
		if err != nil {
			return entry, err
		}
		entry.Heading = headingOf(&manifest)
	}
	if entry.Status == Running && !isHeld(dir) {
		entry.Status = Killed
	}
	return entry, nil
}

var runID = regexp.MustCompile(`^[0-9a-f]{8}$`)

// isHusk reports whether dir was to become a run: whoever makes one takes its lock before the manifest is there.
func isHusk(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, lockFile))
	return err == nil && runID.MatchString(filepath.Base(dir)) && !isHeld(dir)
}

// isHeld reports whether a process holds the run in dir for writing.
func isHeld(dir string) bool {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK)) // a pipe of that name must not be waited for
	free, err := lock.TryRLock()
	if free {
		lock.Unlock()
	}
	return !free && err == nil
}
