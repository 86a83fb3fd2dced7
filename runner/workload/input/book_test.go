package input

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func numberOf(e Entry) (int, error) {
	var n int
	if err := json.Unmarshal(e.Text, &n); err != nil {
		return 0, errors.New("is no number")
	}
	return n, nil
}

// fileOf writes a file and gives what opens it.
func fileOf(t testing.TB, content string) func() (File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() (File, error) { return os.Open(path) }
}

// manyLines is a file of several marks, and of lines of many lengths.
func manyLines(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s%d\n", strings.Repeat(" ", i%2000), i)
		if i%7 == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestEntriesAreGivenInAnyOrder(t *testing.T) {
	const lines = 5000
	content := manyLines(lines)
	book, err := Read("numbers", fileOf(t, content), JSONL{}, numberOf)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	if book.Len() != lines || book.SHA256() != hex.EncodeToString(sum[:]) || len(book.marks) < 4 {
		t.Fatalf("%d entries, digest %s, %d marks", book.Len(), book.SHA256(), len(book.marks))
	}
	var readers sync.WaitGroup
	for start := range 4 {
		readers.Go(func() {
			for n := range lines {
				i := (start*1231 + n) % lines
				if start%2 == 1 {
					i = lines - 1 - i
				}
				if got, err := book.At(int64(i)); err != nil || got != i {
					t.Errorf("entry %d is %d, %v", i, got, err)
					return
				}
			}
		})
	}
	readers.Wait()
}

func TestFaultsAreNamedWithTheirLines(t *testing.T) {
	for content, want := range map[string]string{
		"1\n\nx\n2\n{}":              "f:3: is no number\nf:5: is no number",
		"":                           "f:1: the file is empty",
		"\n \n":                      "f:1: the file is empty",
		strings.Repeat("x\n", 25):    "f:20: is no number\nf: 5 more faults",
		"\ufeff1\n\ufeffx\n":         "f:2: is no number",
		"1\r\n2\r\nbad\r\n\r\n3\r\n": "f:3: is no number",
	} {
		_, err := Read("f", fileOf(t, content), JSONL{}, numberOf)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", content, err, want)
		}
	}
	gone := errors.New("gone")
	if _, err := Read("f", func() (File, error) { return nil, gone }, JSONL{}, numberOf); !errors.Is(err, gone) {
		t.Errorf("a file that is not there gives %v", err)
	}
	if _, err := Read("f", func() (File, error) { return os.Open(t.TempDir()) }, JSONL{}, numberOf); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a folder gives %v", err)
	}
}

func TestAFileThatChangesIsNotReplayed(t *testing.T) {
	open := fileOf(t, "1\n2\n")
	book, err := Read("f", open, JSONL{}, numberOf)
	if err != nil {
		t.Fatal(err)
	}
	file, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.WriteFile(file.(*os.File).Name(), []byte("1\n2\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := book.At(0); err == nil || !strings.Contains(err.Error(), "f has changed since it was read") {
		t.Errorf("a changed file gives %v", err)
	}
}

// A small file is kept whole, and then nothing but a look at the file itself tells that it was edited.
func TestAFileThatChangesIsNoticed(t *testing.T) {
	open := fileOf(t, "1\n2\n")
	book, err := Read("f", open, JSONL{}, numberOf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.At(1); err != nil {
		t.Fatal(err)
	}
	file, err := open()
	if err != nil {
		t.Fatal(err)
	}
	name := file.(*os.File).Name()
	file.Close()
	write := func(content string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	write("1\n2\n", time.Hour)
	if err := book.Unchanged(); err != nil {
		t.Errorf("written anew as it was: %v", err)
	}
	write("1\n3\n", time.Minute)
	// printf '1\n2\n' | sha256sum; printf '1\n3\n' | sha256sum
	want := "f has changed since it was read: its SHA-256 was a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1 and is 8391e9ff91c3c6402f9596a8c9e82d4ceaa7815687f5854f7e1a23b194be4968"
	for range 2 {
		if err := book.Unchanged(); err == nil || err.Error() != want {
			t.Errorf("an edited file gives %v", err)
		}
	}
	write("1\n2\n", time.Second)
	if err := book.Unchanged(); err != nil {
		t.Errorf("as it was again: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := book.Unchanged(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone gives %v", err)
	}
}

// Entries that are not used are counted, and those between them keep their order.
func TestEntriesThatAreNotUsedAreCounted(t *testing.T) {
	odd := func(e Entry) (int, error) {
		n, err := numberOf(e)
		if err == nil && n%2 == 0 {
			err = ErrSkipped
		}
		return n, err
	}
	book, err := Read("f", fileOf(t, manyLines(5000)), JSONL{}, odd)
	if err != nil || book.Len() != 2500 || book.Skipped() != 2500 {
		t.Fatalf("%d entries, %d skipped, %v", book.Len(), book.Skipped(), err)
	}
	for i := range int64(2500) {
		if got, err := book.At(i); err != nil || int64(got) != 2*i+1 {
			t.Fatalf("entry %d is %d, %v", i, got, err)
		}
	}
	if _, err := Read("f", fileOf(t, "0\n2\n"), JSONL{}, odd); err == nil || err.Error() != "f:1: none of the 2 entries can be used" {
		t.Errorf("a file of which nothing is used gives %v", err)
	}
}

// zeros is a file of any size that lies nowhere: lines of 1,023 zeros.
type zeros struct {
	*os.File
	size int64
}

func (z zeros) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = '0'
		if (at+int64(i))%1024 == 1023 {
			p[i] = '\n'
		}
	}
	return len(p), nil
}

func (z zeros) Stat() (os.FileInfo, error) {
	info, err := z.File.Stat()
	return sized{info, z.size}, err
}

type sized struct {
	os.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

// A file of 256 MiB takes a few MiB: what is kept of it doesn't grow but for 24 bytes a MiB.
func TestAFileIsReadInConstantMemory(t *testing.T) {
	const size, most = 256 << 20, 16 << 20
	empty := fileOf(t, "")
	open := func() (File, error) {
		file, err := empty()
		return zeros{file.(*os.File), size}, err
	}
	var before, after runtime.MemStats
	length := func(e Entry) (int, error) { return len(e.Text), nil }
	runtime.GC()
	runtime.ReadMemStats(&before)
	book, err := Read("zeros", open, JSONL{}, length)
	if err != nil {
		t.Fatal(err)
	}
	for i := int64(0); i < book.Len(); i += 1000 {
		if got, err := book.At(i); err != nil || got != 1023 {
			t.Fatalf("entry %d is %d, %v", i, got, err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); book.Len() != size/1024 || grown > most {
		t.Errorf("%d entries took %d bytes", book.Len(), grown)
	}
	runtime.KeepAlive(book)
}
