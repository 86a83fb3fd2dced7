package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sweetspot/runner/disk"
)

// maxFile is the size in bytes that a file may have.
const maxFile = 256 << 20

// byteOrderMark is what some editors and shells put in front of a file.
var byteOrderMark = []byte("\ufeff")

// File is a file that was read.
type File struct {
	Name string // without its folder
	Path string // as errors name it
	Text []byte // without a byte order mark
	size int64  // in bytes, as it is

	sum [sha256.Size]byte // of it as it is
}

// Source is what a person names: a file, with its folder beside it, or a folder. A format reads the files that it needs from it.
type Source struct {
	path string
	dir  string
	main *File // nil for a folder
	read []*File
}

// Open reads the file at path, or looks at the folder there.
func Open(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("importing: %w", err)
	}
	if info.IsDir() {
		return &Source{path: path, dir: path}, nil
	}
	s := &Source{path: path, dir: filepath.Dir(path)}
	s.main, err = s.File(filepath.Base(path))
	return s, err
}

// File reads a file of the source's folder once; nil where there is none of that name.
func (s *Source) File(name string) (*File, error) {
	for _, file := range s.read {
		if file.Name == name {
			return file, nil
		}
	}
	path := filepath.Join(s.dir, name)
	in, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("importing: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("importing %s: %w", path, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("importing %s: it has more than %d MiB", path, maxFile>>20)
	}
	file := &File{Name: name, Path: path, Text: bytes.TrimPrefix(text, byteOrderMark), size: int64(len(text)), sum: sha256.Sum256(text)}
	s.read = append(s.read, file)
	return file, nil
}

// glimpse is [Source.File] for finding out what there is: a file that can't be read is not there.
func (s *Source) glimpse(name string) *File {
	file, err := s.File(name)
	if err != nil {
		return nil
	}
	return file
}

// named is the source's own file, or in a folder the one of that name; nil where there is neither.
func (s *Source) named(name string) *File {
	if s.main != nil {
		return s.main
	}
	return s.glimpse(name)
}

// without forgets the files that were read beside the source's own, so that only those are kept that the format which fits has read.
func (s *Source) without() {
	s.read = nil
	if s.main != nil {
		s.read = []*File{s.main}
	}
}

func (f *File) digest() string { return hex.EncodeToString(f.sum[:]) }

// clockID names the clock of a file's instants: no other file's can be compared with them.
func (f *File) clockID() string { return "imported:" + f.digest()[:12] }

// object gives the fields of the first JSON value of the text, nil where it is no object.
func (f *File) object() map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(f.Text)).Decode(&fields) != nil {
		return nil
	}
	return fields
}

func hasAll(fields map[string]json.RawMessage, names ...string) bool {
	for _, name := range names {
		if _, there := fields[name]; !there {
			return false
		}
	}
	return len(fields) > 0
}

// fault is an error of the file, at a field or line of it where there is one.
func (f *File) fault(where, format string, args ...any) error {
	if where != "" {
		where = ": " + where
	}
	return fmt.Errorf("importing %s%s: %s", f.Path, where, fmt.Sprintf(format, args...))
}

// values are the JSON values of the file, which follow each other; at least one.
func (f *File) values() ([]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(f.Text))
	var values []json.RawMessage
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if err == io.EOF && len(values) > 0 {
			return values, nil
		}
		if err != nil {
			return nil, f.fault("", "line %d or after it: it is no JSON: %v", lineAt(f.Text, int(decoder.InputOffset())), err)
		}
		values = append(values, value)
	}
}

// decode reads text into v. A fault names the file, and where the text ends badly or a field has another type, the line or the field.
func (f *File) decode(text []byte, v any, strict bool) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if strict {
		decoder.DisallowUnknownFields()
	}
	err := decoder.Decode(v)
	if err == nil {
		if rest := bytes.TrimLeft(text[decoder.InputOffset():], " \t\r\n"); len(rest) > 0 {
			return f.fault("", "line %d: something stands behind its end: it must be one JSON value", lineAt(text, len(text)-len(rest)))
		}
		return nil
	}
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return f.fault(kind.Field, "it is a %s, and %s is needed", kind.Value, kind.Type)
	case errors.As(err, &syntax):
		return f.fault("", "line %d: it is no JSON: %v", lineAt(text, int(syntax.Offset)), err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return f.fault("", "line %d: it is no JSON: it ends too early", 1+bytes.Count(bytes.TrimSpace(text), []byte("\n")))
	}
	return f.fault("", "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// lineAt is the number of the line in which the byte at offset stands.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}
