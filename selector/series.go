package selector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector/format"
)

// Series is what a point is chosen from: the points of one trial.
type Series struct {
	TrialID, TrialName string
	Workload           string // what was asked, in any form that is equal exactly where the workloads are; only such trials are ranked together
	Repeats            int64  // how often each point should be measured; 0: as often as the point with the most repeats
	Points             []Candidate
	From               *From // nil where the run itself measured the trial
}

// From is where a trial was measured that a later run brought into its comparison.
type From struct {
	RunID     string `json:"run_id"`
	RunName   string `json:"run_name"`
	TrialID   string `json:"trial_id"` // as it is there, and the next
	TrialName string `json:"trial_name"`
}

// Text names the run.
func (f *From) Text() string { return fmt.Sprintf("run %s (%s)", f.RunID, f.RunName) }

// Candidate is a point with what was measured of it.
type Candidate struct {
	PointID string
	Load    schema.PointLoad
	Repeats []measure.Point // in any order; of one repeat only the last attempt counts
	Planned int64           // how often this point should be measured; 0: as often as the others
	// Pooled describes the requests of all repeats as one sample; nil where nothing is known of that. Of a point with several repeats only it has
	// intervals: those of one repeat say nothing of the median over all.
	Pooled *measure.Pooled
}

// planned is how many repeats each point should have.
func (s *Series) planned() int64 {
	if s.Repeats > 0 {
		return s.Repeats
	}
	planned := int64(1)
	for _, c := range s.Points {
		for _, row := range c.Repeats {
			planned = max(planned, row.Repeat+1)
		}
	}
	return planned
}

// latest gives the last attempt of each repeat, in the order of the repeats.
func latest(rows []measure.Point) []measure.Point {
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b measure.Point) int {
		return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(b.Attempt, a.Attempt))
	})
	return slices.CompactFunc(sorted, func(a, b measure.Point) bool { return a.Repeat == b.Repeat })
}

// CompareLoad orders loads from low to high: by concurrency, then request cap, prefill cap, rate and speed. A cap that is not set bounds nothing and so
// is higher than any.
func CompareLoad(a, b schema.PointLoad) int {
	return cmp.Or(compareCap(a.Concurrency, b.Concurrency), compareCap(a.RequestConcurrency, b.RequestConcurrency),
		compareCap(a.PrefillConcurrency, b.PrefillConcurrency), compareCap(a.RequestRate, b.RequestRate), compareCap(a.ReplaySpeed, b.ReplaySpeed),
		compareCap(a.WarmupRequestConcurrency, b.WarmupRequestConcurrency), compareCap(a.AgenticWarmupRequestConcurrency, b.AgenticWarmupRequestConcurrency))
}

func compareCap[T cmp.Ordered](a, b *T) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}

// LoadText names a load in words, such as "concurrency 16" or "concurrency 64, request cap 16".
func LoadText(load schema.PointLoad) string {
	var parts []string
	add := func(name string, limit *int64) {
		if limit != nil {
			parts = append(parts, fmt.Sprintf("%s %d", name, *limit))
		}
	}
	add("concurrency", load.Concurrency)
	add("request cap", load.RequestConcurrency)
	add("prefill cap", load.PrefillConcurrency)
	add("warmup cap", load.WarmupRequestConcurrency)
	add("agentic warmup cap", load.AgenticWarmupRequestConcurrency)
	if load.RequestRate != nil {
		parts = append(parts, "rate "+format.Number(*load.RequestRate)+"/s")
	}
	if load.ReplaySpeed != nil {
		parts = append(parts, "speed "+format.Number(*load.ReplaySpeed))
	}
	if len(parts) == 0 {
		return "no cap"
	}
	return strings.Join(parts, ", ")
}
