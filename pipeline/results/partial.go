package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"sweetspot/runner/disk"
	"sweetspot/runner/measure"
)

// readStream gives the rows of a stream up to where it is torn: a kill tears it anywhere. Nothing after a batch that can't be read is given.
func readStream(path string) ([]measure.RequestRow, error) {
	text, err := disk.Read(path)
	if err != nil {
		return nil, fmt.Errorf("recovering requests: %w", err)
	}
	rows, err := untorn(text)
	if err != nil {
		return nil, fmt.Errorf("recovering requests from %s: %w", path, err)
	}
	return rows, nil
}

// untorn gives an error only for a stream of another version, which is whole as far as anyone can tell.
func untorn(stream []byte) (rows []measure.RequestRow, err error) {
	var reader *ipc.Reader
	torn := caught(func() (err error) {
		reader, err = ipc.NewReader(bytes.NewReader(stream), ipc.WithAllocator(bounded{memory.DefaultAllocator, len(stream)}))
		return err
	})
	if torn != nil {
		return nil, nil
	}
	metadata := reader.Schema().Metadata()
	var version *string
	if at := metadata.FindKey(versionKey); at >= 0 {
		version = &metadata.Values()[at]
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	decode, err := newDecoder[measure.RequestRow](reader.Schema())
	if err != nil {
		return nil, err
	}
	for torn == nil {
		var batch []measure.RequestRow
		torn = caught(func() (err error) {
			if !reader.Next() {
				return io.EOF
			}
			batch, err = decode.rows(reader.Record())
			return err
		})
		rows = append(rows, batch...)
	}
	return rows, nil
}

// bounded refuses what a message that is no more whole can ask for: more memory than the stream has bytes.
type bounded struct {
	memory.Allocator
	most int
}

func (b bounded) Allocate(size int) []byte {
	if size > b.most {
		panic(fmt.Sprintf("a message of %d bytes in a stream of %d", size, b.most))
	}
	return b.Allocator.Allocate(size)
}

// Partial lists the measurements that have requests but no row in the points table: those a kill cut short, and one that is running now.
func (r *Run) Partial() ([]Measurement, error) {
	recovered, err := r.measurements(partial, ".parquet")
	if err != nil {
		return nil, err
	}
	streams, err := r.measurements(partial, streamEnding)
	if err != nil {
		return nil, err
	}
	all := append(recovered, streams...)
	slices.SortFunc(all, compareMeasurements)
	return slices.Compact(all), nil
}

// PartialRequests gives the requests that had ended of a measurement that [Run.Partial] lists. They come from the recovered file where the run was
// resumed, else from the stream.
func (r *Run) PartialRequests(m Measurement) iter.Seq2[measure.RequestRow, error] {
	name := m.file(partial, ".parquet")
	if _, err := os.Stat(r.path(name)); err == nil {
		return stored[measure.RequestRow](r, name)
	}
	return func(yield func(measure.RequestRow, error) bool) {
		rows, err := readStream(r.path(m.file(partial, streamEnding)))
		if err != nil {
			yield(measure.RequestRow{}, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// putInOrder mends what a kill left.
func (w *Writer) putInOrder() error {
	if err := w.removeUnnamed(); err != nil {
		return fmt.Errorf("putting run %s in order: %w", w.ID(), err)
	}
	if err := w.moveOrphans(); err != nil {
		return fmt.Errorf("putting run %s in order: %w", w.ID(), err)
	}
	streams, err := w.measurements(partial, streamEnding)
	if err != nil {
		return err
	}
	for _, m := range streams {
		if err := w.recover(m); err != nil {
			return err
		}
	}
	return nil
}

// removeUnnamed removes files that were being written under a temporary name.
func (w *Writer) removeUnnamed() error {
	for _, folder := range folders { // one of them may have come to the layout after the run was begun
		if err := os.MkdirAll(w.path(folder), dirMode); err != nil {
			return err
		}
	}
	for _, folder := range append([]string{"."}, folders...) {
		entries, err := os.ReadDir(w.path(folder))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !temporary(entry.Name()) {
				continue
			}
			if err := os.Remove(w.path(filepath.Join(folder, entry.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}

// temporary reports whether name is what writeDurable calls a file before it has its own: hidden, with digits after its ending.
func temporary(name string) bool {
	return strings.HasPrefix(name, ".") && slices.ContainsFunc([]string{".parquet", manifestFile, summaryFile}, func(own string) bool { return strings.Contains(name, own) })
}

// moveOrphans takes rows without a point out of their tables: the kill came between the files of a measurement.
func (w *Writer) moveOrphans() error {
	sums, err := w.readSums()
	if err != nil {
		return err
	}
	for table, ending := range map[Table]string{Requests: ".parquet", ServerMetrics: "." + string(ServerMetrics) + ".parquet", GPU: "." + string(GPU) + ".parquet"} {
		written, err := w.measurements(string(table), ".parquet")
		if err != nil {
			return err
		}
		for _, m := range written {
			if err := w.moveOrphan(m.file(string(table), ".parquet"), m.file(partial, ending), m, sums); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) moveOrphan(from, to string, m Measurement, sums sums) error {
	if w.has(m.file(string(Points), ".parquet")) || w.has(to) {
		return nil
	}
	if err := w.appendSum(to, sums[filepath.ToSlash(from)]); err != nil {
		return err
	}
	return os.Rename(w.path(from), w.path(to))
}

func (r *Run) has(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

// recover turns a stream into a Parquet file of partial/, unless its measurement is stored after all. One without requests gives a file too: the
// service may have seen some that never ended, so this attempt is used up, and with it the prompts that are made from its number. A stream that can't be read
// is kept beside it and does not keep the run from being carried on.
func (w *Writer) recover(m Measurement) error {
	name, stream := m.file(partial, ".parquet"), w.path(m.file(partial, streamEnding))
	if !w.has(name) && !w.has(m.file(string(Points), ".parquet")) {
		rows, unreadable := readStream(stream)
		if err := writeTable(w, Requests, name, len(rows), slices.Values(rows)); err != nil {
			return err
		}
		if unreadable != nil { // someone else may make something of it
			return os.Rename(stream, stream+".unreadable")
		}
	}
	if err := os.Remove(stream); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a recovered stream: %w", err)
	}
	return nil
}
