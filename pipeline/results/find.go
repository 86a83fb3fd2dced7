package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// List gives the runs of a store, newest first. Those that can't be read are named in broken; directories that are no runs are passed over. A
// store that is not there has none.
func List(store string) (runs []*Run, broken []error) {
	entries, err := os.ReadDir(store)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []error{fmt.Errorf("listing runs: %w", err)}
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		run, err := Open(filepath.Join(store, entry.Name()))
		switch {
		case err == nil:
			runs = append(runs, run)
		case !errors.Is(err, errNoRun):
			broken = append(broken, err)
		}
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return b.manifest.CreatedAt.Compare(a.manifest.CreatedAt) })
	return runs, broken
}

// Find opens the run that a person means by argument: a path, "latest", an id, a name (then the newest run that has it) or the start of one id.
// Runs of the store that can't be read are named in broken: one of them may be the one that was meant.
func Find(store, argument string) (run *Run, broken []error, err error) {
	if strings.ContainsRune(filepath.ToSlash(argument), '/') {
		run, err = Open(argument)
		return run, nil, err
	}
	runs, broken := List(store)
	if run = meant(runs, argument); run != nil {
		return run, broken, nil
	}
	if run, err = Open(argument); err == nil {
		return run, nil, nil
	}
	return nil, broken, notFound(store, argument, runs)
}

// meant is the run that argument names among runs, newest first; nil where it names none, or several by the start of their ids.
func meant(runs []*Run, argument string) *Run {
	if argument == "latest" && len(runs) > 0 {
		return runs[0]
	}
	ways := []func(*Run) bool{
		func(r *Run) bool { return r.ID() == argument },
		func(r *Run) bool { return r.manifest.Name == argument },
	}
	for _, means := range ways {
		if i := slices.IndexFunc(runs, means); i >= 0 {
			return runs[i]
		}
	}
	if begin := beginning(runs, argument); len(begin) == 1 {
		return begin[0]
	}
	return nil
}

// beginning are the runs whose ids begin with argument.
func beginning(runs []*Run, argument string) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return argument == "" || !strings.HasPrefix(r.ID(), argument) })
}

// notFound says why argument names no run, and what does.
func notFound(store, argument string, runs []*Run) error {
	if matches := beginning(runs, argument); len(matches) > 1 {
		return fmt.Errorf("finding run %s in %s: %d runs begin with it: %s", argument, store, len(matches), names(matches))
	}
	if len(runs) == 0 {
		return fmt.Errorf("finding run %s: there are no runs in %s", argument, store)
	}
	return fmt.Errorf("finding run %s in %s: there is no such id, start of an id, or name; the newest are %s", argument, store, names(runs))
}

func names(runs []*Run) string {
	const most = 5
	var listed []string
	for _, run := range runs[:min(most, len(runs))] {
		listed = append(listed, fmt.Sprintf("%s (%s)", run.ID(), run.manifest.Name))
	}
	if len(runs) > most {
		listed = append(listed, "…")
	}
	return strings.Join(listed, ", ")
}
