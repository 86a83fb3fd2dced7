package results

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"sweetspot/runner/measure"
)

// TrialRow is a row of the trials table: a point of a trial, the medians over its repeats in the columns of the points table, and the verdict.
//
// Medians are null where any repeat has none; counts are summed. Repeat is 0, and Attempt counts the judgements of the trial: a resumed run judges
// again.
type TrialRow struct {
	measure.Point
	Verdict
}

// Verdict is what was made of a point.
type Verdict struct {
	Eligible          bool     `json:"eligible" doc:"every repeat of the point was completed and can be trusted"`
	Feasible          bool     `json:"feasible" doc:"eligible, and every declared limit is met"`
	Selected          bool     `json:"selected" doc:"the point chosen for the trial"`
	Reasons           []string `json:"reasons" doc:"why the point is not eligible or not feasible, each with figure and limit"`
	Unchecked         []string `json:"unchecked" doc:"what nothing is known of because another tool measured the point: it was not held against it"`
	ThroughputScaling *float64 `json:"throughput_scaling" doc:"output_tok_per_s over that of the trial's lowest level"`
	TTFTGrowth        *float64 `json:"ttft_growth" doc:"ttft_p50_s over that of the trial's lowest level"`
	LinearQueueing    *float64 `json:"linear_queueing" doc:"the level over the trial's lowest: what ttft_growth would be if requests did nothing but wait for each other"`
}

var trialFile = regexp.MustCompile(`^([0-9a-f]{16})-(\d{1,18})\.parquet$`)

// lastTrials gives, by trial, the number of the last judgement there is.
func (r *Run) lastTrials() (map[string]int64, error) {
	entries, err := os.ReadDir(r.path(string(Trials)))
	if err != nil {
		return nil, fmt.Errorf("listing results: %w", err)
	}
	found := map[string]int64{}
	for _, entry := range entries {
		parts := trialFile.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		attempt, _ := strconv.ParseInt(parts[2], 10, 64) // 18 digits fit
		found[parts[1]] = max(found[parts[1]], attempt)
	}
	return found, nil
}

func trialName(trialID string, attempt int64) string {
	return filepath.Join(string(Trials), fmt.Sprintf("%s-%d.parquet", trialID, attempt))
}

// Trials gives the rows of the last judgement of each trial, by trial_id. Files that are not whole are named, and no row comes from them.
func (r *Run) Trials() (rows []TrialRow, broken []error) {
	found, err := r.lastTrials()
	if err != nil {
		return nil, []error{err}
	}
	sums, err := r.readSums()
	if err != nil {
		return nil, []error{err}
	}
	return atOnce(slices.Sorted(maps.Keys(found)), func(id string) ([]TrialRow, error) {
		return collect[TrialRow](r, trialName(id, found[id]), sums)
	})
}

// WriteTrial stores the verdict on a trial beside those before it: rows, whose Attempt it sets, are of one trial, a row per point.
func (w *Writer) WriteTrial(trialID string, rows []TrialRow) error {
	found, err := w.lastTrials()
	if err != nil {
		return err
	}
	var attempt int64
	if before, ok := found[trialID]; ok {
		attempt = before + 1
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Attempt = attempt
	}
	return w.fullDisk(writeTable(w, Trials, trialName(trialID, attempt), len(rows), slices.Values(rows)))
}
