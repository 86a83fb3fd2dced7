package results

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sweetspot/runner/disk"
)

// summaryFile keeps in short what a listing says of a run, so that thousands of runs can be listed without reading their tables.
const summaryFile = "summary.json"

// largestSummary bounds what is read of one, in bytes: a longer one is made again.
const largestSummary = 4 << 20

// Heading is what tells a run from others.
type Heading struct {
	RunID     string     `json:"run_id"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	NamedAt   *time.Time `json:"named_at,omitempty"` // see [Manifest]
	Status    Status     `json:"status"`
}

func headingOf(m *Manifest) Heading {
	return Heading{m.RunID, m.Name, m.CreatedAt, m.NamedAt, m.Status}
}

// named is when the run got its name.
func (h *Heading) named() time.Time {
	if h.NamedAt != nil {
		return *h.NamedAt
	}
	return h.CreatedAt
}

// Stamp says what a run's directory was when something was made of it. Of its files only size and time of change are looked at: the manifest; the
// list of checksums, which grows with every table; and the folder of points, which changes when one is taken away or put in its place.
type Stamp struct {
	Manifest fileStamp `json:"manifest"`
	Sums     fileStamp `json:"checksums"`
	Points   fileStamp `json:"points"`
}

type fileStamp struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified_ns"`
}

func stampOf(dir string) Stamp {
	of := func(name string) fileStamp {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return fileStamp{}
		}
		return fileStamp{info.Size(), info.ModTime().UnixNano()}
	}
	return Stamp{of(manifestFile), of(sumsFile), of(string(Points))}
}

// Stamp is what the run's directory is now. What is read afterwards may be newer; a summary of it is then made again.
func (r *Run) Stamp() Stamp { return stampOf(r.dir) }

// summary is the content of summaryFile.
type summary struct {
	Of Stamp `json:"of"`
	Heading
	Body jsontext.Value `json:"summary"`
}

// WriteSummary keeps body, which is JSON, for listings. It holds until the directory is not what it was at stamp. A summary is never needed: where it can't be written,
// listings read the tables.
func (r *Run) WriteSummary(stamp Stamp, body []byte) error {
	text, err := r.SummaryText(stamp, body)
	if err != nil {
		return err
	}
	return replace(r.path(summaryFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// SummaryText is what [Run.WriteSummary] writes.
func (r *Run) SummaryText(stamp Stamp, body []byte) ([]byte, error) {
	text, err := jsonv2.Marshal(summary{stamp, headingOf(&r.manifest), body})
	if err != nil {
		return nil, fmt.Errorf("summing up run %s: %w", r.ID(), err)
	}
	return append(text, '\n'), nil
}

// readSummary gives the summary in dir if there is one that holds.
func readSummary(dir string) (summary, bool) {
	var kept summary
	file, err := disk.Open(filepath.Join(dir, summaryFile))
	if err != nil {
		return kept, false
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, largestSummary+1))
	// Thousands of them are read at once, and this reader takes a third of the time that encoding/json does.
	if err != nil || len(text) > largestSummary || jsonv2.Unmarshal(text, &kept) != nil {
		return kept, false
	}
	none := fileStamp{}
	return kept, kept.Of == stampOf(dir) && kept.Of.Manifest != none && kept.RunID != "" && !bytes.Equal(kept.Body, []byte("null"))
}
