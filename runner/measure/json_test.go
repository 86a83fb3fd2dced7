package measure

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Text and numbers are written without a detour as the standard library writes them.
func TestCellsAreWrittenAsJSON(t *testing.T) {
	type row struct {
		Text   string   `json:"text"`
		Named  *Status  `json:"named"`
		Figure *float64 `json:"figure"`
		Count  *int64   `json:"count"`
		Is     bool     `json:"is"`
		Chunks []int64  `json:"chunks"`
		Words  []string `json:"words"`
	}
	rapid.Check(t, func(t *rapid.T) {
		r := row{Text: rapid.OneOf(rapid.String(), rapid.StringMatching(`[ a-z<>&"\\]*`), rapid.Just("\xff\u2028")).Draw(t, "text"), Is: rapid.Bool().Draw(t, "is"),
			Chunks: rapid.SliceOf(rapid.Int64()).Draw(t, "chunks"), Words: rapid.SliceOf(rapid.String()).Draw(t, "words")}
		if rapid.Bool().Draw(t, "known") {
			status, count := Status(r.Text), rapid.Int64().Draw(t, "count")
			figure := rapid.OneOf(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1e-6, 9.9e-7, 1e21, 9e20, 2.5e-9})).Draw(t, "figure")
			r.Named, r.Count, r.Figure = &status, &count, &figure
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := MarshalRow(r); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	})
}
