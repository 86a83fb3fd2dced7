package input

import (
	"io"
	"io/fs"
)

// File is an opened file. [os.File] is one.
type File interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Place is where an entry begins.
type Place struct {
	Entry  int64 // entries before it
	Line   int64 // of the file, from 1; of one that has no lines the entry, from 1
	Offset int64 // in bytes; of a file whose entries lie apart, such as Parquet, the bytes of the entries before it
}

// Entry is one entry of a file, such as a line.
type Entry struct {
	Place
	Text []byte // as it stands there, or as a JSON object of its fields; valid until the next entry is read
}

// Source is the content of a file.
type Source struct {
	File io.ReaderAt
	Size int64
	From io.Reader // reads from the place that is asked for
}

// Format cuts one file into entries. Read is called for the start of the file first, and then for places of entries.
type Format interface {
	Read(source Source, from Place) (Reader, error)
}

// Reader gives entries in order, then io.EOF. Any other error ends the reading; it doesn't say the file or the line, but the entry that comes with it may
// have the place.
type Reader interface {
	Next() (Entry, error)
}

// maxEntry bounds one entry in bytes, so that a file of another kind is an error and not a full memory.
const maxEntry = 256 << 20
