package measure

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Column is one column of a row type.
type Column struct {
	Name  string       // as in Parquet, JSON and CSV
	Unit  string       // "s", "ns", "1/s", "tok/s"; empty for counts, ratios and text
	Doc   string       // what it means
	Count bool         // it counts what happened in a measurement, so that several measurements add up; such as requests and tokens, and unlike a cap
	Type  reflect.Type // of the field, such as *float64, string or clock.Instant
	Index []int        // of the field, for reflect's FieldByIndex
}

// Columns lists the columns of a row type in order. Embedded structs are flattened; a struct field with a prefix tag is flattened too, each of
// its columns taking the prefix before its own name and, where it has a unit, "_" and the unit behind it (prefix "ttft" and name "p50" in
// seconds give ttft_p50_s).
//
// A pointer that is nil, an instant that did not happen and an empty slice pointer are null.
//
// The list is made once for each type, as thousands of files have rows of one; it is not to be changed.
func Columns(row reflect.Type) []Column {
	if listed, ok := listed.Load(row); ok {
		return listed.([]Column)
	}
	columns := appendColumns(nil, row, nil, "", "", "")
	listed.Store(row, slices.Clip(columns))
	return columns
}

var listed sync.Map // of each type, its columns

func appendColumns(columns []Column, row reflect.Type, index []int, prefix, unit, doc string) []Column {
	for i := range row.NumField() {
		field := row.Field(i)
		at := append(append([]int{}, index...), i)
		if field.Anonymous {
			columns = appendColumns(columns, field.Type, at, prefix, unit, doc)
			continue
		}
		if nested := field.Tag.Get("prefix"); nested != "" {
			columns = appendColumns(columns, field.Type, at, nested+"_", field.Tag.Get("unit"), field.Tag.Get("doc"))
			continue
		}
		columns = append(columns, column(field, at, prefix, unit, doc))
	}
	return columns
}

func column(field reflect.StructField, index []int, prefix, unit, doc string) Column {
	c := Column{Name: prefix + field.Tag.Get("json"), Unit: field.Tag.Get("unit"), Doc: field.Tag.Get("doc"), Type: field.Type, Index: index, Count: field.Tag.Get("count") == "yes" || field.Type.Kind() == reflect.Int64}
	if strings.HasSuffix(c.Name, "_ns") {
		c.Unit = "ns"
	}
	if prefix == "" {
		return c
	}
	c.Doc = c.Doc + " of " + doc
	if c.Unit == "prefixed" {
		c.Unit = unit
		if unit == "s" {
			c.Name += "_s"
		}
	}
	return c
}
