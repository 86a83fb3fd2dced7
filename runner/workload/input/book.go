package input

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Book is a file of entries, each of which is a T. It is safe for several goroutines.
type Book[T any] struct {
	name   string
	open   func() (File, error)
	format Format
	parse  func(Entry) (T, error)

	sum      string
	size     int64
	modified time.Time
	count    int64
	skipped  int64
	marks    []mark // of the first entry, and of one about each [apart] bytes

	mu    sync.Mutex
	pages []page[T] // the newest last
}

// ErrSkipped is what parse says of an entry that is sound and can't be used. It is counted, and is none of the book's entries.
var ErrSkipped = errors.New("the entry is not used")

// mark is a place, and how many entries that are used come before it.
type mark struct {
	at    Place
	first int64
}

// page is the entries between two marks.
type page[T any] struct {
	first   int64
	entries []T
}

// What bounds the memory that a book takes.
const (
	apart      = 1 << 20 // bytes between marks, but for longer entries
	mostPages  = 4       // kept: one for each phase that is read at a time
	mostFaults = 20      // told
)

// Read reads a file whole: name stands in errors, open opens it, from the start each time. parse makes what an entry means of it, and must keep no
// part of its text.
//
// All that is wrong with the file comes in one error, a line each: `file:line: what`, after the first 20 their number. A file without an entry is an error.
func Read[T any](name string, open func() (File, error), format Format, parse func(Entry) (T, error)) (*Book[T], error) {
	b := &Book[T]{name: name, open: open, format: format, parse: parse}
	file, err := b.opened()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	digest := sha256.New()
	whole := io.TeeReader(io.NewSectionReader(file, 0, b.size), digest)
	if err := b.scan(Source{File: file, Size: b.size, From: whole}); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, whole); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	b.sum = hex.EncodeToString(digest.Sum(nil))
	return b, nil
}

// opened opens the file, which must be the one that was read before.
func (b *Book[T]) opened() (File, error) {
	file, err := b.open()
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no file: entries are read from it again and again", b.name)
	case err == nil && b.marks != nil && (info.Size() != b.size || !info.ModTime().Equal(b.modified)):
		err = b.compare(file, info.Size())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	b.size, b.modified = info.Size(), info.ModTime()
	return file, nil
}

// compare is an error if a file with another size or time is another. One that was written anew as it was is the same.
func (b *Book[T]) compare(file File, size int64) error {
	digest := sha256.New()
	if _, err := io.Copy(digest, io.NewSectionReader(file, 0, size)); err != nil {
		return fmt.Errorf("reading %s again, which has changed since it was read: %w", b.name, err)
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); sum != b.sum {
		return fmt.Errorf("%s has changed since it was read: its SHA-256 was %s and is %s", b.name, b.sum, sum)
	}
	return nil
}

// Unchanged is an error if the file can't be opened any more, or is another than the one that was read. It looks at the file's size and time, and reads it
// where one of them is another.
func (b *Book[T]) Unchanged() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	file, err := b.opened()
	if err != nil {
		return err
	}
	return file.Close()
}

// scan finds the faults of the file and the places of its entries.
func (b *Book[T]) scan(source Source) error {
	var faults []error
	var more int64
	complain := func(line int64, err error) {
		if len(faults) == mostFaults {
			more++
			return
		}
		faults = append(faults, fmt.Errorf("%s:%d: %w", b.name, line, err))
	}
	read, err := b.format.Read(source, Place{})
	line := int64(1)
	for err == nil {
		var entry Entry
		if entry, err = read.Next(); err != nil {
			line = cmp.Or(entry.Line, line)
			break
		}
		line = entry.Line + 1
		b.mark(entry.Place)
		_, fault := b.parse(entry)
		if fault == nil || errors.Is(fault, ErrSkipped) {
			fault = cmp.Or(Distinct(entry.Text), fault)
		}
		switch {
		case errors.Is(fault, ErrSkipped):
			b.skipped++
			continue
		case fault != nil:
			complain(entry.Line, fault)
		}
		b.count++
	}
	if err != io.EOF {
		complain(line, err)
	}
	switch {
	case b.count > 0 || len(faults) > 0:
	case b.skipped > 0:
		complain(1, fmt.Errorf("none of the %d entries can be used", b.skipped))
	default:
		complain(1, errors.New("the file is empty"))
	}
	if more > 0 {
		faults = append(faults, fmt.Errorf("%s: %d more faults", b.name, more))
	}
	return errors.Join(faults...)
}

func (b *Book[T]) mark(at Place) {
	if len(b.marks) == 0 || at.Offset-b.marks[len(b.marks)-1].at.Offset >= apart {
		b.marks = append(b.marks, mark{at, b.count})
	}
}

// Name is the file's, as it stands in errors.
func (b *Book[T]) Name() string { return b.name }

// Skipped is the number of entries that are not used.
func (b *Book[T]) Skipped() int64 { return b.skipped }

// Len is the number of entries that are used.
func (b *Book[T]) Len() int64 { return b.count }

// SHA256 is the digest of the file, in hexadecimal.
func (b *Book[T]) SHA256() string { return b.sum }

// At gives entry i, from 0 to Len()-1. Entries near one another are read together; the T is shared and must not be changed. An error is that the
// file can't be read any more, or has changed.
func (b *Book[T]) At(i int64) (T, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, p := range b.pages {
		if i >= p.first && i < p.first+int64(len(p.entries)) {
			b.pages = append(append(b.pages[:n:n], b.pages[n+1:]...), p)
			return p.entries[i-p.first], nil
		}
	}
	p, err := b.page(i)
	if err != nil {
		var none T
		return none, err
	}
	if len(b.pages) == mostPages {
		b.pages = b.pages[1:]
	}
	b.pages = append(b.pages, p)
	return p.entries[i-p.first], nil
}

// page reads the entries around i.
func (b *Book[T]) page(i int64) (page[T], error) {
	from, until := b.around(i)
	p := page[T]{first: from.first}
	file, err := b.opened()
	if err != nil {
		return p, err
	}
	defer file.Close()
	at := from.at
	read, err := b.format.Read(Source{File: file, Size: b.size, From: io.NewSectionReader(file, at.Offset, b.size-at.Offset)}, at)
	for err == nil && p.first+int64(len(p.entries)) < until {
		var entry Entry
		var made T
		if entry, err = read.Next(); err == nil {
			made, err = b.parse(entry)
		}
		switch {
		case errors.Is(err, ErrSkipped):
			err = nil
		case err == nil:
			p.entries = append(p.entries, made)
		}
	}
	if err != nil {
		return p, fmt.Errorf("reading entry %d of %s again: %w", i, b.name, err)
	}
	return p, nil
}

// around is the last mark up to entry i, and the entry at which the next begins.
func (b *Book[T]) around(i int64) (from mark, until int64) {
	low, high := 0, len(b.marks)
	for high-low > 1 {
		if middle := (low + high) / 2; b.marks[middle].first <= i {
			low = middle
		} else {
			high = middle
		}
	}
	if high < len(b.marks) {
		return b.marks[low], b.marks[high].first
	}
	return b.marks[low], b.count
}
