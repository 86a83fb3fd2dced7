package report

import (
	"math"
	"reflect"
	"slices"
	"time"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
	"sweetspot/selector"
)

// data is what the page's script draws.
type data struct {
	Runs   []run            `json:"runs"`
	Fronts []selector.Front `json:"fronts"` // of the points of all trials; their sides are places among the trials of all runs
}

// run is a run as the page has it.
type run struct {
	ID        string         `json:"run_id"`
	Name      string         `json:"name"`
	Status    results.Status `json:"status"`
	CreatedAt time.Time      `json:"created_at"`
	Winner    *string        `json:"winner"` // trial_id
	Across    string         `json:"across"` // how its trials compare, in words; empty for one trial
	Preset    results.Given  `json:"preset"`
	Unread    []string       `json:"unread"` // what of it could not be read
	Trials    []trial        `json:"trials"`
}

type trial struct {
	ID      string      `json:"trial_id"`
	Name    string      `json:"trial_name"`
	Status  string      `json:"status"`
	Verdict string      `json:"verdict"`
	Spec    schema.Spec `json:"spec"`
	Axis    string      `json:"axis"` // what its points differ in: the column that their level is
	Points  []point     `json:"points"`
}

// point is a point as the page has it: medians over its repeats under their column names.
type point struct {
	ID       string          `json:"point_id"`
	Label    string          `json:"label"`
	Level    *float64        `json:"level"` // of the trial's axis; null where no cap is set
	Status   string          `json:"status"`
	Eligible bool            `json:"eligible"`
	Feasible bool            `json:"feasible"`
	Selected bool            `json:"selected"`
	Reasons  []string        `json:"reasons"`
	Limits   []selector.Held `json:"limits"`
	Repeats  int             `json:"repeats"`
	figures
	ECDF     []float64    `json:"ttft_ecdf_s"` // TTFT of ok requests of all repeats in order; where they are many, evenly picked ones
	Timeline *timeline    `json:"timeline"`    // of the first repeat; null where it is left out
	Queues   [][]*float64 `json:"queues"`      // of the same: seconds, requests that the service ran, and that waited in it; null where it shows neither
}

// figures are columns of the points table.
type figures struct {
	OutputTokPerS     *float64 `json:"output_tok_per_s"`
	SteadyTokPerS     *float64 `json:"steady_output_tok_per_s"`
	OutputTokPerSUser *float64 `json:"output_tok_per_s_user"`
	OutputTokPerSGPU  *float64 `json:"output_tok_per_s_gpu"`
	CostPerMillion    *float64 `json:"cost_per_million_output_tokens"`
	RequestsPerS      *float64 `json:"requests_per_s"`
	GoodputPerS       *float64 `json:"goodput_per_s"`
	InFlight          *float64 `json:"mean_requests_in_flight"`
	SteadyInFlight    *float64 `json:"steady_mean_requests_in_flight"`
	OK                int64    `json:"requests_ok"`
	Issued            int64    `json:"requests_issued"`
	ErrorExample      *string  `json:"error_example"`
	TTFTP50           *float64 `json:"ttft_p50_s"`
	TTFTP95           *float64 `json:"ttft_p95_s"`
	TTFTP99           *float64 `json:"ttft_p99_s"`
	TPOTP50           *float64 `json:"tpot_p50_s"`
	TotalTimeP50      *float64 `json:"total_time_p50_s"`
	LagP99            *float64 `json:"client_lag_p99_s"`
	CPUShare          *float64 `json:"client_cpu_share"`
	GCPauseMax        *float64 `json:"client_gc_pause_max_s"`
	Connections       *int64   `json:"client_new_connections"`
	ClientLimited     bool     `json:"client_limited"`
	measure.Server
	measure.Telemetry
}

func figuresOf(p *measure.Point) figures {
	f := figures{
		OutputTokPerS: p.OutputTokPerS, SteadyTokPerS: p.SteadyOutputTokPS, OutputTokPerSUser: p.OutputTokPerSUser,
		OutputTokPerSGPU: p.OutputTokPerSGPU, CostPerMillion: p.CostPerMillion, RequestsPerS: p.RequestsPerS, GoodputPerS: p.GoodputPerS,
		InFlight: p.MeanRequests, SteadyInFlight: p.SteadyMeanRequests, OK: p.OK, Issued: p.Issued, ErrorExample: p.ErrorExample,
		TTFTP50: p.TTFT.P50, TTFTP95: p.TTFT.P95, TTFTP99: p.TTFT.P99, TPOTP50: p.TPOT.P50, TotalTimeP50: p.TotalTime.P50,
		LagP99: p.LagP99, CPUShare: p.CPUShare, GCPauseMax: p.GCPauseMax, Connections: p.Connections, ClientLimited: p.ClientLimited, Server: p.Server, Telemetry: p.Telemetry,
	}
	f.drawable()
	return f
}

