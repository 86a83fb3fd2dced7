package measure

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"sweetspot/runner/clock"
)

// MarshalRow writes a row, or what a pointer to one points to, as [JSON] does.
func MarshalRow(row any, omit ...string) ([]byte, error) {
	value := reflect.Indirect(reflect.ValueOf(row))
	return JSONOf(value.Type(), omit...).Append(nil, value)
}

// JSON writes rows of one type as JSON objects with the names of [Columns] in their order. An infinite figure, which JSON has no number for, is the string
// "Infinity" or "-Infinity"; one that is not a number is null.
type JSON struct{ members []member }

// member is a column and how its cells are written.
type member struct {
	Column
	key    []byte // its name, with a colon behind it
	append func(to []byte, cell reflect.Value) ([]byte, error)
}

// JSONOf is for rows of a type, less the columns that it is told to omit.
func JSONOf(row reflect.Type, omit ...string) JSON {
	var j JSON
	for _, c := range Columns(row) {
		if !slices.Contains(omit, c.Name) {
			j.members = append(j.members, member{c, append(appendText(nil, c.Name), ':'), appender(c.Type)})
		}
	}
	return j
}

// Append appends a row.
func (j JSON) Append(to []byte, row reflect.Value) ([]byte, error) {
	to = append(to, '{')
	for i := range j.members {
		m := &j.members[i]
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, m.key...)
		var err error
		if to, err = m.append(to, row.FieldByIndex(m.Index)); err != nil {
			return to, fmt.Errorf("writing column %s: %w", m.Name, err)
		}
	}
	return append(to, '}'), nil
}

// appender is how cells of a type are written: those that tables have millions of without a detour.
func appender(t reflect.Type) func(to []byte, cell reflect.Value) ([]byte, error) {
	switch {
	case t == reflect.TypeFor[clock.Instant]():
		return appendInstant
	case t == reflect.TypeFor[*float64]():
		return appendFloat
	case writesItself(t):
		return appendAny
	case t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Float64 && !writesItself(t.Elem()):
		appendTo := appender(t.Elem())
		return func(to []byte, cell reflect.Value) ([]byte, error) {
			if cell.IsNil() {
				return append(to, "null"...), nil
			}
			return appendTo(to, cell.Elem())
		}
	case t == reflect.TypeFor[[]int64]():
		return appendInts
	}
	switch t.Kind() {
	case reflect.String:
		return func(to []byte, cell reflect.Value) ([]byte, error) { return appendText(to, cell.String()), nil }
	case reflect.Int64:
		return func(to []byte, cell reflect.Value) ([]byte, error) { return strconv.AppendInt(to, cell.Int(), 10), nil }
	case reflect.Bool:
		return func(to []byte, cell reflect.Value) ([]byte, error) { return strconv.AppendBool(to, cell.Bool()), nil }
	}
	return appendAny
}

// writesItself reports whether a type says how it is written.
func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func appendAny(to []byte, cell reflect.Value) ([]byte, error) {
	text, err := json.Marshal(cell.Interface())
	return append(to, text...), err
}

func appendInstant(to []byte, cell reflect.Value) ([]byte, error) {
	if cell.Int() == 0 {
		return append(to, "null"...), nil
	}
	return strconv.AppendInt(to, cell.Int(), 10), nil
}

func appendFloat(to []byte, cell reflect.Value) ([]byte, error) {
	if cell.IsNil() {
		return append(to, "null"...), nil
	}
	v := cell.Elem().Float()
	switch {
	case math.IsNaN(v):
		return append(to, "null"...), nil
	case math.IsInf(v, 1):
		return append(to, `"Infinity"`...), nil
	case math.IsInf(v, -1):
		return append(to, `"-Infinity"`...), nil
	}
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) { // with an exponent
		return appendAny(to, cell)
	}
	return strconv.AppendFloat(to, v, 'f', -1, 64), nil
}

func appendInts(to []byte, cell reflect.Value) ([]byte, error) {
	if cell.IsNil() {
		return append(to, "null"...), nil
	}
	to = append(to, '[')
	for i, n := range cell.Interface().([]int64) {
		if i > 0 {
			to = append(to, ',')
		}
		to = strconv.AppendInt(to, n, 10)
	}
	return append(to, ']'), nil
}

// appendText appends text as json.Marshal writes it.
func appendText(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(text)
			if err != nil {
				panic(err) // text can be written
			}
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}
