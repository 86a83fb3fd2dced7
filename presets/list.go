package presets

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sweetspot/pipeline/results"
)

// The statuses that listings show, beside the others of [results.Status].
const (
	statusCompleted = string(results.Completed)
	statusVerified  = "verified" // completed, and the winner reproduced when it was measured again
)

// Listed is a run in a listing.
type Listed struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Status    string    `json:"status"` // "running", "interrupted", "killed", "failed", "completed" or "verified"
	Brief
}

// Listing is some runs of a store, newest first, and those that can't be read.
type Listing struct {
	SchemaVersion int      `json:"schema_version"`
	Runs          []Listed `json:"runs"`
	Unreadable    []Fault  `json:"unreadable"`

	Broken []error `json:"-"` // what Unreadable says, and tables that were left out of the runs listed
}

// Fault is a run that can't be read.
type Fault struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Which says what is listed.
type Which struct {
	All  bool // every run
	Last int  // the last so many runs; 0: those that are running, or where there is none the newest
}

// Runs lists runs of a store. What is kept of a run in short is believed only while the run's directory is what it was then, and is otherwise made again from the
// tables. An error is that the store itself can't be read.
func Runs(store string, which Which) (*Listing, error) {
	listing := &Listing{SchemaVersion: results.SchemaVersion, Runs: []Listed{}, Unreadable: []Fault{}}
	entries, broken, err := results.Entries(store)
	if err != nil {
		return nil, err
	}
	listing.leaveOut(broken)
	entries = which.of(entries)
	made := make([]Listed, len(entries))
	faults := make([][]error, len(entries))
	lost := make([]error, len(entries))
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for i := range entries {
		reading.Go(func() error {
			made[i], faults[i], lost[i] = listed(&entries[i])
			return nil
		})
	}
	_ = reading.Wait() // none gives an error
	for i := range made {
		if lost[i] != nil {
			listing.leaveOut([]error{&results.Unreadable{Dir: entries[i].Dir, Err: lost[i]}})
			continue
		}
		listing.Runs = append(listing.Runs, made[i])
		listing.Broken = append(listing.Broken, faults[i]...)
	}
	return listing, nil
}

func (l *Listing) leaveOut(broken []error) {
	for _, err := range broken {
		fault := Fault{Error: err.Error()}
		var of *results.Unreadable
		if errors.As(err, &of) {
			fault.Path = of.Dir
		}
		l.Unreadable = append(l.Unreadable, fault)
		l.Broken = append(l.Broken, err)
	}
}

// of picks from entries, which are newest first.
func (w Which) of(entries []results.Entry) []results.Entry {
	switch {
	case w.All:
		return entries
	case w.Last > 0:
		return entries[:min(w.Last, len(entries))]
	}
	running := slices.DeleteFunc(slices.Clone(entries), func(e results.Entry) bool { return e.Status != results.Running })
	if len(running) > 0 {
		return running
	}
	return entries[:min(1, len(entries))]
}

func listed(entry *results.Entry) (run Listed, broken []error, err error) {
	brief, holds := kept(entry.Body)
	if !holds {
		if brief, broken, err = read(entry.Dir); err != nil {
			return run, broken, err
		}
	}
	return Listed{entry.RunID, entry.Name, entry.CreatedAt, shown(entry.Status, brief.Reproduced), brief}, broken, nil
}

// Interim reports whether the run was not measured to its end, so that its figures and its winner may change.
func (l *Listed) Interim() bool {
	return l.Status != statusVerified && !final(results.Status(l.Status))
}

// shown is the status that listings show.
func shown(status results.Status, reproduced *bool) string {
	if status == results.Completed && reproduced != nil && *reproduced {
		return statusVerified
	}
	return string(status)
}
