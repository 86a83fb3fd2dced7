package results

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"sweetspot/runner/disk"
)

// rowsPerGroup bounds the memory of writing and reading: that many rows are turned into columns at a time.
const rowsPerGroup = 4096

// writeParquet writes rows to w, a group at a time. It does not close w.
func writeParquet[T any](w io.Writer, l layout, rows iter.Seq[T]) error {
	if err := useOneEncoder(); err != nil {
		return err
	}
	sink := &sink{to: w}
	err := caught(func() error { return writeGroups(sink, l, rows) })
	if sink.broken != nil {
		return sink.broken
	}
	return err
}

// sink keeps the first error of writing: the library panics over some and overlooks others.
type sink struct {
	to     io.Writer
	broken error
}

func (s *sink) Write(p []byte) (n int, err error) {
	if s.broken == nil {
		n, s.broken = s.to.Write(p)
	}
	return n, s.broken
}

func writeGroups[T any](w io.Writer, l layout, rows iter.Seq[T]) error {
	out, err := pqarrow.NewFileWriter(l.schema, w, parquetProperties(l.schema), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return err
	}
	if err := writeBatches(l, rows, out.Write); err != nil {
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

// readParquet gives the rows of a file in order, a group of them in memory at a time. An error, which names the file, ends them: rows given before
// it are those of a file that is not whole.
func readParquet[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		in, err := disk.Open(path)
		if err != nil {
			yield(none, fmt.Errorf("reading results: %w", err))
			return
		}
		defer in.Close()
		var reader parquetReader[T]
		for err = caught(func() error { return reader.open(in) }); err == nil; {
			var rows []T
			err = caught(func() (err error) { rows, err = reader.next(); return err })
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
		if err != io.EOF {
			yield(none, fmt.Errorf("reading %s: %w", path, err))
		}
	}
}

// caught turns a panic of the library, which some broken files cause, into an error.
func caught(call func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the Arrow library gave up: %v", broken)
		}
	}()
	return call()
}

// parquetReader reads one file in groups of rows.
type parquetReader[T any] struct {
	decoder decoder[T]
	batches pqarrow.RecordReader
}

func (r *parquetReader[T]) open(in *os.File) error {
	parquetFile, err := file.NewParquetReader(in)
	if err != nil {
		return fmt.Errorf("it is corrupt or cut short: %w", err)
	}
	if err := checkVersion(parquetFile.MetaData().KeyValueMetadata().FindValue(versionKey)); err != nil {
		return err
	}
	// The library makes room for a whole batch in each of hundreds of columns: 10 MB for the one row of a point.
	size := max(1, min(rowsPerGroup, parquetFile.NumRows()))
	reader, err := pqarrow.NewFileReader(parquetFile, pqarrow.ArrowReadProperties{BatchSize: size}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	if r.batches, err = reader.GetRecordReader(context.Background(), nil, nil); err != nil {
		return err
	}
	r.decoder, err = newDecoder[T](r.batches.Schema())
	return err
}

// checkVersion compares the version that a file says it is of.
func checkVersion(stored *string) error {
	if stored == nil {
		return fmt.Errorf("it has no %s: sweetspot did not write it", versionKey)
	}
	if *stored != strconv.Itoa(SchemaVersion) {
		return fmt.Errorf("its results schema is version %s; this sweetspot reads version %d", *stored, SchemaVersion)
	}
	return nil
}

// next gives the next rows, and io.EOF after the last.
func (r *parquetReader[T]) next() ([]T, error) {
	if r.batches.Next() {
		return r.decoder.rows(r.batches.Record())
	}
	if err := r.batches.Err(); err != nil && err != io.EOF {
		return nil, fmt.Errorf("it is corrupt: %w", err)
	}
	return nil, io.EOF
}
