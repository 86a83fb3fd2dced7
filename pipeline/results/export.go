package results

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"sweetspot/runner/measure"
)

// Format is a form that a table can be exported in.
type Format string

// The formats. In CSV what is not known is an empty cell, an infinite figure is "inf", and a list is written as JSON. JSON lines have a row as the results
// document has it.
const (
	Parquet Format = "parquet" // compressed as the run's own requests are
	Arrow   Format = "arrow"   // one Arrow IPC file (Feather, version 2), not compressed, so that it can be mapped into memory
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
)

// Export writes a table of runs, in their order, as one file: the rows of the last attempts. It holds one group of rows in memory, however many
// there are. A file of the table that is not whole, or not there any more, is an error, as is a table or a format that there is not.
func Export(w io.Writer, runs []*Run, table Table, format Format) error {
	for _, r := range runs {
		if err := r.Lost(table, Points); err != nil { // whose rows would be silently missing
			return fmt.Errorf("exporting %s: %w", table, err)
		}
	}
	switch table {
	case Requests:
		return export(w, runs, table, format, func(r *Run) iter.Seq2[measure.RequestRow, error] { return ofLast(r, r.Requests) })
	case Points:
		return export(w, runs, table, format, func(r *Run) iter.Seq2[measure.Point, error] { return all(r.Points()) })
	case Trials:
		return export(w, runs, table, format, func(r *Run) iter.Seq2[TrialRow, error] { return all(r.Trials()) })
	case ServerMetrics:
		return export(w, runs, table, format, func(r *Run) iter.Seq2[measure.MetricRow, error] { return ofLast(r, r.ServerMetrics) })
	case GPU:
		return export(w, runs, table, format, func(r *Run) iter.Seq2[measure.GPURow, error] { return ofLast(r, r.GPU) })
	}
	return fmt.Errorf("exporting: there is no table %q", table)
}

// ofLast gives the rows of the last attempt at each repeat of each point.
func ofLast[T any](r *Run, of func(Measurement) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		points, err := r.measurements(string(Points), ".parquet")
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, m := range last(points) {
			for row, err := range of(m) {
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

func export[T any](w io.Writer, runs []*Run, table Table, format Format, of func(*Run) iter.Seq2[T, error]) error {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID())
	}
	l, err := layoutOf[T](table, strings.Join(ids, ","))
	if err != nil {
		return err
	}
	var broken error
	rows := func(yield func(T) bool) {
		for _, r := range runs {
			for row, err := range ahead(of(r)) {
				if err != nil {
					broken = fmt.Errorf("exporting run %s: %w", r.ID(), err)
					return
				}
				if !yield(row) {
					return
				}
			}
		}
	}
	if err := writeFormat(w, format, l, rows); err != nil {
		return fmt.Errorf("exporting %s: %w", table, err)
	}
	return broken
}

func writeFormat[T any](w io.Writer, format Format, l layout, rows iter.Seq[T]) error {
	switch format {
	case Parquet:
		return writeParquet(w, l, rows, longGroups)
	case Arrow:
		return writeIPC(w, l, rows)
	case CSV:
		return writeCSV(w, l, rows)
	case JSONL:
		return writeJSONL(w, rows)
	}
	return fmt.Errorf("there is no format %q", format)
}

func writeIPC[T any](w io.Writer, l layout, rows iter.Seq[T]) error {
	out, err := ipc.NewFileWriter(&counted{Writer: w}, ipc.WithSchema(l.schema))
	if err != nil {
		return err
	}
	for group := range groups(rows, rowsPerGroup) {
		batch := encode(l, group)
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return err
		}
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