// drawable leaves out figures that are infinite or no number, as a file from elsewhere may have them: JSON has none, and a chart has no place for them.
func (f *figures) drawable() {
	row := reflect.ValueOf(f).Elem()
	for _, c := range measure.Columns(row.Type()) {
		if v, ok := row.FieldByIndex(c.Index).Interface().(*float64); ok && v != nil && (math.IsInf(*v, 0) || math.IsNaN(*v)) {
			row.FieldByIndex(c.Index).SetZero()
		}
	}
}

// describe gathers what the page has of a run. Alone on the page, every point of it has its requests; else the selected points have.
func describe(j Judged, alone bool) (r run, unread []error) {
	manifest := j.Run.Manifest()
	r = run{
		ID: j.Run.ID(), Name: manifest.Name, Status: j.Document.Status, CreatedAt: manifest.CreatedAt, Winner: j.Document.Winner, Preset: manifest.Given,
		Unread: []string{},
	}
	if len(j.Document.Trials) > 1 {
		r.Across = j.Document.Across.Text()
	}
	for i := range j.Document.Trials {
		t, broken := describeTrial(j, &j.Document.Trials[i], alone)
		r.Trials = append(r.Trials, t)
		unread = append(unread, broken...)
	}
	for _, err := range unread {
		r.Unread = append(r.Unread, err.Error())
	}
	return r, unread
}

func describeTrial(j Judged, v *selector.Verdict, alone bool) (t trial, unread []error) {
	axis := axisOf(v.Points)
	t = trial{ID: v.TrialID, Name: v.TrialName, Status: v.Status, Verdict: v.Text(), Axis: axis.column}
	if preset := j.Run.Manifest().Normalised; preset != nil {
		if i := slices.IndexFunc(preset.Trials, func(given schema.Trial) bool { return given.Name == v.TrialName }); i >= 0 {
			t.Spec = preset.Trials[i].Spec
		}
	}
	for i := range v.Points {
		judged := &v.Points[i]
		p := point{
			ID: judged.PointID, Label: selector.LoadText(judged.Load), Level: axis.level(judged.Load), Status: judged.Status, Eligible: judged.Eligible,
			Feasible: judged.Feasible, Selected: judged.Selected, Reasons: append([]string{}, judged.Reasons...), Limits: append([]selector.Held{}, judged.Limits...),
			Repeats: len(judged.Repeats), figures: figuresOf(&judged.Medians),
		}
		if alone || judged.Selected {
			if err := p.addRequests(j.Run, judged); err != nil {
				unread = append(unread, err)
			}
		}
		t.Points = append(t.Points, p)
	}
	return t, unread
}

// axis is one of the loads that points can differ in.
type axis struct {
	column string
	level  func(schema.PointLoad) *float64
}

// axisOf is the first of the loads that the points differ in, in the order in which points are sorted; that of a single point is what it sets.
func axisOf(points []selector.Judged) axis {
	axes := []axis{
		{"concurrency", func(l schema.PointLoad) *float64 { return number(l.Concurrency) }},
		{"request_concurrency", func(l schema.PointLoad) *float64 { return number(l.RequestConcurrency) }},
		{"prefill_concurrency", func(l schema.PointLoad) *float64 { return number(l.PrefillConcurrency) }},
		{"request_rate", func(l schema.PointLoad) *float64 { return l.RequestRate }},
		{"replay_speed", func(l schema.PointLoad) *float64 { return l.ReplaySpeed }},
		{"warmup_request_concurrency", func(l schema.PointLoad) *float64 { return number(l.WarmupRequestConcurrency) }},
		{"agentic_warmup_request_concurrency", func(l schema.PointLoad) *float64 { return number(l.AgenticWarmupRequestConcurrency) }},
	}
	set := -1
	for i, a := range axes {
		levels := map[float64]bool{}
		for j := range points {
			if level := a.level(points[j].Load); level != nil {
				levels[*level] = true
			}
		}
		if len(levels) > 1 {
			return a
		}
		if len(levels) == 1 && set < 0 {
			set = i
		}
	}
	return axes[max(set, 0)]
}

func number(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// timeline is when the requests of a measurement did what, in seconds after the first of them was wanted.
type timeline struct {
	Rows [][]any `json:"rows"` // lane, phase, status, scheduled, dispatched, first token, ended; an instant that did not happen is null
	Of   int     `json:"of"`   // requests that there are; Rows has the first of them

	zero clock.Instant
}
