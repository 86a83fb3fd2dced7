package selector

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

func TestVerdictAsJSON(t *testing.T) {
	infinite := with(row(2, 300, 0.2), func(p *measure.Point) { p.TTFTAll.P50, p.OutputTokPerS = ref(math.Inf(1)), ref(math.NaN()) })
	v := Judge(Series{TrialID: "t", TrialName: "baseline", Points: []Candidate{point(row(1, 100, 0.1)), point(infinite)}}, rule(300*time.Millisecond))
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		TrialID  string           `json:"trial_id"`
		Name     string           `json:"trial_name"`
		Status   string           `json:"status"`
		Selected *string          `json:"selected"`
		Feasible bool             `json:"feasible"`
		Verdict  string           `json:"verdict"`
		Notes    []string         `json:"notes"`
		Points   []map[string]any `json:"points"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got.TrialID != "t" || got.Name != "baseline" || got.Status != "completed" || *got.Selected != "c1" || !got.Feasible || got.Verdict != v.Text() || got.Notes == nil {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]any{
		"point_id": "c2", "concurrency": 2.0, "status": "completed", "eligible": false, "feasible": false, "selected": false, "requests_ok": 100.0,
		"ttft_all_p50_s": "Infinity", "output_tok_per_s": nil, "throughput_scaling": nil, "repeats_missing": 0.0,
		"reasons": []any{"ttft p50 is infinite: 0 of 100 requests failed (limit 300ms)", "output_tok_per_s is unknown"},
		"limits":  []any{map[string]any{"figure": "ttft_all_p50_s", "name": "ttft p50", "value_s": "Infinity", "limit_s": 0.3, "met": false, "repeats_met": 0.0, "repeats": 1.0, "lower_s": nil, "upper_s": nil, "clear": nil}},
	} {
		if diff := cmp.Diff(want, got.Points[1][name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	repeats := got.Points[1]["repeats"].([]any)
	if row := repeats[0].(map[string]any); len(repeats) != 1 || row["ttft_all_p50_s"] != "Infinity" || row["point_id"] != "c2" {
		t.Errorf("repeats %v", repeats)
	}
	if reasons, ok := got.Points[0]["reasons"].([]any); !ok || len(reasons) != 0 {
		t.Errorf("reasons of the winner: %v", got.Points[0]["reasons"])
	}
}

// Every name once: decoders differ in what they make of two.
func TestPointAsJSONHasEachNameOnce(t *testing.T) {
	v := Judge(ladder([]float64{100}, []float64{0.1}), rule(time.Second))
	text, err := json.Marshal(v.Points[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	decoder := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			continue
		}
		if name, ok := token.(string); ok && depth == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] && names[i] != "completed" {
			t.Errorf("%s twice", names[i])
		}
	}
	if len(names) < 100 {
		t.Errorf("only %d names", len(names))
	}
}

func TestWinnerAsJSON(t *testing.T) {
	text, err := json.Marshal(across(rule(0), trial("one", 100), trial("two", 0)))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got["trial_id"] != "id-one" || got["feasible"] != true || len(got["ranking"].([]any)) != 2 {
		t.Errorf("%s", text)
	}
}
