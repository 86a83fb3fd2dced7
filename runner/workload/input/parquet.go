package input

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Parquet is a table of a Parquet file. An entry's text is a JSON object of the row; its line is the row's number, from 1.
type Parquet struct{}

// Read reads rows. What is broken in a file is an error, and so is what makes the library panic.
func (Parquet) Read(source Source, from Place) (reader Reader, err error) {
	defer broken(&err)
	file, err := parquet.OpenFile(source.File, source.Size)
	if err != nil {
		return nil, fmt.Errorf("reading a Parquet file: %w", err)
	}
	r := &rows{read: parquet.NewGenericReader[any](file, file.Schema()), at: from}
	if from.Entry > 0 {
		err = r.read.SeekToRow(from.Entry)
	}
	return r, err
}

type rows struct {
	read *parquet.GenericReader[any]
	at   Place // of the row that comes next
}

// Next gives the next row.
func (r *rows) Next() (found Entry, err error) {
	defer broken(&err)
	found.Place = r.at
	found.Line = r.at.Entry + 1
	row := []any{map[string]any{}}
	n, err := r.read.Read(row)
	if n == 0 {
		if err != nil && err != io.EOF {
			err = fmt.Errorf("reading a row: %w", err)
		}
		return found, err
	}
	if found.Text, err = json.Marshal(asText(row[0])); err != nil {
		return found, fmt.Errorf("reading a row: %w", err)
	}
	if len(found.Text) > maxEntry {
		return found, fmt.Errorf("the row is longer than %d MiB", maxEntry>>20)
	}
	r.at.Entry++
	r.at.Line = r.at.Entry + 1
	r.at.Offset += int64(len(found.Text))
	return found, nil
}

// asText is a value with text in the place of bytes: a column of text need not say that it is one, and JSON has another form for bytes.
func asText(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case map[string]any:
		for name, field := range v {
			v[name] = asText(field)
		}
	case []any:
		for i := range v {
			v[i] = asText(v[i])
		}
	}
	return v
}

// broken turns a panic, which the library answers some broken files with, into an error.
func broken(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("reading a Parquet file: it is broken: %v", fault)
	}
}
