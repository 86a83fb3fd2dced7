package results

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// encode makes a record batch of rows, which is the caller's to release.
func encode[T any](l layout, rows []T) arrow.Record {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, l.schema)
	defer builder.Release()
	values := reflect.ValueOf(rows)
	for i, c := range l.columns {
		column := builder.Field(i)
		column.Reserve(len(rows))
		for row := range rows {
			appendCell(column, values.Index(row).FieldByIndex(c.Index))
		}
	}
	return builder.NewRecord()
}

// held is the value of a cell; a null, and an instant that did not happen, holds none.
func held(cell reflect.Value) (value reflect.Value, ok bool) {
	if cell.Kind() == reflect.Pointer {
		if cell.IsNil() {
			return cell, false
		}
		cell = cell.Elem()
	}
	return cell, cell.Type() != instantType || cell.Int() != 0
}

func appendCell(column array.Builder, cell reflect.Value) {
	cell, ok := held(cell)
	if !ok {
		column.AppendNull()
		return
	}
	switch column := column.(type) {
	case *array.StringBuilder:
		column.Append(cell.String())
	case *array.Int64Builder:
		column.Append(cell.Int())
	case *array.Float64Builder:
		column.Append(cell.Float())
	case *array.BooleanBuilder:
		column.Append(cell.Bool())
	case *array.ListBuilder:
		column.Append(true)
		for i := range cell.Len() {
			appendCell(column.ValueBuilder(), cell.Index(i))
		}
	}
}

// decoder reads record batches of one file into rows of T.
type decoder[T any] struct {
	layout layout
	at     []int // of each column of the layout, its position in the file; absent where the file has none
}

// absent is the position of a column that a file does not have.
const absent = -1

// newDecoder finds the columns of T in a file's schema. Columns of the file that T does not know are passed over. One that can be null and that the
// file does not have is null in every row, and a list is empty: it came to T after the file was written.
func newDecoder[T any](schema *arrow.Schema) (decoder[T], error) {
	l, err := layoutOf[T]("", "")
	if err != nil {
		return decoder[T]{}, err
	}
	d := decoder[T]{layout: l, at: make([]int, len(l.columns))}
	for i, field := range l.schema.Fields() {
		at := schema.FieldIndices(field.Name)
		if len(at) == 0 && (nullable(l.columns[i].Type) || field.Type.ID() == arrow.LIST) {
			d.at[i] = absent
			continue
		}
		if len(at) != 1 {
			return d, fmt.Errorf("it has %d columns %s, one is needed", len(at), field.Name)
		}
		d.at[i] = at[0]
		if got := schema.Field(at[0]).Type; !arrow.TypeEqual(got, field.Type) {
			return d, fmt.Errorf("its column %s is %s, not %s", field.Name, got, field.Type)
		}
	}
	return d, nil
}

// rows copies a batch into rows, which share no memory with it.
func (d decoder[T]) rows(batch arrow.Record) ([]T, error) {
	rows := make([]T, batch.NumRows())
	values := reflect.ValueOf(rows)
	for i, c := range d.layout.columns {
		if d.at[i] == absent {
			continue
		}
		column := batch.Column(d.at[i])
		if column.NullN() > 0 && !nullable(c.Type) {
			return nil, fmt.Errorf("its column %s has %d nulls and must have none", c.Name, column.NullN())
		}
		for row := range rows {
			setCell(values.Index(row).FieldByIndex(c.Index), column, row)
		}
	}
	return rows, nil
}

func setCell(cell reflect.Value, column arrow.Array, row int) {
	if column.IsNull(row) {
		return
	}
	if cell.Kind() == reflect.Pointer {
		cell.Set(reflect.New(cell.Type().Elem()))
		cell = cell.Elem()
	}
	switch column := column.(type) {
	case *array.String:
		cell.SetString(strings.Clone(column.Value(row)))
	case *array.Int64:
		cell.SetInt(column.Value(row))
	case *array.Float64:
		cell.SetFloat(column.Value(row))
	case *array.Boolean:
		cell.SetBool(column.Value(row))
	case *array.List:
		start, end := column.ValueOffsets(row)
		cell.Set(reflect.MakeSlice(cell.Type(), int(end-start), int(end-start)))
		for i := start; i < end; i++ {
			setCell(cell.Index(int(i-start)), column.ListValues(), int(i))
		}
	}
}
