package input

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// CSV is a table whose first line names its columns. An entry's text is a JSON object of text by the name of its column. Empty lines are passed over.
type CSV struct {
	Needs []string // columns without which the file is no such table
}

// Read reads the header, from the start of the file whatever the place, and then rows.
func (c CSV) Read(source Source, from Place) (Reader, error) {
	if from.Line == 0 {
		from.Line = 1
		t := &table{lines: lines{read: bufio.NewReaderSize(source.From, 1<<16), at: from}, needs: c.Needs}
		return t, t.header(&t.lines)
	}
	t := &table{lines: lines{read: bufio.NewReaderSize(source.From, 1<<16), at: from}, rows: true}
	return t, t.header(&lines{read: bufio.NewReader(io.NewSectionReader(source.File, 0, source.Size))})
}

type table struct {
	lines
	columns []string
	needs   []string
	rows    bool // there is one
}

// header reads the names of the columns from the first row of l.
func (t *table) header(l *lines) error {
	row, err := l.row()
	switch {
	case err == io.EOF:
		return errors.New("the file is empty")
	case err != nil:
		return err
	}
	l.at.Entry--
	seen := map[string]bool{}
	for _, name := range row.fields {
		if seen[name] {
			return fmt.Errorf("two columns are called %q", short(name))
		}
		seen[name] = true
	}
	for _, name := range t.needs {
		if !seen[name] {
			return fmt.Errorf("the header has no column %q: the first line must name the columns, and it names %q", name, short(strings.Join(row.fields, ",")))
		}
	}
	t.columns = row.fields
	return nil
}

// Next gives the next row.
func (t *table) Next() (Entry, error) {
	row, err := t.row()
	switch {
	case err == io.EOF && !t.rows:
		return Entry{}, errors.New("there is no row below the header")
	case err != nil:
		return Entry{Place: row.Place}, err
	}
	t.rows = true
	if len(row.fields) != len(t.columns) {
		return Entry{Place: row.Place}, fmt.Errorf("the row has %d fields, and the header %d", len(row.fields), len(t.columns))
	}
	object := make(map[string]string, len(t.columns))
	for i, name := range t.columns {
		object[name] = row.fields[i]
	}
	text, err := json.Marshal(object)
	return Entry{Place: row.Place, Text: text}, err
}

type row struct {
	Place
	fields []string
}

// row reads the next row that is not empty: a line, or several where a quoted field goes over their ends.
func (l *lines) row() (row, error) {
	var found row
	var text []byte
	for {
		length, err := l.line()
		if err != nil && (err != io.EOF || length == 0 && len(text) == 0) {
			return row{}, err
		}
		part := bytes.TrimPrefix(l.text, byteOrderMark)
		if len(text) == 0 {
			found.Place = l.at
		}
		l.at.Line++
		l.at.Offset += length
		if len(text) == 0 && len(bytes.TrimSpace(part)) == 0 {
			if err == io.EOF {
				return row{}, err
			}
			continue
		}
		text = append(text, part...)
		switch {
		case len(text) > maxEntry:
			return row{}, fmt.Errorf("the row is longer than %d MiB", maxEntry>>20)
		case bytes.Count(text, []byte(`"`))%2 == 1 && err == nil:
			continue // the row goes on
		}
		l.at.Entry++
		read := csv.NewReader(bytes.NewReader(text))
		found.fields, err = read.Read()
		var fault *csv.ParseError
		if errors.As(err, &fault) {
			err = fmt.Errorf("column %d: %w", fault.Column, fault.Err)
		}
		return found, err
	}
}
