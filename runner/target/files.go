package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"sweetspot/runner/tokenizer"
	"sweetspot/runner/workload"
	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

// Files are the files that specifications name. Each is read once, however many trials use it. They are safe for several goroutines.
type Files struct {
	open func(file string) (input.File, error)

	mu     sync.Mutex
	read   map[string]*read    // by the kind of workload and the file
	counts map[string]*counter // tokenizers by their files
}

type read struct {
	contents *workload.Contents
	err      error
}

type counter struct {
	tokens *tokenizer.Tokenizer
	sum    string
	err    error
}

// NewFiles gives the files that open opens, by their paths in a specification.
func NewFiles(open func(file string) (input.File, error)) *Files {
	return &Files{open: open, read: map[string]*read{}, counts: map[string]*counter{}}
}

// Digest is the SHA-256, in hexadecimal, of the file that a workload names. An error names all that is wrong with it, a line each.
func (f *Files) Digest(w schema.Workload) (string, error) {
	contents, err := f.contents(w)
	if err != nil {
		return "", err
	}
	return contents.SHA256(), nil
}

// Extent is what the file that a workload names holds; zero where it names none or the file can't be read.
func (f *Files) Extent(w schema.Workload) schema.Extent {
	contents, err := f.contents(w)
	if err != nil {
		return schema.Extent{}
	}
	return contents.Extent()
}

// Describe says what the workload of a specification asks.
func (f *Files) Describe(spec schema.Spec, seed int64) (workload.Description, error) {
	var contents *workload.Contents
	if file, _ := spec.Workload.File(); file != "" {
		read, err := f.contents(spec.Workload)
		if err != nil {
			return workload.Description{}, err
		}
		contents = read
	}
	return workload.Describe(contents, spec, workload.Seed{Load: seed})
}

// Notes say of the file that a workload names, where it can be read, what a person should know: entries that are not asked, and that a point that
// begins so many sessions comes to its end and begins again.
func (f *Files) Notes(w schema.Workload, sessions int64) []string {
	file, _ := w.File()
	if file == "" {
		return nil
	}
	contents, err := f.contents(w)
	if err != nil {
		return nil
	}
	notes := contents.Notes()
	if n := contents.Skipped(); n > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d entries are left out, as nothing is answered in them or they begin with an answer", file, n))
	}
	if n := contents.Sessions(); sessions > n {
		notes = append(notes, fmt.Sprintf("%s has %d entries, and a point may begin %d sessions: they are then asked again, isolated ones with new nonces", file, n, sessions))
	}
	return notes
}

func (f *Files) contents(w schema.Workload) (*workload.Contents, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, err := keyOf(w)
	if err != nil {
		return nil, err
	}
	if f.read[key] == nil {
		contents, err := workload.ReadContents(w, f.open)
		f.read[key] = &read{contents, err}
	}
	return f.read[key].contents, f.read[key].err
}

// keyOf is what a file is read for: all that its workload says but the digest.
func keyOf(w schema.Workload) (string, error) {
	file, _ := w.File()
	text, err := json.Marshal(w.WithoutDigest())
	return file + " " + string(text), err
}

// planned are the contents of a trial's file, which must be what the run was planned with; nil where it names none.
func (f *Files) planned(w schema.Workload) (*workload.Contents, error) {
	file, sum := w.File()
	if file == "" {
		return nil, nil
	}
	contents, err := f.contents(w)
	if err == nil && sum != "" && sum != contents.SHA256() {
		err = fmt.Errorf("%s is not the file that the run was planned with: its SHA-256 is %s, not %s", file, contents.SHA256(), sum)
	}
	return contents, err
}

// Tokenizer is the SHA-256, in hexadecimal, of a tokenizer.json. An error says why it can't be counted with.
func (f *Files) Tokenizer(file string) (string, error) {
	counter := f.counter(file)
	return counter.sum, counter.err
}

// tokenizer is what a request counts with, which must be what the run was planned with.
func (f *Files) tokenizer(r schema.Request) (*tokenizer.Tokenizer, error) {
	file := r.TokenizerFile()
	if file == "" {
		return tokenizer.New(r.Tokenizer)
	}
	counter := f.counter(file)
	if counter.err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", counter.err)
	}
	if r.TokenizerSHA256 != "" && r.TokenizerSHA256 != counter.sum {
		return nil, fmt.Errorf("%s is not the file that the run was planned with: its SHA-256 is %s, not %s", file, counter.sum, r.TokenizerSHA256)
	}
	return counter.tokens, nil
}

func (f *Files) counter(file string) *counter {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts[file] == nil {
		f.counts[file] = f.readCounter(file)
	}
	return f.counts[file]
}

// mostTokenizer is how many bytes a tokenizer.json may have: those of the largest vocabularies have some 35 MB.
const mostTokenizer = 256 << 20

func (f *Files) readCounter(name string) *counter {
	file, err := f.open(name)
	if err != nil {
		return &counter{err: err}
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, mostTokenizer+1))
	if err == nil && len(text) > mostTokenizer {
		err = fmt.Errorf("%s has more than %d bytes, as no tokenizer.json has", name, mostTokenizer)
	}
	if err != nil {
		return &counter{err: err}
	}
	tokens, err := tokenizer.Parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	return &counter{tokens: tokens, sum: hex.EncodeToString(sum[:]), err: err}
}
