package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"sweetspot/runner/measure"
)

// Table is a folder of Parquet files whose rows have one layout.
type Table string

// The tables.
const (
	Requests Table = "requests" // a row per request: [measure.RequestRow]
	Points   Table = "points"   // a row per measurement of a point: [measure.Point]
	Trials   Table = "trials"   // a row per trial and point, with the verdict over its repeats: [TrialRow]

	ServerMetrics Table = "server_metrics" // a row per value that a service showed of itself: [measure.MetricRow]; a measurement without has no file

	GPU Table = "gpu" // a row per GPU and reading: [measure.GPURow]; a measurement without has no file
)

// partial holds requests of measurements that have no row in the points table. It is no table, so that nothing counts them by accident.
const partial = "partial"

// Measurement names one try at one repeat of a point, and the files that hold it.
type Measurement struct {
	PointID string
	Repeat  int64
	Attempt int64
}

// MeasurementOf is the measurement that a row belongs to.
func MeasurementOf(keys measure.Keys) Measurement {
	return Measurement{keys.PointID, keys.Repeat, keys.Attempt}
}

// PointRepeat names a repeat of a point, whatever the try.
type PointRepeat struct {
	PointID string
	Repeat  int64
}

// Of is the repeat that m is a try at.
func (m Measurement) Of() PointRepeat { return PointRepeat{m.PointID, m.Repeat} }

// String is the name of m's files, without their ending.
func (m Measurement) String() string { return fmt.Sprintf("%s-%d-%d", m.PointID, m.Repeat, m.Attempt) }

func (m Measurement) file(folder, ending string) string {
	return filepath.Join(folder, m.String()+ending)
}

var measurementName = regexp.MustCompile(`^([0-9a-f]{16})-(\d+)-(\d+)(\.[a-z]+)$`)

func parseMeasurement(name string) (m Measurement, ending string, ok bool) {
	parts := measurementName.FindStringSubmatch(name)
	if parts == nil {
		return m, "", false
	}
	repeat, attempt := fileNumber(parts[2]), fileNumber(parts[3])
	if repeat < 0 || attempt < 0 {
		return m, "", false
	}
	return Measurement{parts[1], repeat, attempt}, parts[4], true
}

// fileNumber is the number that digits of a file's name are, or -1 where they are too many: there is always a next one.
func fileNumber(digits string) int64 {
	const most = 18 // fit
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) > most {
		return -1
	}
	return n
}

// measurements lists the files of a folder that end in ending, in order. A folder that is not there has none.
func (r *Run) measurements(folder, ending string) ([]Measurement, error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing results: %w", err)
	}
	var found []Measurement
	for _, entry := range entries {
		if m, e, ok := parseMeasurement(entry.Name()); ok && e == ending {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, compareMeasurements)
	return found, nil
}

func compareMeasurements(a, b Measurement) int {
	return cmp.Or(cmp.Compare(a.PointID, b.PointID), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.Attempt, b.Attempt))
}

// last keeps the last attempt at each repeat of sorted measurements.
func last(sorted []Measurement) []Measurement {
	var kept []Measurement
	for _, m := range sorted {
		if n := len(kept); n > 0 && kept[n-1].Of() == m.Of() {
			kept[n-1] = m
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// Points gives the row of the last attempt at each repeat of each point, in the order of their files. Files that are not whole are named, and no
// row comes from them.
func (r *Run) Points() (rows []measure.Point, broken []error) {
	listed, sums, err := r.listed(Points)
	if err != nil {
		return nil, []error{err}
	}
	return atOnce(last(listed), func(m Measurement) ([]measure.Point, error) {
		row, err := r.point(m, sums)
		return []measure.Point{row}, err
	})
}

// atOnce reads files side by side, as decoding one takes longer than reading it: it has hundreds of columns. Rows come in the order of their files; one that
// gives an error gives none.
func atOnce[F, T any](files []F, read func(F) ([]T, error)) (rows []T, broken []error) {
	of, errs := make([][]T, len(files)), make([]error, len(files))
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		reading.Go(func() error {
			of[i], errs[i] = read(file)
			return nil
		})
	}
	_ = reading.Wait() // what can't be read stands in errs
	for i, err := range errs {
		if err != nil {
			broken = append(broken, err)
			continue
		}
		rows = append(rows, of[i]...)
	}
	return rows, broken
}

func (r *Run) listed(table Table) ([]Measurement, sums, error) {
	listed, err := r.measurements(string(table), ".parquet")
	if err != nil {
		return nil, nil, err
	}
	sums, err := r.readSums()
	return listed, sums, err
}

func (r *Run) point(m Measurement, sums sums) (measure.Point, error) {
	rows, err := collect[measure.Point](r, m.file(string(Points), ".parquet"), sums)
	if err != nil {
		return measure.Point{}, err
	}
	if len(rows) != 1 || MeasurementOf(rows[0].Keys) != m {
		return measure.Point{}, fmt.Errorf("reading %s: it has %d rows, one of measurement %s is needed", r.path(m.file(string(Points), ".parquet")), len(rows), m)
	}
	if column, value := infinite(&rows[0]); column != "" {
		return measure.Point{}, fmt.Errorf("reading %s: its %s is %+v, which no measurement gives: measure it again", r.path(m.file(string(Points), ".parquet")), column, value)
	}
	return rows[0], nil
}

// infinite is the first figure of a point that is infinite and can't be. Those that count failures can, and a service may show anything of itself.
func infinite(p *measure.Point) (column string, value float64) {
	row := reflect.ValueOf(p).Elem()
	for _, c := range measure.Columns(row.Type()) {
		figure, is := row.FieldByIndex(c.Index).Interface().(*float64)
		if is && figure != nil && math.IsInf(*figure, 0) && !strings.Contains(c.Name, "_all_") && !strings.HasPrefix(c.Name, "server_") {
			return c.Name, *figure
		}
	}
	return "", 0
}

// collect reads a whole file.
func collect[T any](r *Run, name string, sums sums) ([]T, error) {
	file, err := sums.open(r, name)
	if err != nil {
		return nil, err
	}
	defer file.close()
	var rows []T
	for row, err := range readParquet[T](file) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Requests gives the requests of a measurement, in order of dispatch. The file is compared with its checksum first; an error ends them.
func (r *Run) Requests(m Measurement) iter.Seq2[measure.RequestRow, error] {
	return stored[measure.RequestRow](r, m.file(string(Requests), ".parquet"))
}

// stored gives the rows of a file, which is compared with its checksum first.
func stored[T any](r *Run, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		sums, err := r.readSums()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		storedWith[T](r, name, sums)(yield)
	}
}

func storedWith[T any](r *Run, name string, sums sums) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		file, err := sums.open(r, name)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer file.close()
		readParquet[T](file)(yield)
	}
}

