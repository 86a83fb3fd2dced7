package results

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"sweetspot/runner/measure"
)

// parquetSchema is the schema that Arrow maps s to.
func parquetSchema(s *arrow.Schema) (*schema.GroupNode, error) {
	nodes := make(schema.FieldList, s.NumFields())
	for i, field := range s.Fields() {
		repetition := parquet.Repetitions.Required
		if field.Nullable {
			repetition = parquet.Repetitions.Optional
		}
		var err error
		if nodes[i], err = parquetNode(field.Name, field.Type, repetition); err != nil {
			return nil, err
		}
	}
	return schema.NewGroupNode(parquet.DefaultRootName, parquet.Repetitions.Repeated, nodes, noField)
}

// noField is the field id of a column that has none; noLength the length of a value that has no fixed one.
const noField, noLength = -1, -1

func parquetNode(name string, t arrow.DataType, repetition parquet.Repetition) (schema.Node, error) {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return schema.NewBooleanNode(name, repetition, noField), nil
	case *arrow.Float64Type:
		return schema.NewFloat64Node(name, repetition, noField), nil
	case *arrow.Int64Type:
		return schema.NewPrimitiveNodeLogical(name, repetition, schema.NewIntLogicalType(64, true), parquet.Types.Int64, noLength, noField)
	case *arrow.StringType:
		return schema.NewPrimitiveNodeLogical(name, repetition, schema.StringLogicalType{}, parquet.Types.ByteArray, noLength, noField)
	case *arrow.ListType:
		element, err := parquetNode(name, t.Elem(), parquet.Repetitions.Optional)
		if err != nil {
			return nil, err
		}
		return schema.ListOf(element, repetition, noField)
	}
	return nil, fmt.Errorf("a file cannot have a column %s of %s", name, t)
}

// parquetMetadata is that of s and, for readers that know Arrow, s itself, which has the descriptions and units of the columns.
func parquetMetadata(s *arrow.Schema) (metadata.KeyValueMetadata, error) {
	var whole bytes.Buffer
	if err := ipc.NewWriter(&whole, ipc.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("describing the columns: %w", err)
	}
	made := metadata.NewKeyValueMetadata()
	for i, key := range s.Metadata().Keys() {
		if err := made.Append(key, s.Metadata().Values()[i]); err != nil {
			return nil, err
		}
	}
	return made, made.Append("ARROW:schema", base64.StdEncoding.EncodeToString(whole.Bytes()))
}

// cells are those of one column as Parquet has them: the values that there are and, for each null, empty list and value, its levels. Defined is how much of the
// way to a value is there: of a list, 0 is that it has no element, 1 a null element and 2 a value; of another column that can be null, 0 is null and 1 a
// value. Repeated is 1 for all elements of a list but its first. The library passes over levels that a column can't have.
type cells struct {
	bools             []bool
	ints              []int64
	floats            []float64
	texts             []parquet.ByteArray
	defined, repeated []int16
}

// take has the cells of a column of rows, in the place of those before.
func (c *cells) take(rows reflect.Value, column measure.Column) {
	*c = cells{c.bools[:0], c.ints[:0], c.floats[:0], c.texts[:0], c.defined[:0], c.repeated[:0]}
	for row := range rows.Len() {
		cell := rows.Index(row).FieldByIndex(column.Index)
		if column.Type.Kind() == reflect.Slice {
			c.addList(cell)
			continue
		}
		c.add(cell, 0, 0)
	}
}

func (c *cells) addList(list reflect.Value) {
	if list.Len() == 0 {
		c.defined, c.repeated = append(c.defined, 0), append(c.repeated, 0)
		return
	}
	if ints, ok := list.Interface().([]int64); ok { // the chunks of requests: most of all cells
		c.ints = append(c.ints, ints...)
		c.defined = append(c.defined, slices.Repeat([]int16{2}, len(ints))...)
		c.repeated = append(append(c.repeated, 0), slices.Repeat([]int16{1}, len(ints)-1)...)
		return
	}
	for i := range list.Len() {
		c.add(list.Index(i), 1, int16(min(i, 1)))
	}
}

// add takes in a cell, or an element of a list, that is defined to level null where it is null, and one further where it is not.
func (c *cells) add(cell reflect.Value, null, repeated int16) {
	c.repeated = append(c.repeated, repeated)
	value, ok := held(cell)
	if !ok {
		c.defined = append(c.defined, null)
		return
	}
	c.defined = append(c.defined, null+1)
	switch value.Kind() {
	case reflect.String:
		c.texts = append(c.texts, parquet.ByteArray(value.String()))
	case reflect.Int64:
		c.ints = append(c.ints, value.Int())
	case reflect.Float64:
		c.floats = append(c.floats, value.Float())
	case reflect.Bool:
		c.bools = append(c.bools, value.Bool())
	}
}

func (c *cells) write(to file.ColumnChunkWriter) error {
	var err error
	switch to := to.(type) {
	case *file.ByteArrayColumnChunkWriter:
		_, err = to.WriteBatch(c.texts, c.defined, c.repeated)
	case *file.Int64ColumnChunkWriter:
		_, err = to.WriteBatch(c.ints, c.defined, c.repeated)
	case *file.Float64ColumnChunkWriter:
		_, err = to.WriteBatch(c.floats, c.defined, c.repeated)
	case *file.BooleanColumnChunkWriter:
		_, err = to.WriteBatch(c.bools, c.defined, c.repeated)
	default:
		err = errors.ErrUnsupported
	}
	return err
}
