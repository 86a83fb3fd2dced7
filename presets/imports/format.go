package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sweetspot/schema"
)

// Format is what one tool writes.
type Format interface {
	Name() string // as --format takes it
	What() string // the files, in words
	// Fits reports whether the source's content looks like the format.
	Fits(s *Source) bool
	// Read converts the source. An error names file and field or line.
	Read(s *Source, o Options) (*Found, error)
}

// Options are what a person says beside the files.
type Options struct {
	Format string // its name; empty: found out by content
	// Concurrency is what was asked for: where the file does not say it, the one load of the file; in reports, the ladder that was declared. Nil: not said.
	Concurrency []int64
	Name        string // of the run; empty: after the format
}

// Found is what a source holds.
type Found struct {
	Tool, Version    string
	State            string // what the file says of how far it is
	Trials           []Trial
	MaxTTFT          *schema.Duration // on its median
	MinContextLength *int64
	Notes            []string
}

// formats are all there are, in the order in which content is tried: the surest marks first.
func formats() []Format {
	return []Format{aiperf{}, guideLLM{}, inferencePerf{}, vllmBench{}, dstackPreset{}, dstackTrial{}, dstackReport{}}
}

// Names lists the formats as --format takes them.
func Names() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.Name())
	}
	return names
}

// pick gives the format that is asked for, or the first that fits.
func pick(s *Source, asked string) (Format, error) {
	for _, f := range formats() {
		if asked == f.Name() || asked == "" && f.Fits(s) {
			s.without()
			return f, nil
		}
		s.without()
	}
	if asked != "" {
		return nil, fmt.Errorf("importing %s: there is no format %q: there are %s", s.path, asked, strings.Join(Names(), ", "))
	}
	var known []string
	for _, f := range formats() {
		known = append(known, fmt.Sprintf("  %s: %s", f.Name(), f.What()))
	}
	return nil, fmt.Errorf("importing %s: no format fits: it is %s; what can be imported is\n%s", s.path, s.looks(), strings.Join(known, "\n"))
}

// brokenAt says in which line a text is no JSON, and why: "" where that is not known.
func (f *File) brokenAt() string {
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(f.Text, new(any)), &syntax) {
		return ""
	}
	return fmt.Sprintf(" (line %d: %v)", lineAt(f.Text, int(syntax.Offset)), syntax)
}

// looks says in words what the source is.
func (s *Source) looks() string {
	if s.main == nil {
		return "a folder without a result file that is known"
	}
	text := strings.TrimSpace(string(s.main.Text[:min(len(s.main.Text), 4096)]))
	switch {
	case text == "":
		return "empty"
	case s.main.object() != nil:
		return "JSON with the fields " + someOf(s.main.object())
	case strings.HasPrefix(text, "["):
		return "a JSON list"
	case strings.HasPrefix(text, "{"):
		return "JSON that can't be read to its end" + s.main.brokenAt()
	case strings.HasPrefix(text, "PK") || strings.ContainsRune(text, 0):
		return "no text"
	}
	first, _, _ := strings.Cut(text, "\n")
	const most = 60
	if runes := []rune(first); len(runes) > most {
		first = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("no JSON, it begins %q", schema.RedactText(first))
}
