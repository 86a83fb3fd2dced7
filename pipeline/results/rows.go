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
	"sweetspot/schema"
)

// TrialRow is a row of the trials table: a point of a trial, and the verdict on it over its repeats. Figures are medians over the repeats, null where
// a repeat has none.
type TrialRow struct {
	RunID     string `json:"run_id" doc:"the run"`
	TrialID   string `json:"trial_id" doc:"hash of the trial's configuration"`
	TrialName string `json:"trial_name" doc:"the trial's name in the preset"`
	PointID   string `json:"point_id" doc:"hash of the trial and the point's load"`
	Attempt   int64  `json:"attempt" doc:"which judgement of the trial, from 0: a resumed run judges again"`
	Stage     string `json:"stage" doc:"sweep, or verify"`
	schema.PointLoad

	Status           string   `json:"status" doc:"completed where every repeat is; else failed, interrupted, or incomplete where a repeat was not measured"`
	RepeatsPlanned   int64    `json:"repeats_planned" doc:"how often the point should be measured"`
	RepeatsCompleted int64    `json:"repeats_completed" doc:"how often it was, with an ok request"`
	Eligible         bool     `json:"eligible" doc:"the measurement can be trusted and chosen from"`
	Feasible         bool     `json:"feasible" doc:"eligible, and every declared limit is met"`
	Selected         bool     `json:"selected" doc:"the point chosen for the trial"`
	Reasons          []string `json:"reasons" doc:"why the point is not eligible or not feasible, each with figure and limit"`
	Medians
}

// Medians are figures of a point over its repeats.
type Medians struct {
	SuccessRate       *float64        `json:"success_rate" doc:"ok over issued"`
	ErrorRate         *float64        `json:"error_rate" doc:"failures over issued less cancelled"`
	OutputTokPerS     *float64        `json:"output_tok_per_s" unit:"tok/s" doc:"output tokens of ok measured requests over wall_s"`
	TotalTokPerS      *float64        `json:"total_tok_per_s" unit:"tok/s" doc:"prompt and output tokens of ok measured requests over wall_s"`
	RequestsPerS      *float64        `json:"requests_per_s" unit:"1/s" doc:"ok measured requests over wall_s"`
	GoodputPerS       *float64        `json:"goodput_per_s" unit:"1/s" doc:"requests that met every declared limit one by one, over wall_s; null where no limit is declared"`
	SteadyOutputTokPS *float64        `json:"steady_output_tok_per_s" unit:"tok/s" doc:"output tokens per second of the steady window"`
	OutputTokPerSUser *float64        `json:"output_tok_per_s_user" unit:"tok/s" doc:"1 over mean tpot: what one user sees"`
	TTFT              Statistics      `prefix:"ttft" unit:"s" doc:"time to first token"`
	TPOT              Statistics      `prefix:"tpot" unit:"s" doc:"time per output token"`
	TotalTime         Statistics      `prefix:"total_time" unit:"s" doc:"total time"`
	TTFTAll           measure.AllDist `prefix:"ttft_all" unit:"s" doc:"time to first token"`
	TPOTAll           measure.AllDist `prefix:"tpot_all" unit:"s" doc:"time per output token"`
	TotalTimeAll      measure.AllDist `prefix:"total_time_all" unit:"s" doc:"total time"`
}

// Statistics are those that a limit can name.
type Statistics struct {
	Mean *float64 `json:"mean" unit:"prefixed" doc:"mean"`
	Max  *float64 `json:"max" unit:"prefixed" doc:"greatest"`
	P50  *float64 `json:"p50" unit:"prefixed" doc:"median"`
	P90  *float64 `json:"p90" unit:"prefixed" doc:"90th percentile"`
	P95  *float64 `json:"p95" unit:"prefixed" doc:"95th percentile"`
	P99  *float64 `json:"p99" unit:"prefixed" doc:"99th percentile"`
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
	for _, id := range slices.Sorted(maps.Keys(found)) {
		read, err := collect[TrialRow](r, trialName(id, found[id]), sums)
		if err != nil {
			broken = append(broken, err)
		}
		rows = append(rows, read...)
	}
	return rows, broken
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
	return writeTable(w, Trials, trialName(trialID, attempt), slices.Values(rows))
}
