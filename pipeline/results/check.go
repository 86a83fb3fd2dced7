package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sweetspot/runner/disk"
	"sweetspot/runner/measure"
)

// Unknown is the status of a run whose manifest can't be read. It is never stored.
const Unknown Status = "unknown"

// Findings is what the directory of a run holds, and what of it is whole. Files are named by their paths below the directory, with slashes.
type Findings struct {
	Dir      string    `json:"dir"`
	RunID    string    `json:"run_id"`
	Name     string    `json:"name"` // empty where the manifest can't be read
	Status   Status    `json:"status"`
	Tables   []Counted `json:"tables"`
	Partial  []Ended   `json:"partial"`
	LeftOver []string  `json:"left_over"` // of writes that a kill cut short: no result, and removed when the run is resumed
	Broken   []Broken  `json:"broken"`    // in order of their names
	Whole    bool      `json:"whole"`     // nothing is broken; measurements may be missing all the same
}

// Counted is one table: its files, and of those that are whole their number and rows.
type Counted struct {
	Table Table `json:"table"`
	Files int   `json:"files"`
	Whole int   `json:"whole"`
	Rows  int64 `json:"rows"`
}

// Ended are the requests that had ended of a measurement that has no point: one that a kill cut short, or one that is running.
type Ended struct {
	File     string `json:"file"`
	PointID  string `json:"point_id"`
	Repeat   int64  `json:"repeat"`
	Attempt  int64  `json:"attempt"`
	Requests int64  `json:"requests"`
	CutShort bool   `json:"cut_short"` // a stream without its end: more requests may have ended
}

// Broken is a file that is not what was written, or not there, and why.
type Broken struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

func byFile(a, b Broken) int { return strings.Compare(a.File, b.File) }

// Check reads everything in the directory of a run and changes nothing: each file is compared with its checksum, decoded, and held against the others of its
// measurement. It reads runs whose manifest it can't. An error is that dir is no run's.
func Check(dir string) (Findings, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Findings{}, fmt.Errorf("checking run %s: %w", dir, err)
	}
	if err := isRun(absolute); err != nil {
		return Findings{}, fmt.Errorf("checking run %s: %w", dir, err)
	}
	c := &check{run: &Run{dir, Manifest{RunID: filepath.Base(absolute)}}, tallies: map[Measurement]tallied{}}
	c.found = Findings{Dir: dir, RunID: filepath.Base(absolute), Status: Unknown, Partial: []Ended{}, LeftOver: []string{}, Broken: []Broken{}}
	if run, err := Open(dir); err != nil {
		c.broken(manifestFile, err)
	} else {
		c.run = run
		c.found.RunID, c.found.Name, c.found.Status = run.ID(), run.manifest.Name, run.Status()
	}
	c.look()
	slices.SortFunc(c.found.Broken, byFile)
	c.found.Whole = len(c.found.Broken) == 0
	return c.found, nil
}

// check is the work of [Check].
type check struct {
	run     *Run
	found   Findings
	sums    sums
	tallies map[Measurement]tallied       // of requests that were read
	pools   map[Measurement]*measure.Pool // of those that are whole; nil: nobody wants them
	last    string                        // the name on the last line of the sums: a kill comes between it and the file's name
}

// look goes through the tables in the opposite order of writing, and reads the sums last: what a run that is being written gains meanwhile is not
// missed on one side alone.
func (c *check) look() {
	points := c.measurements(Points)
	gpus := c.measurements(GPU)
	metrics := c.measurements(ServerMetrics)
	requests := c.measurements(Requests)
	c.readSums()
	counted := c.points(points)
	c.found.Tables = append(c.found.Tables, counted)
	c.found.Tables = append(c.found.Tables, c.requests(requests, points))
	c.found.Tables = append(c.found.Tables, c.trials())
	c.found.Tables = append(c.found.Tables, beside(c, ServerMetrics, metrics, points, "metrics", func(row measure.MetricRow) measure.Keys { return row.Keys }))
	c.found.Tables = append(c.found.Tables, beside(c, GPU, gpus, points, "readings", func(row measure.GPURow) measure.Keys { return row.Keys }))
	c.partial()
	c.others()
	c.listed()
	for _, folder := range append([]string{"."}, folders...) {
		c.strays(folder)
	}
}

