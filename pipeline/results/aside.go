package results

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sweetspot/runner/measure"
)

// asideFolder is the folder that keeps what is not whole any more, each file under the path that it had: who reads a table's folder meets only whole files.
const asideFolder = "damaged"

// Looked is what a run was found to have, each of its requests being read once.
type Looked struct {
	Done  map[PointRepeat]measure.Point // as [Run.Completed] has them
	Pools map[Measurement]*measure.Pool // of the requests of each measurement whose requests are whole
	Aside []Broken                      // what was broken, in the order of its names
}

// SetAside moves what [Check] calls broken out of the tables, so that it can be measured or judged again: of a measurement whose point or requests are not whole
// all files, of anything else the file alone. Nothing is removed. Checksums of files that are not there any more are struck off the list. Files that
// are none of sweetspot's stay where they are, and are not among what was set aside.
func (w *Writer) SetAside() (looked Looked, err error) {
	looked.Pools = map[Measurement]*measure.Pool{}
	c := &check{run: w.Run, tallies: map[Measurement]tallied{}, pools: looked.Pools}
	c.found.Status = Interrupted // whoever calls this is the one who writes, and is not writing now
	c.look()
	looked.Done, _ = c.completed() // what is broken is among what was found
	moved := map[string]bool{}
	for _, b := range c.found.Broken {
		files := w.damagedWith(b.File)
		if len(files) == 0 {
			continue
		}
		looked.Aside = append(looked.Aside, b)
		for _, file := range files {
			moved[file] = true
		}
	}
	if len(looked.Aside) == 0 {
		return looked, nil
	}
	slices.SortFunc(looked.Aside, byFile)
	for _, file := range slices.Sorted(maps.Keys(moved)) {
		if err := w.moveAside(file); err != nil {
			return looked, fmt.Errorf("setting aside what is damaged of run %s: %w", w.ID(), err)
		}
	}
	return looked, w.strikeOff()
}

// damagedWith names the files that go with a broken one, itself among them: none where it is not a file of a table or of partial/.
func (w *Writer) damagedWith(file string) []string {
	folder, base := path.Split(file)
	m, _, measured := parseMeasurement(base)
	switch Table(path.Clean(folder)) {
	case Requests, Points:
		if measured {
			return w.filesOf(m)
		}
	case ServerMetrics, GPU, partial:
		if measured {
			return []string{file}
		}
	case Trials:
		if trialFile.MatchString(base) {
			return []string{file}
		}
	}
	return nil
}

func (w *Writer) filesOf(m Measurement) (files []string) {
	for _, table := range []Table{Requests, Points, ServerMetrics, GPU} {
		files = append(files, filepath.ToSlash(m.file(string(table), ".parquet")))
	}
	return files
}

func (w *Writer) moveAside(file string) error {
	if !w.has(file) {
		return nil
	}
	to := w.path(filepath.Join(asideFolder, filepath.FromSlash(file)))
	if err := os.MkdirAll(filepath.Dir(to), dirMode); err != nil {
		return err
	}
	return os.Rename(w.path(file), to)
}

// strikeOff writes the checksums again without those of files that are not there.
func (w *Writer) strikeOff() error {
	sums, err := w.readSums()
	if err != nil {
		return err
	}
	return replace(w.path(sumsFile), func(out io.Writer) error {
		lines := bufio.NewWriter(out)
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			if w.has(name) {
				fmt.Fprintf(lines, "%s  %s\n", sums[name], name)
			}
		}
		return lines.Flush()
	})
}
