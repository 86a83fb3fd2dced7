package results

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"sweetspot/runner/measure"
)

// Writer is a run held for writing: no other process can write to it until it is closed or this one ends.
type Writer struct {
	*Run
	lock *flock.Flock
}

// Create makes the directory of a new run in store, which is made too where it is not there, and writes the manifest, giving it the run's id and the schema's version.
func Create(store string, manifest Manifest) (*Writer, error) {
	if err := os.MkdirAll(store, dirMode); err != nil {
		return nil, fmt.Errorf("creating the store: %w", err)
	}
	id, dir, err := newRunDir(store)
	if err != nil {
		return nil, fmt.Errorf("creating a run in %s: %w", store, err)
	}
	manifest.SchemaVersion, manifest.RunID = SchemaVersion, id
	w, err := hold(&Run{dir, manifest})
	if err != nil {
		return nil, err
	}
	if err := w.prepare(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// newRunDir picks an id that no run of the store has.
func newRunDir(store string) (id, dir string, err error) {
	for {
		random := make([]byte, 4)
		rand.Read(random) // never fails
		id = hex.EncodeToString(random)
		dir = filepath.Join(store, id)
		if err = os.Mkdir(dir, dirMode); !errors.Is(err, fs.ErrExist) {
			return id, dir, err
		}
	}
}

// prepare makes the folders and the manifest of a new run, and its name durable.
func (w *Writer) prepare() error {
	for _, folder := range folders {
		if err := os.Mkdir(w.path(folder), dirMode); err != nil {
			return fmt.Errorf("creating run %s: %w", w.ID(), err)
		}
	}
	if err := writeManifest(w.dir, w.manifest); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(w.dir)); err != nil {
		return fmt.Errorf("creating run %s: %w", w.ID(), err)
	}
	return nil
}

var folders = []string{string(Requests), string(Points), string(Trials), string(ServerMetrics), string(GPU), partial}

// Resume takes hold of the run in dir again. What its last process left half done is put in order: requests of measurements that never got their
// row are brought together in partial/, and files that never got their name are removed.
func Resume(dir string) (*Writer, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	w, err := hold(run)
	if err != nil {
		return nil, err
	}
	if run.manifest, err = readManifest(dir); err == nil { // again, now that nobody else writes it
		err = w.putInOrder()
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// patience is how long a writer waits for the lock. Readers hold it for an instant to see whether the run is running.
const patience = time.Second

func hold(run *Run) (*Writer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lock := flock.New(run.path(lockFile), flock.SetPermissions(fileMode), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
	held, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if held {
		return &Writer{run, lock}, nil
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("opening run %s for writing: another process is writing it", run.ID())
	}
	return nil, fmt.Errorf("opening run %s for writing: %w", run.ID(), err)
}

// Close gives the run free. It does not change its status.
func (w *Writer) Close() error { return w.lock.Unlock() }

// Update changes the manifest and stores it, in one step for readers.
func (w *Writer) Update(change func(*Manifest)) error {
	change(&w.manifest)
	return writeManifest(w.dir, w.manifest)
}

// WritePoint stores a measurement: its requests, what the service showed of itself and what the GPUs were seen to do, then its point, whose file says that the measurement is there whole. The stream of its
// requests, if there was one, has served its purpose and is removed. Keys of point name the measurement.
func (w *Writer) WritePoint(point measure.Point, records []measure.Record, samples []measure.Sample, gpus ...measure.GPUSample) error {
	m := MeasurementOf(point.Keys)
	tables := []func() error{func() error {
		return writeTable(w, Requests, m.file(string(Requests), ".parquet"), len(records), requestRows(point.Keys, records))
	}}
	if len(samples) > 0 {
		tables = append(tables, func() error {
			return writeTable(w, ServerMetrics, m.file(string(ServerMetrics), ".parquet"), len(samples), metricRows(point.Keys, samples))
		})
	}
	if len(gpus) > 0 {
		tables = append(tables, func() error {
			return writeTable(w, GPU, m.file(string(GPU), ".parquet"), len(gpus), gpuRows(point.Keys, gpus))
		})
	}
	tables = append(tables, func() error {
		return writeTable(w, Points, m.file(string(Points), ".parquet"), 1, slices.Values([]measure.Point{point}))
	})
	if err := w.makingRoom(m, tables); err != nil {
		return err
	}
	err := os.Remove(w.path(m.file(partial, streamEnding)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the stream of a stored measurement: %w", err)
	}
	return nil
}

// makingRoom writes the tables of a measurement in order. Where the disk is full it empties the measurement's stream once, whose requests are among the tables, and
// goes on with the one that did not fit. The empty stream stays until the measurement is there: it says that the attempt is used up.
func (w *Writer) makingRoom(m Measurement, tables []func() error) error {
	emptied := false
	for next := 0; next < len(tables); {
		err := tables[next]()
		switch {
		case err == nil:
			next++
		case !errors.Is(err, syscall.ENOSPC):
			return err
		case emptied || os.Truncate(w.path(m.file(partial, streamEnding)), 0) != nil:
			return w.fullDisk(err)
		default:
			emptied = true
		}
	}
	return nil
}

// fullDisk says of an error that is a full disk what to do.
func (w *Writer) fullDisk(err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return fmt.Errorf("%w: free space, then go on with --resume %s", err, w.ID())
}

// Keep stores text as a file below folder "imported", which is made where it is not there, and gives its name below the run's directory. Like results it is
// never overwritten, and its checksum is listed.
func (w *Writer) Keep(name string, text []byte) (string, error) {
	const folder = "imported"
	if err := os.MkdirAll(w.path(folder), dirMode); err != nil {
		return "", fmt.Errorf("keeping %s in run %s: %w", name, w.ID(), err)
	}
	name = filepath.Join(folder, name)
	err := w.create(name, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
	return filepath.ToSlash(name), err
}

// writeTable writes n rows.
func writeTable[T any](w *Writer, table Table, name string, n int, rows iter.Seq[T]) error {
	l, err := layoutOf[T](table, w.ID())
	if err != nil {
		return err
	}
	how := shortGroups
	if n <= few {
		how = fewRows
	}
	return w.create(name, func(out io.Writer) error { return writeParquet(out, l, rows, how) })
}

func metricRows(keys measure.Keys, samples []measure.Sample) iter.Seq[measure.MetricRow] {
	return func(yield func(measure.MetricRow) bool) {
		for _, sample := range samples {
			if !yield(measure.MetricRow{Keys: keys, Sample: sample}) {
				return
			}
		}
	}
}

func gpuRows(keys measure.Keys, samples []measure.GPUSample) iter.Seq[measure.GPURow] {
	return func(yield func(measure.GPURow) bool) {
		for _, sample := range samples {
			if !yield(measure.GPURow{Keys: keys, GPUSample: sample}) {
				return
			}
		}
	}
}

// requestRows derives the figures of each record.
func requestRows(keys measure.Keys, records []measure.Record) iter.Seq[measure.RequestRow] {
	return func(yield func(measure.RequestRow) bool) {
		for i := range records {
			if !yield(measure.RequestRow{Keys: keys, Record: records[i], Metrics: measure.MetricsOf(&records[i])}) {
				return
			}
		}
	}
}
