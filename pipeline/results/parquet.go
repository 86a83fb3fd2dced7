package results

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

// rowsPerGroup bounds the memory of writing and reading: that many rows are turned into columns at a time.
const rowsPerGroup = 4096

// grouping writes a batch of rows to a file.
type grouping = func(*pqarrow.FileWriter, arrow.Record) error

var (
	// shortGroups makes a group of each batch: a run's own files, of which a group is read at a time.
	shortGroups grouping = (*pqarrow.FileWriter).Write
	// longGroups makes groups of up to mostRows: files for elsewhere, of any size. The footer has something of each column of each group, and is
	// kept until the end.
	longGroups grouping = (*pqarrow.FileWriter).WriteBuffered
)

// bufferSize gathers what the library writes in pieces of a few bytes.
const bufferSize = 1 << 16

// writeParquet writes rows to w, a group at a time. It does not close w.
func writeParquet[T any](w io.Writer, l layout, rows iter.Seq[T], write grouping) error {
	if err := useOneEncoder(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, bufferSize) // it keeps the first error of writing: the library panics over some and overlooks others
	err := caught(func() error { return writeGroups(out, l, rows, write) })
	if broken := out.Flush(); broken != nil {
		return broken
	}
	return err
}

func writeGroups[T any](w io.Writer, l layout, rows iter.Seq[T], write grouping) error {
	out, err := pqarrow.NewFileWriter(l.schema, w, parquetProperties(l.schema), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return err
	}
	if err := writeBatches(l, rows, func(batch arrow.Record) error { return write(out, batch) }); err != nil {
		return err
	}
	return out.Close()
}

// writeBatches hands rows to write, a group at a time.
func writeBatches[T any](l layout, rows iter.Seq[T], write func(arrow.Record) error) error {
	for group := range groups(rows, rowsPerGroup) {
		batch := encode(l, group)
		err := write(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// parquetProperties compresses every column and gives a dictionary to those of text, which repeat.
func parquetProperties(schema *arrow.Schema) *parquet.WriterProperties {
	options := []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(mostRows)}
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
