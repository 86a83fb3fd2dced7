package results

import (
	"fmt"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"sweetspot/runner/measure"
)

// storedColumn is a column of a row type that a file has.
type storedColumn struct {
	measure.Column
	leaf  *parquet.Column
	set   func(cell reflect.Value, value *parquet.Value)
	nulls int // where there must be none
}

// storedColumns finds columns in a file. Others that it has are passed over. One that can be null and that the file does not have is null in every row, and a
// list is empty: it came to the row type after the file was written.
func storedColumns(root *parquet.Column, wanted []measure.Column) ([]storedColumn, error) {
	there := map[string][]*parquet.Column{}
	for _, column := range root.Columns() {
		there[column.Name()] = append(there[column.Name()], column)
	}
	var found []storedColumn
	for _, c := range wanted {
		named := there[c.Name]
		if len(named) == 0 && (nullable(c.Type) || c.Type.Kind() == reflect.Slice) {
			continue
		}
		if len(named) != 1 {
			return nil, fmt.Errorf("it has %d columns %s, one is needed", len(named), c.Name)
		}
		stored, err := storedAs(c, named[0])
		if err != nil {
			return nil, err
		}
		found = append(found, stored)
	}
	return found, nil
}

// storedAs holds the type of a column against that of the file's.
func storedAs(c measure.Column, in *parquet.Column) (storedColumn, error) {
	stored, repeated := storedColumn{Column: c, leaf: in, set: setter(c.Type)}, 0
	for !stored.leaf.Leaf() && len(stored.leaf.Columns()) == 1 {
		stored.leaf = stored.leaf.Columns()[0]
	}
	scalar := c.Type
	if k := c.Type.Kind(); k == reflect.Pointer || k == reflect.Slice {
		scalar = c.Type.Elem()
	}
	if c.Type.Kind() == reflect.Slice {
		repeated = 1
	}
	want, known := physical[scalar.Kind()]
	if !known {
		return stored, fmt.Errorf("its column %s: a column cannot hold a %s", c.Name, scalar)
	}
	leaf := stored.leaf
	if !leaf.Leaf() {
		return stored, fmt.Errorf("its column %s is a group of columns, not %s", c.Name, typeText(want, repeated))
	}
	if kind := leaf.Type().Kind(); kind != want || leaf.MaxRepetitionLevel() != repeated {
		return stored, fmt.Errorf("its column %s is %s, not %s", c.Name, typeText(kind, leaf.MaxRepetitionLevel()), typeText(want, repeated))
	}
	return stored, nil
}

// physical is what a cell of that kind is stored as.
var physical = map[reflect.Kind]parquet.Kind{
	reflect.String: parquet.ByteArray, reflect.Int64: parquet.Int64, reflect.Float64: parquet.Double, reflect.Bool: parquet.Boolean,
}

func typeText(kind parquet.Kind, repeated int) string {
	if repeated > 0 {
		return "a list of " + kind.String()
	}
	return kind.String()
}

// put puts a value into a row. An empty list is one value, at a level below that of its elements. What is not a number, which older versions have stored, says
// as little as null.
func (c *storedColumn) put(row reflect.Value, value *parquet.Value) {
	switch {
	case !value.IsNull() && !(value.Kind() == parquet.Double && math.IsNaN(value.Double())):
		c.set(row.FieldByIndex(c.Index), value)
	case c.Type.Kind() == reflect.Slice && value.DefinitionLevel() < c.leaf.MaxDefinitionLevel()-1:
		row.FieldByIndex(c.Index).Set(reflect.MakeSlice(c.Type, 0, 0))
	case !nullable(c.Type):
		c.nulls++
	}
}

// setter gives what puts a value into a cell of a type. It is of one column: text that repeats from row to row is kept once.
func setter(t reflect.Type) func(cell reflect.Value, value *parquet.Value) {
	switch t.Kind() {
	case reflect.Pointer:
		set := setter(t.Elem())
		return func(cell reflect.Value, value *parquet.Value) {
			cell.Set(reflect.New(t.Elem()))
			set(cell.Elem(), value)
		}
	case reflect.Slice:
		set := setter(t.Elem())
		return func(cell reflect.Value, value *parquet.Value) {
			n := cell.Len()
			cell.Grow(1)
			cell.SetLen(n + 1)
			set(cell.Index(n), value)
		}
	case reflect.String:
		var last string
		return func(cell reflect.Value, value *parquet.Value) {
			if text := value.ByteArray(); string(text) != last {
				last = string(text)
			}
			cell.SetString(last)
		}
	case reflect.Int64:
		return func(cell reflect.Value, value *parquet.Value) { cell.SetInt(value.Int64()) }
	case reflect.Float64:
		return func(cell reflect.Value, value *parquet.Value) { cell.SetFloat(value.Double()) }
	}
	return func(cell reflect.Value, value *parquet.Value) { cell.SetBool(value.Boolean()) }
}
