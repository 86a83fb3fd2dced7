package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Find opens the run that a person means by argument: a path, "latest", an id, a name (then the run that got it last) or the start of one id.
// Runs of the store that can't be read are named in broken: one of them may be the one that was meant. Where it is for certain, the error is an [Unreadable];
// every other error is that argument names no run.
func Find(store, argument string) (run *Run, broken []error, err error) {
	if isPath(argument) {
		run, err = openMeant(argument)
		return run, nil, err
	}
	if dir := filepath.Join(store, argument); runID.MatchString(argument) && isDir(dir) {
		if run, err = openMeant(dir); !errors.Is(err, errNoRun) {
			return run, nil, err
		}
	}
	entries, broken, err := Entries(store)
	if err != nil {
		return nil, nil, err
	}
	found := Meant(entries, argument)
	if found == nil && argument != "latest" {
		found = Meant(unreadable(broken), argument)
	}
	if found != nil {
		run, err = openMeant(found.Dir)
		return run, broken, err
	}
	if run, err = Open(argument); err == nil {
		return run, nil, nil
	}
	return nil, broken, notFound(store, argument, entries)
}

// openMeant opens a run that was named. What is a run's directory and can't be read is an [Unreadable], with what to do about it.
func openMeant(dir string) (*Run, error) {
	run, err := Open(dir)
	if err == nil || errors.Is(err, errNoRun) || !isDir(dir) {
		return run, err
	}
	return nil, &Unreadable{dir, fmt.Errorf("%w: %s", err, remedy(dir, err))}
}

// remedy is what to do about the manifest of dir, which can't be read for err. What is whole is neither put back nor removed.
func remedy(dir string, err error) string {
	switch version := anotherVersion(""); {
	case errors.As(err, &version):
		return "read it with the sweetspot that wrote it"
	case errors.Is(err, fs.ErrPermission):
		return "have its owner let you read it"
	}
	return fmt.Sprintf("put %s back from a backup, or remove the run: sweetspot preset delete %s", manifestFile, dir)
}

// unreadable are the runs that can't be read, known by the names of their directories.
func unreadable(broken []error) []Entry {
	var entries []Entry
	for _, err := range broken {
		var of *Unreadable
		if errors.As(err, &of) {
			entries = append(entries, Entry{Dir: of.Dir, Heading: Heading{RunID: filepath.Base(of.Dir)}})
		}
	}
	return entries
}

func isPath(argument string) bool { return strings.ContainsRune(filepath.ToSlash(argument), '/') }

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Locate gives the directory of the run that a person means, whether it can be read or not: one that can't is known by its directory's name.
func Locate(store, argument string) (dir string, err error) {
	if isPath(argument) {
		return argument, nil
	}
	entries, broken, err := Entries(store)
	if err != nil {
		return "", err
	}
	if argument != "latest" {
		entries = append(entries, unreadable(broken)...)
	}
	if found := Meant(entries, argument); found != nil {
		return found.Dir, nil
	}
	return "", notFound(store, argument, entries)
}

// Meant is the run that argument names among entries, newest first; nil where it names none, or several by the start of their ids.
func Meant(entries []Entry, argument string) *Entry {
	if argument == "latest" && len(entries) > 0 {
		return &entries[0]
	}
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.RunID == argument }); i >= 0 {
		return &entries[i]
	}
	if named := Bearer(entries, argument); named != nil {
		return named
	}
	if begin := beginning(entries, argument); len(begin) == 1 {
		return &entries[begin[0]]
	}
	return nil
}

var idStart = regexp.MustCompile(`^[0-9a-f]{1,8}$`)

// LooksLikeID reports whether a name reads as a run's id, or as the start of one: as a name it would hide a run from who means it by its id, or be hidden by one.
func LooksLikeID(name string) bool { return idStart.MatchString(name) }

// Bearer is the run that a name means: of all that have it, the one that got it last. It is nil where none has it.
func Bearer(entries []Entry, name string) *Entry {
	var last *Entry
	for i := range entries {
		if entries[i].Name == name && name != "" && (last == nil || entries[i].named().After(last.named())) {
			last = &entries[i]
		}
	}
	return last
}

// beginning are the places of the runs whose ids begin with argument.
func beginning(entries []Entry, argument string) []int {
	var found []int
	for i := range entries {
		if argument != "" && strings.HasPrefix(entries[i].RunID, argument) {
			found = append(found, i)
		}
	}
	return found
}

// notFound says why argument names no run, and what does.
func notFound(store, argument string, entries []Entry) error {
	if matches := beginning(entries, argument); len(matches) > 1 {
		var several []Entry
		for _, i := range matches {
			several = append(several, entries[i])
		}
		return fmt.Errorf("finding run %s in %s: %d runs begin with it: %s", argument, store, len(matches), names(several))
	}
	if len(entries) == 0 {
		return fmt.Errorf("finding run %s: there are no runs in %s", argument, store)
	}
	return fmt.Errorf("finding run %s in %s: there is no such id, start of an id, or name; the newest are %s", argument, store, names(entries))
}

func names(entries []Entry) string {
	const most = 5
	var listed []string
	for _, entry := range entries[:min(most, len(entries))] {
		if entry.Name == "" {
			listed = append(listed, entry.RunID)
			continue
		}
		listed = append(listed, fmt.Sprintf("%s (%s)", entry.RunID, entry.Name))
	}
	if len(entries) > most {
		listed = append(listed, "…")
	}
	return strings.Join(listed, ", ")
}
