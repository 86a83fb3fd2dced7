package imports

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
)

// load imports files of testdata into a store of its own and gives its rows by concurrency.
func load(t *testing.T, o Options, names ...string) (*results.Run, map[int64]measure.Point) {
	t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join("testdata", name))
	}
	run, err := Import(t.TempDir(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	points, broken := run.Points()
	if len(broken) > 0 {
		t.Fatal(broken)
	}
	rows := map[int64]measure.Point{}
	for _, p := range points {
		rows[*p.Concurrency] = p
	}
	return run, rows
}

func text(v *float64, scale float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.6g", *v*scale)
}

// four are the first four digits.
func four(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}

// TestRealFiles holds the rows of files that the tools wrote against what the same files say elsewhere in the tools' own words: each tool's median or mean
// time to first token and its mean time per output token.
func TestRealFiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		files  []string
		source string
		want   map[int64]string // issued ok | prompt output tokens | source of counts | ttft p50 ms, tpot mean ms | mean in flight | model workload
	}{
		{"vllm", []string{"vllm-bench/openai-c1.json", "vllm-bench/openai-c4.json"}, "vllm bench serve", map[int64]string{
			1: "5 5 | 147 80 | tool | 14.0254 6.4617 | true | tiny vllm-bench",
			4: "20 20 | 576 320 | tool | 25.8008 6.52917 | true | tiny vllm-bench",
		}},
		// The tool says a median of 1.3 ms for what takes 10: the event with the role.
		{"vllm chat", []string{"vllm-bench/openai-chat-c4.json"}, "vllm bench serve", map[int64]string{
			4: "20 20 | 676 320 | tool | - - | true | tiny vllm-bench",
		}},
		{"vllm totals", []string{"vllm-bench/openai-c4-totals.json"}, "vllm bench serve", map[int64]string{
			4: "20 20 | 576 320 | none | 25.8008 6.52917 | false | tiny vllm-bench",
		}},
		{"aiperf", []string{"aiperf/c1", "aiperf/c4/profile_export.jsonl"}, "AIPerf 0.13.0", map[int64]string{
			1: "5 5 | 109 80 | server | 9.78434 6.4042 | true | tiny random",
			4: "20 20 | 462 320 | server | 14.3221 6.72768 | true | tiny random",
		}},
		// Seconds since 1970 as a float64 are known to 0.2 µs: the tool has 19.6865.
		{"guidellm", []string{"guidellm"}, "GuideLLM 0.8.1", map[int64]string{
			1: "12 12 | 298 192 | tool | 14.6743 6.23425 | true | tiny random",
			4: "11 11 | 281 176 | tool | 19.6867 6.22668 | true | tiny random",
		}},
		{"inference-perf", []string{"inference-perf"}, "inference-perf", map[int64]string{
			1: "12 12 | 336 192 | server | 9.14464 6.48239 | true | tiny inference-perf",
			4: "20 20 | 634 320 | server | 13.4054 6.56721 | true | tiny inference-perf",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run, rows := load(t, Options{}, test.files...)
			got := map[int64]string{}
			for c, p := range rows {
				got[c] = fmt.Sprintf("%d %d | %d %d | %s | %s %s | %v | %s %s", p.Issued, p.OK, *p.PromptTokens, *p.OutputTokens, tokenSource(t, run, p),
					text(p.TTFT.P50, 1000), text(p.TPOT.Mean, 1000), p.MeanRequests != nil && *p.MeanRequests > 0, p.Model, p.Workload)
				if p.Source == nil || *p.Source != test.source || p.LagP99 != nil || p.Cache != "unknown" {
					t.Errorf("source %v, lag %v, cache %s", p.Source, p.LagP99, p.Cache)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if status := run.Status(); status != results.Completed {
				t.Errorf("the run is %s", status)
			}
		})
	}
}

// tokenSource is that of all requests of a point.
func tokenSource(t *testing.T, run *results.Run, p measure.Point) string {
	t.Helper()
	sources := map[string]bool{}
	for row, err := range run.Requests(results.MeasurementOf(p.Keys)) {
		if err != nil {
			t.Fatal(err)
		}
		if row.TokenSource != nil {
			sources[string(*row.TokenSource)] = true
		}
		if row.Dispatched <= 0 || row.Ended < row.Dispatched {
			t.Errorf("request %d: dispatched %d, ended %d", row.Index, row.Dispatched, row.Ended)
		}
	}
	if len(sources) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(sources)), " ")
}

