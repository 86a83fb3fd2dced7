package results

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// SchemaVersion is the version of the results' schema: of the columns of every table and of what they mean. A reader refuses a later one, and reads every
// earlier one: testdata holds a run of each. A new column that can be null, or is a list, does not change the version.
const SchemaVersion = 1

const (
	versionKey = "sweetspot_schema_version"
	runKey     = "run_id"
	tableKey   = "table"
	unitKey    = "unit"
	docKey     = "description"
)

// layout is how the rows of one type lie in Arrow.
type layout struct {
	columns []measure.Column
	schema  *arrow.Schema
}

// layoutOf maps the columns of T. The metadata of the schema, and so of each file, says which version, run and table it is of.
func layoutOf[T any](table Table, runID string) (layout, error) {
	columns := measure.Columns(reflect.TypeFor[T]())
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		kind, err := arrowType(c.Type)
		if err != nil {
			return layout{}, fmt.Errorf("laying out column %s of %s: %w", c.Name, table, err)
		}
		fields[i] = arrow.Field{Name: c.Name, Type: kind, Nullable: nullable(c.Type), Metadata: columnMetadata(c)}
	}
	metadata := arrow.NewMetadata([]string{versionKey, runKey, tableKey}, []string{strconv.Itoa(SchemaVersion), runID, string(table)})
	return layout{columns, arrow.NewSchema(fields, &metadata)}, nil
}

func columnMetadata(c measure.Column) arrow.Metadata {
	if c.Unit == "" {
		return arrow.NewMetadata([]string{docKey}, []string{c.Doc})
	}
	return arrow.NewMetadata([]string{docKey, unitKey}, []string{c.Doc, c.Unit})
}

// nullable reports whether a column can be null: a pointer, or an instant that did not happen.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t == instantType
}

var instantType = reflect.TypeFor[clock.Instant]()

func arrowType(t reflect.Type) (arrow.DataType, error) {
	switch t.Kind() {
	case reflect.Pointer:
		return scalarType(t.Elem())
	case reflect.Slice:
		element, err := scalarType(t.Elem())
		if err != nil {
			return nil, err
		}
		return arrow.ListOf(element), nil
	}
	return scalarType(t)
}

func scalarType(t reflect.Type) (arrow.DataType, error) {
	switch t.Kind() {
	case reflect.String:
		return arrow.BinaryTypes.String, nil
	case reflect.Int64:
		return arrow.PrimitiveTypes.Int64, nil
	case reflect.Float64:
		return arrow.PrimitiveTypes.Float64, nil
	case reflect.Bool:
		return arrow.FixedWidthTypes.Boolean, nil
	}
	return nil, fmt.Errorf("a column cannot hold a %s", t)
}
