package workload

import (
	"fmt"
	"path"
	"strings"

	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

// Contents is what the file of a workload holds. It can be used for several sources at once.
type Contents struct {
	sum     string
	entries int64
	dag     *DAG
	skipped int64
	prompts *input.Book[prompt]
	talks   *input.Book[sharedTalk]
	trace   *Recording

	unchanged func() error
}

// ReadContents reads the file that a workload names, nil where it names none. An error names all that is wrong with the file, a line each; each line
// begins with the file's path as it stands in the workload.
func ReadContents(w schema.Workload, open func(file string) (input.File, error)) (*Contents, error) {
	name, _ := w.File()
	opened := func() (input.File, error) { return open(name) }
	switch {
	case name == "":
		return nil, nil
	case w.DAG != nil:
		dag, err := ReadDAG(name, opened)
		if err != nil {
			return nil, err
		}
		return &Contents{sum: dag.book.SHA256(), entries: int64(dag.Roots()), dag: dag, unchanged: dag.book.Unchanged}, nil
	case w.Prompts != nil:
		book, err := input.Read(name, opened, tableOrLines(name), parsePrompt)
		if err != nil {
			return nil, err
		}
		return &Contents{sum: book.SHA256(), entries: book.Len(), prompts: book, unchanged: book.Unchanged}, nil
	case w.ShareGPT != nil:
		book, err := input.Read(name, opened, listOrLines(name), parseShareGPT)
		if err != nil {
			return nil, err
		}
		return &Contents{sum: book.SHA256(), entries: book.Len(), skipped: book.Skipped(), talks: book, unchanged: book.Unchanged}, nil
	case w.Trace != nil, w.Weka != nil:
		recording, err := readRecording(w, opened)
		if err != nil {
			return nil, err
		}
		return &Contents{sum: recording.book.SHA256(), entries: recording.found.sessions, trace: recording, unchanged: recording.book.Unchanged}, nil
	}
	return nil, fmt.Errorf("reading %s: the workload %s reads no file", name, w.Name())
}

// SHA256 is the digest of the file, in hexadecimal.
func (c *Contents) SHA256() string { return c.sum }

// Unchanged is an error if the file is not what it was when it was read; it says the digests of both. Of nil contents nothing changes.
func (c *Contents) Unchanged() error {
	if c == nil {
		return nil
	}
	return c.unchanged()
}

// Sessions is how many sessions the file holds: those after them are the same again, each with a nonce of its own where prompts are isolated.
func (c *Contents) Sessions() int64 { return c.entries }

// Skipped is how many entries of the file are sound and can't be asked, such as a conversation without an answer.
func (c *Contents) Skipped() int64 { return c.skipped }

// listOrLines is the format of a file of JSON by its ending.
func listOrLines(name string) input.Format {
	if strings.EqualFold(path.Ext(name), ".json") {
		return input.List{}
	}
	return input.JSONL{}
}

// tableOrLines is the format of a file of prompts by its ending.
func tableOrLines(name string) input.Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".parquet":
		return input.Parquet{}
	case ".csv":
		return input.CSV{}
	}
	return input.JSONL{}
}

// NewFrom gives the source of a point's sessions, as [New] does, of a workload that may name a file; contents is what that holds.
func NewFrom(contents *Contents, spec schema.Spec, seed Seed, cal Calibration) (*Source, error) {
	switch {
	case contents == nil:
		return New(spec, seed, cal)
	case contents.dag != nil:
		return NewDAG(contents.dag, spec, seed, cal)
	case contents.trace != nil:
		return newReplay(contents.trace, spec, seed, cal)
	}
	w, err := workloadWriter(spec, seed)
	if err != nil {
		return nil, err
	}
	source := &Source{writer: w, probe: cal.Words.orEstimate(shuffledWords{}, w)}
	if contents.talks != nil {
		source.sessions = &shareGPT{book: contents.talks, writer: w, spec: *spec.Workload.ShareGPT}
	} else {
		source.sessions = &prompts{book: contents.prompts, writer: w, output: spec.Workload.Prompts.OutputTokens}
	}
	return source, nil
}

// turned is the entry of a file with n that a place has: those of the measured phase in order, the others from the other end, so that warmup is
// disjoint from it where there are enough. After the last comes the first again.
func turned(at place, n int64) int64 {
	i := int64(at>>phaseBits) % n
	if at%(1<<phaseBits) != inMeasured {
		return n - 1 - i
	}
	return i
}
