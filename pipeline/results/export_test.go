package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"sweetspot/runner/measure"
)

// exported writes a table, and gives what was written.
func exported(t *testing.T, runs []*Run, table Table, format Format) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Export(&out, runs, table, format); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// measurementsOfArrow are the measurements of the rows in an Arrow file.
func measurementsOfArrow(t *testing.T, text []byte) (got []Measurement) {
	t.Helper()
	reader, err := ipc.NewFileReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	decode, err := newDecoder[measure.RequestRow](reader.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for i := range reader.NumRecords() {
		batch, err := reader.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := decode.rows(batch)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			got = append(got, MeasurementOf(row.Keys))
		}
	}
	return got
}

func measurementsOfParquet(t *testing.T, text []byte) (got []Measurement) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.parquet")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := read[measure.RequestRow](path)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		got = append(got, MeasurementOf(row.Keys))
	}
	return got
}

func measurementsOfJSONL(t *testing.T, text []byte) (got []Measurement) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var row measure.Keys
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		got = append(got, MeasurementOf(row))
	}
	return got
}

func TestTablesAreExportedInEachFormat(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointFailed, 1)
	writePoint(t, w, keys(w.Run, pointA, 0, 1), measure.PointCompleted, 2)
	writePoint(t, w, keys(w.Run, pointB, 0, 0), measure.PointCompleted, 3)
	a, b := Measurement{pointA, 0, 1}, Measurement{pointB, 0, 0}
	runs, want := []*Run{w.Run, w.Run}, []Measurement{a, a, b, b, b, a, a, b, b, b}
	for format, read := range map[Format]func(*testing.T, []byte) []Measurement{Arrow: measurementsOfArrow, Parquet: measurementsOfParquet, JSONL: measurementsOfJSONL} {
		if got := read(t, exported(t, runs, Requests, format)); !slices.Equal(got, want) {
			t.Errorf("%s: rows of %v, want %v", format, got, want)
		}
	}
	value := 3.
	point := measure.Point{Keys: keys(w.Run, pointB, 1, 0), Status: measure.PointCompleted}
	if err := w.WritePoint(point, nil, []measure.Sample{{At: 1e9, Metric: "running", Value: &value}}); err != nil {
		t.Fatal(err)
	}
	if got := measurementsOfJSONL(t, exported(t, runs[:1], ServerMetrics, JSONL)); !slices.Equal(got, []Measurement{{pointB, 1, 0}}) {
		t.Errorf("metrics of %v, want those of the one point that has some", got)
	}
	if err := os.Truncate(w.path(b.file(string(Requests), ".parquet")), 10); err != nil {
		t.Fatal(err)
	}
	if err := Export(&bytes.Buffer{}, runs, Requests, Arrow); err == nil || !strings.Contains(err.Error(), b.String()) {
		t.Errorf("exporting a table with a broken file gave error %v", err)
	}
	if err := Export(&bytes.Buffer{}, runs, "gpus", Arrow); err == nil {
		t.Error("a table that there is not was exported")
	}
	if err := Export(&bytes.Buffer{}, runs, Points, "xlsx"); err == nil {
		t.Error("a format that there is not was exported")
	}
}

// What is not known is an empty cell, what is infinite is inf, and a list is JSON.
func TestCSVTellsMissingFromZeroAndInfinite(t *testing.T) {
	infinite, zero, text := math.Inf(1), int64(0), "a \"b\", c"
	w := newRun(t)
	row := TrialRow{Point: measure.Point{Keys: keys(w.Run, pointA, 0, 0)}, Verdict: Verdict{Reasons: []string{text, "d"}}}
	row.TTFTAll.P50, row.PromptTokens = &infinite, &zero
	if err := w.WriteTrial(trialA, []TrialRow{row}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(exported(t, []*Run{w.Run}, Trials, CSV))).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	for column, want := range map[string]string{"ttft_all_p50_s": "inf", "prompt_tokens": "0", "output_tokens": "", "started_ns": "", "reasons": `["a \"b\", c","d"]`, "selected": "false", "run_id": w.ID()} {
		if at := slices.Index(lines[0], column); at < 0 || lines[1][at] != want {
			t.Errorf("%s is %q, want %q", column, lines[1][at], want)
		}
	}
}
