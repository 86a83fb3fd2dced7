package results

import (
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"sweetspot/runner/measure"
)

// WriteIPC writes a table of the run as one Arrow IPC file (Feather, version 2; not compressed, so that it can be mapped into memory): the rows of
// the last attempts. A file of the table that is not whole is an error.
func (r *Run) WriteIPC(w io.Writer, table Table) error {
	switch table {
	case Requests:
		return writeIPC(w, r, table, r.allRequests())
	case Points:
		rows, broken := r.Points()
		return writeIPC(w, r, table, all(rows, broken))
	case Trials:
		rows, broken := r.Trials()
		return writeIPC(w, r, table, all(rows, broken))
	}
	return fmt.Errorf("exporting run %s: there is no table %q", r.ID(), table)
}

// allRequests gives the requests of the last attempt at each repeat of each point.
func (r *Run) allRequests() iter.Seq2[measure.RequestRow, error] {
	return func(yield func(measure.RequestRow, error) bool) {
		points, err := r.measurements(string(Points), ".parquet")
		if err != nil {
			yield(measure.RequestRow{}, err)
			return
		}
		for _, m := range last(points) {
			for row, err := range r.Requests(m) {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// all gives rows, or the first reason why there are not all.
func all[T any](rows []T, broken []error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if len(broken) > 0 {
			yield(none, broken[0])
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func writeIPC[T any](w io.Writer, r *Run, table Table, rows iter.Seq2[T, error]) error {
	l, err := layoutOf[T](table, r.ID())
	if err != nil {
		return err
	}
	out, err := ipc.NewFileWriter(&counted{Writer: w}, ipc.WithSchema(l.schema))
	if err != nil {
		return fmt.Errorf("exporting run %s: %w", r.ID(), err)
	}
	var broken error
	good := func(yield func(T) bool) {
		for row, err := range rows {
			if broken = err; err != nil || !yield(row) {
				return
			}
		}
	}
	for group := range groups(good, rowsPerGroup) {
		batch := encode(l, group)
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return fmt.Errorf("exporting run %s: %w", r.ID(), err)
		}
	}
	if broken != nil {
		return fmt.Errorf("exporting run %s: %w", r.ID(), broken)
	}
	return out.Close()
}

// counted lets the library ask how far it has written: all that it seeks for.
type counted struct {
	io.Writer
	written int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.written += int64(n)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seeking in a stream: %d from %d", offset, whence)
	}
	return c.written, nil
}
