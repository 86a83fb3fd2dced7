package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// dstackTrial reads trial.json: what dstack found of one trial, with one benchmark or with results. dstackReport reads final_report.json, which is
// as strict but for what an entry must have.
type (
	dstackTrial  struct{}
	dstackReport struct{}
)

func (dstackTrial) Name() string { return "dstack-trial" }
func (dstackTrial) What() string { return "dstack's trial.json, with one benchmark or with results" }

func (dstackTrial) Fits(s *Source) bool {
	f := s.named("trial.json")
	return f != nil && hasAll(f.object(), "resources") && reports(f)
}

func (dstackReport) Name() string { return "dstack-report" }
func (dstackReport) What() string {
	return "dstack's final_report.json, with one benchmark or with results"
}

func (dstackReport) Fits(s *Source) bool {
	f := s.named("final_report.json")
	return f != nil && hasAll(f.object(), "success", "trial") && reports(f)
}

// reports tells whether a file has what both have: one benchmark, or results.
func reports(f *File) bool {
	return hasAll(f.object(), "benchmark") || hasAll(f.object(), "results")
}

// The fields that an entry of results[] may have, and those that it must have.
var (
	trialEntry  = []string{"concurrency", "benchmark", "context_length", "learned", "failed"}
	reportEntry = []string{"concurrency", "context_length", "benchmark"}
)

func (d dstackTrial) Read(s *Source, o Options) (*Found, error) {
	f := s.named("trial.json")
	if f == nil {
		return nil, fmt.Errorf("importing %s: it has no trial.json", s.path)
	}
	entries, _, err := readEntries(f, trialEntry, []string{"concurrency"}, o.Concurrency)
	if err != nil {
		return nil, err
	}
	return dstackFound(f, "dstack", "", resultsAt, entries)
}

func (d dstackReport) Read(s *Source, o Options) (*Found, error) {
	f := s.named("final_report.json")
	if f == nil {
		return nil, fmt.Errorf("importing %s: it has no final_report.json", s.path)
	}
	entries, report, err := readEntries(f, reportEntry, reportEntry, o.Concurrency)
	if err != nil {
		return nil, err
	}
	found, err := dstackFound(f, dstackPreset{}.trial(report.Trial), textOr(report.Model, report.Base), resultsAt, entries)
	if err != nil {
		return nil, err
	}
	found.State = "failed"
	if report.Success {
		found.State = "success"
	}
	return found, nil
}

func resultsAt(i int) string { return fmt.Sprintf("results[%d]", i) }

// report is what stands around the results of either file. What it has more is left as it is, in the copy.
type report struct {
	Success       bool              `json:"success"`
	Trial         json.RawMessage   `json:"trial"`
	Base          string            `json:"base"`
	Model         string            `json:"model"`
	ContextLength *int64            `json:"context_length"`
	Benchmark     *dstackBenchmark  `json:"benchmark"`
	Results       []json.RawMessage `json:"results"`
	Learned       json.RawMessage   `json:"learned"`
	Failed        json.RawMessage   `json:"failed"`
}

// readEntries reads the results, or one benchmark as a list of one, and checks them: no entry has a field that is not known, and there is exactly one for each
// concurrency.
func readEntries(f *File, known, needed []string, declared []int64) ([]dstackEntry, *report, error) {
	var r report
	if err := f.decode(f.Text, &r, false); err != nil {
		return nil, nil, err
	}
	var entries []dstackEntry
	for i, text := range r.Results {
		entry, err := readEntry(f, i, text, known, needed)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, entry)
	}
	switch {
	case len(entries) > 0 && r.Benchmark != nil:
		return nil, nil, f.fault("benchmark", "it stands beside results: a report has one or the other")
	case r.Benchmark != nil:
		entry := entryOf(r.Benchmark, r.ContextLength)
		entry.Learned, entry.Failed = r.Learned, r.Failed
		entries = []dstackEntry{entry}
	case len(entries) == 0:
		return nil, nil, f.fault("results", "it has no entry")
	}
	return entries, &r, once(f, entries, declared)
}

func readEntry(f *File, i int, text json.RawMessage, known, needed []string) (dstackEntry, error) {
	var entry dstackEntry
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return entry, f.fault(resultsAt(i), "it must be an object")
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return entry, f.fault(resultsAt(i)+"."+name, "there is no such field: an entry has %s", strings.Join(known, ", "))
		}
	}
	for _, name := range needed {
		if value, there := fields[name]; !there || bytes.Equal(value, []byte("null")) {
			return entry, f.fault(resultsAt(i)+"."+name, "it is missing")
		}
	}
	if err := f.decode(text, &entry, true); err != nil {
		return entry, fmt.Errorf("%w (in %s)", err, resultsAt(i))
	}
	return entry, nil
}
