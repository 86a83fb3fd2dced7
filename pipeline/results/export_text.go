package results

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"sweetspot/runner/measure"
)

func writeJSONL[T any](w io.Writer, rows iter.Seq[T]) error {
	out := bufio.NewWriterSize(w, 1<<16)
	format := measure.JSONOf(reflect.TypeFor[T]())
	var row T
	value := reflect.ValueOf(&row).Elem()
	var line []byte
	for row = range rows {
		var err error
		if line, err = format.Append(line[:0], value); err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeCSV[T any](w io.Writer, l layout, rows iter.Seq[T]) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = c.Name
	}
	err := out.Write(cells)
	var row T
	value := reflect.ValueOf(&row).Elem()
	var line []byte // the cells, one behind the other
	ends := make([]int, len(l.columns))
	for row = range rows {
		if err != nil {
			return err
		}
		line = line[:0]
		for i, c := range l.columns {
			line = appendCellText(line, value.FieldByIndex(c.Index))
			ends[i] = len(line)
		}
		text, begin := string(line), 0
		for i, end := range ends {
			cells[i], begin = text[begin:end], end
		}
		err = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// appendCellText appends a cell as CSV has it, before quoting.
func appendCellText(to []byte, cell reflect.Value) []byte {
	if cell.Kind() == reflect.Pointer {
		if cell.IsNil() {
			return to
		}
		cell = cell.Elem()
	}
	switch cell.Kind() {
	case reflect.String:
		return append(to, cell.String()...)
	case reflect.Bool:
		return strconv.AppendBool(to, cell.Bool())
	case reflect.Float64:
		return append(to, strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(cell.Float(), 'g', -1, 64)), "+")...)
	case reflect.Int64:
		if cell.Type() == instantType && cell.Int() == 0 {
			return to
		}
		return strconv.AppendInt(to, cell.Int(), 10)
	}
	text, err := json.Marshal(cell.Interface())
	if err != nil {
		panic(err) // lists are of text or of whole numbers
	}
	return append(to, text...)
}
