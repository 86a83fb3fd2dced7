package results

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"pgregory.net/rapid"

	"sweetspot/runner/measure"
)

// Arrow's own way to Parquet takes a record batch. Its files are not the same to the byte: of a column of lists it tells a least value that is above the greatest.
func TestAFileHasWhatArrowWouldWrite(t *testing.T) {
	t.Run("requests", sameFile[measure.RequestRow])
	t.Run("trials and points", sameFile[TrialRow])
	t.Run("server metrics", sameFile[measure.MetricRow])
	t.Run("gpu", sameFile[measure.GPURow])
}

func sameFile[T any](t *testing.T) {
	l, err := layoutOf[T](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	for seed, how := range []grouping{shortGroups, shortGroups, fewRows} {
		rows := rapid.SliceOfN(rapid.Custom(anyRow[T]), 1, 20).Example(seed)
		var ours, arrows bytes.Buffer
		if err := writeParquet(&ours, l, slices.Values(rows), how); err != nil {
			t.Fatal(err)
		}
		out, err := pqarrow.NewFileWriter(l.schema, &arrows, parquetProperties(l.schema, how), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			t.Fatal(err)
		}
		batch := encode(l, rows)
		if err := errors.Join(out.Write(batch), out.Close()); err != nil {
			t.Fatal(err)
		}
		got, gotTable := opened(t, ours.Bytes())
		want, wantTable := opened(t, arrows.Bytes())
		if !got.MetaData().Schema.Equals(want.MetaData().Schema) {
			t.Errorf("the schema is\n%s\nwant\n%s", got.MetaData().Schema, want.MetaData().Schema)
		}
		if !got.MetaData().KeyValueMetadata().Equals(want.MetaData().KeyValueMetadata()) {
			t.Errorf("the metadata is %v, want %v", got.MetaData().KeyValueMetadata(), want.MetaData().KeyValueMetadata())
		}
		if !array.TableApproxEqual(gotTable, wantTable, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
			t.Errorf("%d rows are not the same", len(rows))
		}
	}
}

func opened(t *testing.T, text []byte) (*file.Reader, arrow.Table) {
	t.Helper()
	whole, err := file.NewParquetReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	table, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(text), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return whole, table
}
