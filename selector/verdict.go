package selector

import (
	"bytes"
	"encoding/json"
	"slices"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// The statuses of a point over its repeats, beside those of [measure.PointStatus], and those of a trial.
const (
	statusCompleted = string(measure.PointCompleted)
	statusFailed    = string(measure.PointFailed) // of a trial: no point is feasible
	// StatusIncomplete is that of a point of which a repeat was not measured, and of a trial of which something was not measured to its end: what it
	// selected may change.
	StatusIncomplete = "incomplete"
)

// Verdict is what was chosen from a series and why. As JSON it is a trial of the results document, with [Verdict.Text] as "verdict".
type Verdict struct {
	TrialID   string `json:"trial_id"`
	TrialName string `json:"trial_name"`
	From      *From  `json:"from,omitempty"` // the earlier run that it was copied from; nil where this run measured it
	Workload  string `json:"-"`
	Status    string `json:"status"` // "completed", "failed" where no point is feasible, or where whoever knows the run's plan says so, "incomplete"

	Points   []Judged `json:"points"`   // in order of load
	Selected *string  `json:"selected"` // point_id of the winner or, where none is feasible, of the fallback; nil where there is neither
	Feasible bool     `json:"feasible"` // the selected point meets every limit
	Complete bool     `json:"complete"` // every point is eligible

	RunnerUp      *Margin `json:"runner_up"`          // nil where the selected point has none
	Unconstrained *Cost   `json:"unconstrained_best"` // of all eligible points; nil where there is none
	LastOfLadder  bool    `json:"last_of_ladder"`     // no point has a higher level than the selected one
	ScalingBase   *string `json:"scaling_base"`       // point_id of the lowest level that completed
	PlateauFrom   *string `json:"plateau_from"`       // point_id from which on a doubling of the load adds less than 10 % of throughput

	Search *Searched `json:"search"` // how the search for the best load stands; null where the loads were listed

	RequestsIssued int64    `json:"requests_issued"` // measured ones of all points and repeats
	RequestsFailed int64    `json:"requests_failed"`
	Notes          []string `json:"notes"` // what to know of the selected point, and where output is degenerate, a sentence each
	Rule           Rule     `json:"rule"`

	Verification *Verification `json:"verification,omitempty"` // of the winner of a run that measures it again; nil for all others
}

// Judged is a point with the verdict on it. As JSON it is a point of the results document: the load and the medians over the repeats under their
// column names, the fields below, and the rows of the repeats.
type Judged struct {
	PointID string           `json:"point_id"`
	Load    schema.PointLoad `json:"-"`
	Medians measure.Point    `json:"-"`      // see [Medians]; without figures where nothing was measured
	Status  string           `json:"status"` // "completed", "failed", "interrupted", or "incomplete" where a repeat was not measured
	Missing int64            `json:"repeats_missing"`

	Eligible bool     `json:"eligible"` // the measurement can be trusted and chosen from
	Feasible bool     `json:"feasible"` // eligible, and every declared limit is met
	Selected bool     `json:"selected"`
	Reasons  []string `json:"reasons"` // why it is not eligible, or which limit it does not meet; each with figure and limit
	Limits   []Held   `json:"limits"`
	// Unchecked names what makes a point eligible and is not known of one that another tool measured: it is not held against it, and said. Never nil.
	Unchecked []string `json:"unchecked"`

	ThroughputScaling *float64 `json:"throughput_scaling"` // output_tok_per_s over that of the scaling base
	TTFTGrowth        *float64 `json:"ttft_growth"`        // ttft_p50_s over that of the scaling base
	LinearQueueing    *float64 `json:"linear_queueing"`    // level over that of the scaling base: the growth if all waited in one line
	Spread            *float64 `json:"spread"`             // of the maximized figure over the repeats: greatest less least, over the median; null for one

	// Pareto is whether the point is on the Pareto front of the points that it was held against: no other has at least as much throughput and as
	// much for one user, and more of one. It is nil where the point was held against none. See [Fronts].
	Pareto *bool `json:"pareto"`

	Repeats []measure.Point `json:"-"` // the last attempt of each, in order
}

// Held is one limit held against a point.
type Held struct {
	Figure     string   `json:"figure"` // column, such as "ttft_all_p50_s"
	Name       string   `json:"name"`   // in words: "ttft p50"
	Value      *float64 `json:"value_s"`
	Limit      float64  `json:"limit_s"`
	Met        bool     `json:"met"` // by the median over the repeats
	RepeatsMet int64    `json:"repeats_met"`
	Repeats    int64    `json:"repeats"`
	// Between Lower and Upper lies, with [measure.Confidence], the figure that infinitely many requests would give; see [measure.Ranks]. Nil is an end
	// that is not known.
	Lower *float64 `json:"lower_s"`
	Upper *float64 `json:"upper_s"`
	// Clear is whether that interval lies wholly on the side of the limit that Met says; false is too close to call. It is nil where the end that
	// could tell is not known: for a mean or a maximum, and with too few requests.
	Clear *bool `json:"clear"`
}

// tooClose reports whether the interval spans the limit.
func (h *Held) tooClose() bool { return h.Clear != nil && !*h.Clear }

// tooFew reports whether there are too few requests to say how sure the figure is, and more would tell.
func (h *Held) tooFew() bool { return h.Clear == nil && (h.Lower != nil || h.Upper != nil) }

// TooClose reports whether the point can be judged, and a limit on it is too close to its figure to be called.
func (j *Judged) TooClose() bool {
	return j.Eligible && slices.ContainsFunc(j.Limits, func(h Held) bool { return h.tooClose() })
}

// Margin is how far the selected point is ahead of the next in rank.
type Margin struct {
	TrialID string  `json:"trial_id"`
	PointID string  `json:"point_id"`
	Figure  string  `json:"figure"` // compared: the maximized one, or the time that a fallback is chosen by
	Value   float64 `json:"value"`  // of the runner-up
	// Ahead is the share by which the throughput is higher than the runner-up's, or the runner-up's time longer. Between trials it is below 0
	// where something else than throughput decided.
	Ahead *float64 `json:"ahead"`
	Noise
}

// Cost is what the limits cost: how much more throughput the best eligible point has, whether it meets them or not.
type Cost struct {
	PointID string  `json:"point_id"`
	Value   float64 `json:"value"`
	Share   float64 `json:"cost"` // of Value that is lost; 0 where the selected point is the best
}

// Point is the judged point of that id, nil where there is none.
func (v *Verdict) Point(id *string) *Judged {
	if id == nil {
		return nil
	}
	i := slices.IndexFunc(v.Points, func(p Judged) bool { return p.PointID == *id })
	if i < 0 {
		return nil
	}
	return &v.Points[i]
}

// Winner is the selected point, feasible or not; nil where there is none.
func (v *Verdict) Winner() *Judged { return v.Point(v.Selected) }

// MarshalJSON writes the trial as the results document has it.
func (v Verdict) MarshalJSON() ([]byte, error) {
	type fields Verdict
	return json.Marshal(struct {
		fields
		Text string `json:"verdict"`
	}{fields(v), v.Text()})
}

// MarshalJSON writes the point as the results document has it.
func (j Judged) MarshalJSON() ([]byte, error) {
	medians, err := measure.MarshalRow(j.Medians, "run_id", "trial_id", "trial_name", "point_id", "repeat", "attempt", "stage",
		"status", "started_ns", "finished_ns", "steady_start_ns", "steady_end_ns", "started_at", "clock_id")
	if err != nil {
		return nil, err
	}
	repeats := make([]json.RawMessage, len(j.Repeats))
	for i, row := range j.Repeats {
		if repeats[i], err = measure.MarshalRow(row); err != nil {
			return nil, err
		}
	}
	type fields Judged
	verdict, err := json.Marshal(struct {
		fields
		Repeats []json.RawMessage `json:"repeats"`
	}{fields(j), repeats})
	if err != nil {
		return nil, err
	}
	// One object of two: both have at least one field.
	return slices.Concat(bytes.TrimSuffix(medians, []byte("}")), []byte(","), verdict[1:]), nil
}

// MarshalJSON writes an infinite value as results do.
func (h Held) MarshalJSON() ([]byte, error) { return measure.MarshalRow(h) }
