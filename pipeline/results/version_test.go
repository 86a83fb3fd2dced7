package results

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

// TestEveryVersionIsRead opens a run of each version of the schema that there ever was. Whoever raises the version adds a run of the new one to testdata and
// keeps the old ones readable.
func TestEveryVersionIsRead(t *testing.T) {
	for version := 1; version <= SchemaVersion; version++ {
		run, err := Open(filepath.Join("testdata", fmt.Sprintf("version-%d", version)))
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		points, broken := run.Points()
		if len(points) != 1 || len(broken) > 0 {
			t.Errorf("version %d: %d points, broken: %v", version, len(points), broken)
			continue
		}
		p := points[0]
		got := []any{p.Status, *p.Concurrency, p.OK, *p.OutputTokens, fmt.Sprintf("%.4g %.4g", *p.OutputTokPerS, *p.TTFTAll.P50)}
		if diff := cmp.Diff([]any{measure.PointCompleted, int64(2), int64(4), int64(32), "254.9 0.01347"}, got); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
		var requests int
		for row, err := range run.Requests(MeasurementOf(p.Keys)) {
			if err != nil {
				t.Fatalf("version %d: %v", version, err)
			}
			if row.Phase == measure.Measured {
				requests++
			}
		}
		if requests != 4 {
			t.Errorf("version %d: %d measured requests", version, requests)
		}
		trials, broken := run.Trials()
		if len(trials) != 1 || len(broken) > 0 || !trials[0].Selected {
			t.Errorf("version %d: trials %v, broken: %v", version, len(trials), broken)
		}
		whole(t, run.Dir())
		for _, table := range []Table{Requests, Points, Trials, ServerMetrics, GPU} {
			for _, format := range []Format{Parquet, Arrow, CSV, JSONL} {
				if err := Export(io.Discard, []*Run{run}, table, format); err != nil {
					t.Errorf("version %d: %s as %s: %v", version, table, format, err)
				}
			}
		}
	}
}