// TestOlderForms reads each form of dstack's files.
func TestOlderForms(t *testing.T) {
	two := "2:completed 92 0.09; 8:completed 310.5 0.24"
	for _, test := range []struct{ file, want, selected string }{
		{"preset-one.json", "8:completed 310.5 0.24", "8"},
		{"preset-several.json", "2:completed 92 0.09; 4:completed 171 0.13; 8:completed 310.5 0.24; 16:completed 402 0.61", "8"}, // max_ttft is 500 ms
		{"trial-one.json", "8:completed 310.5 0.24", "8"},
		{"trial-results.json", two + "; 16:failed - -", "8"},
		{"report-one.json", "8:completed 310.5 0.24", "8"},
		{"report-results.json", two, "8"},
	} {
		run, rows := load(t, Options{}, "dstack/"+test.file)
		var got []string
		for _, c := range slices.Sorted(maps.Keys(rows)) {
			p := rows[c]
			got = append(got, fmt.Sprintf("%d:%s %s %s", c, p.Status, four(p.OutputTokPerS), four(p.TTFTAll.P50)))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s: %s", test.file, diff)
		}
		d, broken, err := pipeline.Read(run, nil)
		if err != nil || len(broken) > 0 {
			t.Fatal(err, broken)
		}
		winner := d.Trials[0].Winner()
		if winner == nil || fmt.Sprint(*winner.Load.Concurrency) != test.selected || len(winner.Unchecked) == 0 {
			t.Errorf("%s: selected %+v", test.file, winner)
		}
	}
}

// TestOriginalsKeepEveryByte imports everything and compares digests before and after. The copies hold no secret, and lie where the manifest says.
func TestOriginalsKeepEveryByte(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	before := digests(t, dir)
	for _, source := range []string{"aiperf/c1", "guidellm/benchmarks.json", "inference-perf", "vllm-bench/openai-c4.json", "dstack/preset-several.json", "dstack/trial-one.json"} {
		run, err := Import(t.TempDir(), []string{filepath.Join(dir, source)}, Options{})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		for _, kept := range run.Manifest().Imported.Files {
			if !slices.Contains(slices.Collect(maps.Values(before)), kept.SHA256) {
				t.Errorf("%s: nothing has the digest of %s", source, kept.Name)
			}
			text, err := os.ReadFile(filepath.Join(run.Dir(), kept.Name))
			if err != nil {
				t.Error(err)
			}
			for _, secret := range []string{"sk-abcdefghijklmnopqrst", "hf_abcdefghijklmnopqrstuv"} {
				if strings.Contains(string(text), secret) {
					t.Errorf("%s has a secret", kept.Name)
				}
			}
		}
	}
	if diff := cmp.Diff(before, digests(t, dir)); diff != "" {
		t.Errorf("the originals changed: %s", diff)
	}
}

func digests(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What stands in a file beyond what is read is kept in the copy.
func TestOtherFieldsAreKept(t *testing.T) {
	run, _ := load(t, Options{}, "dstack/trial-one.json")
	text, err := os.ReadFile(filepath.Join(run.Dir(), run.Manifest().Imported.Files[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	var copied struct{ Extra map[string]int }
	if err := json.Unmarshal(text, &copied); err != nil || copied.Extra["kept"] != 1 {
		t.Errorf("%v in %s", err, text)
	}
}

// The same load in two files is measured twice.
func TestTheSameLoadAgainIsARepeat(t *testing.T) {
	run, err := Import(t.TempDir(), []string{"testdata/vllm-bench/openai-c4.json", "testdata/vllm-bench/openai-c4.json"}, Options{Name: "twice"})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := pipeline.Read(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	if points := d.Trials[0].Points; len(points) != 1 || len(points[0].Repeats) != 2 || run.Manifest().Name != "twice" {
		t.Errorf("%d points, run %s", len(points), run.Manifest().Name)
	}
	_, err = Import(t.TempDir(), []string{"testdata/vllm-bench/openai-c4.json", "testdata/vllm-bench/openai-c4.json", "testdata/vllm-bench/openai-c1.json"}, Options{})
	if err == nil || !strings.Contains(err.Error(), "concurrency 1 was measured 1 times and concurrency 4 2 times") {
		t.Errorf("uneven repeats: %v", err)
	}
}

// A comparison says which tool measured a run and what it asked.
func TestCompareSaysWhoMeasured(t *testing.T) {
	run, _ := load(t, Options{}, "vllm-bench/openai-c1.json")
	sides, broken, err := pipeline.Sides(run, nil)
	if err != nil || len(broken) > 0 || len(sides) != 1 {
		t.Fatal(err, broken, sides)
	}
	for name, want := range map[string]string{"imported.measured_by": "vllm bench serve", "imported.model": "tiny"} {
		if got := sides[0].Facts[name]; !strings.Contains(got, want) {
			t.Errorf("%s is %s", name, got)
		}
	}
}