func (c *check) broken(name string, err error) {
	name = filepath.ToSlash(name)
	why := strings.TrimPrefix(err.Error(), "reading "+c.run.path(name)+": ")
	c.found.Broken = append(c.found.Broken, Broken{name, strings.TrimPrefix(why, "reading results: ")})
}

func (c *check) brokenf(name, format string, args ...any) {
	c.broken(name, fmt.Errorf(format, args...))
}

// isBroken reports whether a file was found broken.
func (c *check) isBroken(name string) bool {
	name = filepath.ToSlash(name)
	return slices.ContainsFunc(c.found.Broken, func(b Broken) bool { return b.File == name })
}

func (c *check) measurements(table Table) []Measurement {
	found, err := c.run.measurements(string(table), ".parquet")
	if err != nil {
		c.broken(string(table), err)
	}
	return found
}

func (c *check) readSums() {
	var err error
	if c.sums, err = c.run.readSums(); err != nil {
		c.broken(sumsFile, err)
	}
	text, _ := disk.Read(c.run.path(sumsFile)) // its fault was told
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	_, c.last, _ = strings.Cut(lines[len(lines)-1], "  ")
}

// listed names files that have a checksum and are not there.
func (c *check) listed() {
	for name := range c.sums {
		if c.run.has(name) || !filepath.IsLocal(name) || c.isBroken(name) {
			continue
		}
		if c.isLost(name) && !(name == c.last && c.isUnnamed(name)) {
			c.brokenf(name, "it is in %s and is not there", sumsFile)
		}
	}
}

// isLost tells a file that was there from one that never had its name. A measurement that a kill cut short while it was written is in partial/. What is no
// file's name is a line that a full disk cut short.
func (c *check) isLost(name string) bool {
	folder, base := path.Split(name)
	if folder = strings.TrimSuffix(folder, "/"); folder == string(Trials) {
		return trialFile.MatchString(base)
	}
	m, ending, ok := parseMeasurement(base)
	if !ok || ending != ".parquet" {
		return false
	}
	if folder == partial {
		return !c.run.has(m.file(string(Requests), ".parquet")) && !c.run.has(m.file(string(Points), ".parquet")) && !c.run.has(m.file(partial, streamEnding))
	}
	return !c.run.has(m.file(partial, ".parquet")) && !c.run.has(m.file(partial, streamEnding))
}

// isUnnamed reports whether the file whose sum is the last is still to have its name: it is being written, or was when the process was killed. A verdict
// that a kill prevented is made again when the run is resumed.
func (c *check) isUnnamed(name string) bool {
	ended := c.found.Status == Completed || c.found.Status == Failed
	if c.found.Status == Running || !ended && strings.HasPrefix(name, string(Trials)+"/") {
		return true
	}
	entries, _ := os.ReadDir(c.run.path(path.Dir(name))) // its fault is told with the folder
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "."+path.Base(name)) })
}

// others compares files with their checksums that are of no table, such as those that an imported run keeps.
func (c *check) others() {
	for name := range c.sums {
		folder, _, _ := strings.Cut(name, "/")
		if slices.Contains([]Table{Requests, Points, Trials, ServerMetrics, GPU}, Table(folder)) || !filepath.IsLocal(name) || c.isBroken(name) || !c.run.has(name) {
			continue
		}
		if err := c.sums.verify(c.run, name); err != nil {
			c.broken(name, err)
		}
	}
}

// strays names what lies in a folder under a name that sweetspot does not give. A Parquet file of such a name would be read as part of the table by whoever
// reads the folder.
func (c *check) strays(folder string) {
	entries, err := os.ReadDir(c.run.path(folder))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !c.isBroken(folder) {
			c.broken(folder, err)
		}
		return
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		_, _, measured := parseMeasurement(entry.Name())
		switch {
		case temporary(entry.Name()):
			if c.found.Status != Running {
				c.found.LeftOver = append(c.found.LeftOver, name)
			}
		case folder == "." || folder == partial || !strings.HasSuffix(entry.Name(), ".parquet"):
		case folder == string(Trials) && trialFile.MatchString(entry.Name()), folder != string(Trials) && measured:
		default:
			c.brokenf(name, "it is none of sweetspot's names, and would be read as part of the table %s", folder)
		}
	}
}
