package results

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// rowsPerGroup bounds the memory of writing and reading: that many rows are turned into columns at a time.
const rowsPerGroup = 4096

// columns gives the writer of a column of the group of rows that is being written.
type columns = func(i int) (file.ColumnChunkWriter, error)

// grouping says how the rows of a file are grouped: how many are in a group at most, a multiple of rowsPerGroup, and how one is begun.
type grouping struct {
	rows  int
	begin func(*file.Writer) columns
	plain bool // nothing is done to make columns smaller or groups easier to pass over
}

var (
	// shortGroups makes a group of each batch: a run's own files, of which a group is read at a time.
	shortGroups = grouping{rows: rowsPerGroup, begin: oneByOne}
	// fewRows is for files of so few rows that what others get takes more time than writing them, and more room where there is one.
	fewRows = grouping{rows: rowsPerGroup, begin: oneByOne, plain: true}
	// longGroups makes groups of up to mostRows: files for elsewhere, of any size. The footer has something of each column of each group, and is
	// kept until the end.
	longGroups = grouping{rows: mostRows, begin: func(out *file.Writer) columns { return out.AppendBufferedRowGroup().Column }}
)

// few is how many rows a file has at most that is written as fewRows are.
const few = 32

// oneByOne begins a group whose columns are written one after the other.
func oneByOne(out *file.Writer) columns {
	group := out.AppendRowGroup()
	return func(int) (file.ColumnChunkWriter, error) { return group.NextColumn() }
}

// bufferSize gathers what the library writes in pieces of a few bytes.
const bufferSize = 1 << 16

// writeParquet writes rows to w, a group at a time. It does not close w.
func writeParquet[T any](w io.Writer, l layout, rows iter.Seq[T], how grouping) error {
	if err := useOneEncoder(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, bufferSize) // it keeps the first error of writing: the library panics over some and overlooks others
	err := caught(func() error { return writeFile(out, l, rows, how) })
	if broken := out.Flush(); broken != nil {
		return broken
	}
	return err
}

// writeFile writes what Arrow's own way from record batches to Parquet would. That has one more copy of all cells, and brings gRPC into the command.
func writeFile[T any](w io.Writer, l layout, rows iter.Seq[T], how grouping) error {
	root, err := parquetSchema(l.schema)
	if err != nil {
		return err
	}
	metadata, err := parquetMetadata(l.schema)
	if err != nil {
		return err
	}
	out := file.NewParquetWriter(w, root, file.WithWriterProps(parquetProperties(l.schema, how)), file.WithWriteMetadata(metadata))
	if err := writeGroups(out, l, rows, how); err != nil {
		return err
	}
	return out.Close()
}

func writeGroups[T any](out *file.Writer, l layout, rows iter.Seq[T], how grouping) error {
	var (
		cells cells
		group columns
		room  int // in the group
	)
	for batch := range groups(rows, rowsPerGroup) {
		if room == 0 {
			group, room = how.begin(out), how.rows
		}
		room -= len(batch)
		values := reflect.ValueOf(batch)
		for i, column := range l.columns {
			to, err := group(i)
			if err != nil {
				return err
			}
			cells.take(values, column)
			if err := cells.write(to); err != nil {
				return err
			}
		}
	}
	return nil
}

// parquetProperties compresses every column and gives a dictionary to those of text, which repeat; the library has statistics of each by itself.
func parquetProperties(schema *arrow.Schema, how grouping) *parquet.WriterProperties {
	if how.plain {
		return parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithStats(false))
	}
	options := []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false)}
	for _, field := range schema.Fields() {
		if field.Type.ID() == arrow.STRING {
			options = append(options, parquet.WithDictionaryFor(field.Name, true))
		}
	}
	return parquet.NewWriterProperties(options...)
}

// groups cuts rows into slices of at most size, each valid until the next.
func groups[T any](rows iter.Seq[T], size int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var group []T
		for row := range rows {
			group = append(group, row)
			if len(group) < size {
				continue
			}
			if !yield(group) {
				return
			}
			group = group[:0]
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}

// caught turns a panic of the library, which some broken files cause, into an error.
func caught(call func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the library gave up: %v", broken)
		}
	}()
	return call()
}
