package imports

import (
	"encoding/json"
	"fmt"
)

// dstackPreset reads a preset that dstack saved: with one benchmark, which is a sweep of one point, or with several.
type dstackPreset struct{}

func (dstackPreset) Name() string { return "dstack-preset" }
func (dstackPreset) What() string { return "a preset that dstack saved, with benchmark or benchmarks" }

func (dstackPreset) Fits(s *Source) bool {
	if s.main == nil {
		return false
	}
	fields := s.main.object()
	_, one := fields["benchmark"]
	_, several := fields["benchmarks"]
	return hasAll(fields, "status", "configuration") && (one || several)
}

func (d dstackPreset) Read(s *Source, _ Options) (*Found, error) {
	f := s.main
	if f == nil {
		return nil, fmt.Errorf("importing %s: it is a folder: name the JSON file", s.path)
	}
	var saved struct {
		Status        string              `json:"status"`
		Configuration dstackConfiguration `json:"configuration"`
		Base          string              `json:"base"`
		Model         string              `json:"model"`
		ContextLength *int64              `json:"context_length"`
		BestTrial     json.RawMessage     `json:"best_trial"`
		Benchmark     *dstackBenchmark    `json:"benchmark"`
		Benchmarks    []dstackBenchmark   `json:"benchmarks"`
	}
	if err := f.decode(f.Text, &saved, false); err != nil {
		return nil, err
	}
	where, benchmarks := func(i int) string { return fmt.Sprintf("benchmarks[%d]", i) }, saved.Benchmarks
	if len(benchmarks) == 0 && saved.Benchmark != nil {
		where, benchmarks = func(int) string { return "" }, []dstackBenchmark{*saved.Benchmark}
	}
	if len(benchmarks) == 0 {
		return nil, f.fault("benchmarks", "it has none yet: its status is %q", saved.Status)
	}
	var entries []dstackEntry
	for i := range benchmarks {
		entries = append(entries, entryOf(&benchmarks[i], saved.ContextLength))
	}
	found, err := dstackFound(f, d.trial(saved.BestTrial), textOr(saved.Model, textOr(saved.Base, saved.Configuration.Model)), where, entries)
	if err != nil {
		return nil, err
	}
	found.State = saved.Status
	return found, saved.Configuration.limit(f, found)
}

// trial is the name of the trial that was best, where the file gives it one that can be a name.
func (dstackPreset) trial(best json.RawMessage) string {
	var number int64
	if json.Unmarshal(best, &number) == nil && number > 0 {
		return fmt.Sprintf("trial-%d", number)
	}
	return "dstack"
}
