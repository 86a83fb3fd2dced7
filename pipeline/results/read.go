package results

import (
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"sweetspot/runner/measure"
)

// readParquet gives the rows of a file in order, a group of them in memory at a time. An error, which names the file, ends them: rows given before
// it are those of a file that is not whole.
func readParquet[T any](file *content) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var reader tableReader[T]
		err := caught(func() error { return reader.open(file) })
		for err == nil {
			if err = caught(reader.next); err != nil {
				break
			}
			for _, row := range reader.rows {
				if !yield(row, nil) {
					return
				}
			}
		}
		if err != io.EOF {
			var none T
			yield(none, fmt.Errorf("reading %s: %w", file.path, err))
		}
	}
}

// tableReader reads one file in groups of rows. docs/adr/0008-reading-parquet.md has why it is not Arrow's.
type tableReader[T any] struct {
	groups  []parquet.RowGroup // that are still to come
	columns []storedColumn
	rows    []T // of the group that was read last
	values  []parquet.Value
}

func (r *tableReader[T]) open(in *content) error {
	file, err := parquet.OpenFile(in, in.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("it is corrupt or cut short: %w", err)
	}
	var version *string
	if stored, ok := file.Lookup(versionKey); ok {
		version = &stored
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	r.groups, r.values = file.RowGroups(), make([]parquet.Value, 512)
	r.columns, err = storedColumns(file.Root(), measure.Columns(reflect.TypeFor[T]()))
	return err
}

// checkVersion compares the version that a file says it is of.
func checkVersion(stored *string) error {
	if stored == nil {
		return fmt.Errorf("it has no %s: sweetspot did not write it", versionKey)
	}
	if *stored != strconv.Itoa(SchemaVersion) {
		return anotherVersion(*stored)
	}
	return nil
}

// mostRows is how many rows a group may have: far more than any sweetspot wrote, and few enough to be held.
const mostRows = 16 * rowsPerGroup

// next reads the next group, and gives io.EOF after the last.
func (r *tableReader[T]) next() error {
	if len(r.groups) == 0 {
		return io.EOF
	}
	group := r.groups[0]
	r.groups = r.groups[1:]
	n := group.NumRows()
	if n < 0 || n > mostRows {
		return fmt.Errorf("it is corrupt: %d rows in a group, at most %d are read", n, mostRows)
	}
	if int(n) > cap(r.rows) {
		r.rows = make([]T, n)
	}
	r.rows = r.rows[:n]
	clear(r.rows)
	rows, chunks := reflect.ValueOf(r.rows), group.ColumnChunks()
	for i := range r.columns {
		c := &r.columns[i]
		filled, err := c.fill(rows, chunks[c.leaf.Index()], r.values)
		switch {
		case err != nil:
			return fmt.Errorf("it is corrupt: column %s: %w", c.Name, err)
		case filled != int(n):
			return fmt.Errorf("it is corrupt: column %s has %d values for %d rows", c.Name, filled, n)
		case c.nulls > 0:
			return fmt.Errorf("its column %s has %d nulls and must have none", c.Name, c.nulls)
		}
	}
	return nil
}

// fill puts the column's cells of a group into rows, which are as they were made, and gives how many rows it had cells for.
func (c *storedColumn) fill(rows reflect.Value, chunk parquet.ColumnChunk, buffer []parquet.Value) (filled int, err error) {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return filled, nil
		}
		if err == nil {
			filled, err = c.fillPage(rows, filled, page.Values(), buffer)
			parquet.Release(page)
		}
		if err != nil {
			return filled, err
		}
	}
}

// fillPage goes on after filled rows. A page of a list may begin within one.
func (c *storedColumn) fillPage(rows reflect.Value, filled int, values parquet.ValueReader, buffer []parquet.Value) (int, error) {
	for {
		n, err := values.ReadValues(buffer)
		for i := range buffer[:n] {
			value := &buffer[i]
			if value.RepetitionLevel() == 0 {
				filled++
			}
			if filled == 0 || filled > rows.Len() {
				return filled, fmt.Errorf("values for no row, or for more than %d", rows.Len())
			}
			c.put(rows.Index(filled-1), value)
		}
		if err == io.EOF {
			return filled, nil
		}
		if err != nil {
			return filled, err
		}
	}
}