// ServerMetrics gives what the service showed of itself during a measurement, in order of time; nothing where it showed nothing. An error ends it.
func (r *Run) ServerMetrics(m Measurement) iter.Seq2[measure.MetricRow, error] {
	return ifStored[measure.MetricRow](r, m.file(string(ServerMetrics), ".parquet"))
}

// GPU gives what the GPUs were seen to do during a measurement, in order of time; nothing where nothing was seen. An error ends it.
func (r *Run) GPU(m Measurement) iter.Seq2[measure.GPURow, error] {
	return ifStored[measure.GPURow](r, m.file(string(GPU), ".parquet"))
}

// ifStored gives the rows of a file that need not be there.
func ifStored[T any](r *Run, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if _, err := os.Stat(r.path(name)); errors.Is(err, fs.ErrNotExist) {
			return
		}
		stored[T](r, name)(yield)
	}
}

// Completed gives the measurements that need not be made again: those whose point is completed, whose files are whole, and whose requests are what the point
// counts. Files that are not are named.
func (r *Run) Completed() (done map[PointRepeat]measure.Point, broken []error) {
	sums, err := r.readSums()
	if err != nil {
		return map[PointRepeat]measure.Point{}, []error{err}
	}
	c := &check{run: r, sums: sums, tallies: map[Measurement]tallied{}}
	return c.completed()
}

func (c *check) completed() (done map[PointRepeat]measure.Point, broken []error) {
	done = map[PointRepeat]measure.Point{}
	rows, broken := c.run.Points()
	for _, row := range rows {
		if row.Status != measure.PointCompleted {
			continue
		}
		m := MeasurementOf(row.Keys)
		if _, err := c.tally(m); err != nil {
			broken = append(broken, err)
			continue
		}
		if err := c.measurement(m, &row); err != nil {
			broken = append(broken, fmt.Errorf("reading %s: %w", c.run.path(m.file(string(Points), ".parquet")), err))
			continue
		}
		done[m.Of()] = row
	}
	return done, broken
}

// NextAttempts gives, for each repeat that was tried, the number of its next try: one more than any file says. Of one that was not it is 0.
func (r *Run) NextAttempts() (map[PointRepeat]int64, error) {
	next := map[PointRepeat]int64{}
	tried := []string{string(Requests), string(Points), string(ServerMetrics), string(GPU), partial}
	for _, folder := range tried {
		tried = append(tried, filepath.Join(asideFolder, folder))
	}
	for _, folder := range tried {
		for _, ending := range []string{".parquet", streamEnding} {
			attempts, err := r.measurements(folder, ending)
			if err != nil {
				return nil, err
			}
			for _, m := range attempts {
				next[m.Of()] = max(next[m.Of()], m.Attempt+1)
			}
		}
	}
	return next, nil
}

// IsOf reports whether a file, named by its path with slashes, holds a try at a repeat.
func IsOf(file string, of PointRepeat) bool {
	m, _, ok := parseMeasurement(path.Base(file))
	return ok && m.Of() == of
}
