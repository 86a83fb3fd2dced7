package presets

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

const benchPreset = `
name: chat
model: "meta-llama/Llama-3.1-8B-Instruct"
service: {endpoint: {url: "http://127.0.0.1:8000/v1"}}
workload: {random: {prompt_tokens: 1024, output_tokens: 256}}
load: {concurrency: "1..64"}
limits: {max_ttft: 500ms}
trials: {baseline: {}, warm: {request: {cache: shared}}}
`

// measured makes a completed run of two trials with seven points each, as run writes one, without its requests.
func measured(t testing.TB, store string) string {
	t.Helper()
	preset, err := schema.Read("chat.yaml", []byte(benchPreset), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.NewPlan(preset)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := pipeline.NewManifest(preset, plan, results.Given{Filename: "chat.yaml", Text: benchPreset}, schema.RedactText)
	if err != nil {
		t.Fatal(err)
	}
	manifest.Status = results.Completed
	run, err := results.Create(store, manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i := range plan.Trials {
		for _, job := range plan.Jobs(&plan.Trials[i]) {
			if err := run.WritePoint(soundPoint(job), nil, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return run.Dir()
}

// soundPoint is a measurement that can be chosen from, of a service that gives each stream 100 tok/s and takes 5 ms a stream to the first token.
func soundPoint(job pipeline.Job) measure.Point {
	level := float64(*job.Load.Concurrency)
	n, whole, none, lag := int64(100), 1.0, 0.0, 0.0001
	tokens, user, ttft := 100*level, 100.0, 0.005*level
	return measure.Point{
		Keys: job.Keys, PointLoad: job.Load, Status: measure.PointCompleted, Workload: "random", Model: job.Spec.Model, Cache: job.Spec.Request.Cache,
		Counts: measure.Counts{Issued: n, OK: n}, SuccessRate: &whole, ErrorRate: &none, OutputTokens: &n, PromptRatio: &whole, OutputRatio: &whole,
		OutputTokPerS: &tokens, SteadyOutputTokPS: &tokens, OutputTokPerSUser: &user, TargetInFlight: job.Load.Concurrency, TargetSessions: job.Load.Concurrency,
		InFlight: measure.InFlight{MeanRequests: &level, SteadyMeanRequests: &level, SteadyMeanSessions: &level},
		TTFT:     measure.Dist{N: n, P50: &ttft}, TTFTAll: measure.AllDist{P50: &ttft}, TPOT: measure.Dist{N: n}, TotalTime: measure.Dist{N: n},
		Health: measure.Health{LagP99: &lag},
	}
}

// copies puts n copies of a run into store, each with an id and an instant of its own. Their tables, which a listing must not need, are links to the same files.
func copies(t testing.TB, from, store string, n int) {
	t.Helper()
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(from, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	manifest = regexp.MustCompile(`,\n  "sha256": ".*"`).ReplaceAll(manifest, nil) // of the one that is copied
	run, err := results.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	began, err := run.Manifest().CreatedAt.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprintf("%08x", i)
		at, err := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		own := bytes.Replace(bytes.Replace(manifest, []byte(run.ID()), []byte(id), 1), began, at, 1)
		if err := copyRun(from, filepath.Join(store, id), own); err != nil {
			t.Fatal(err)
		}
	}
}

func copyRun(from, to string, manifest []byte) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case name == "manifest.json":
			return os.WriteFile(filepath.Join(to, name), manifest, 0o600)
		case name == "summary.json":
			return nil
		}
		return os.Link(path, filepath.Join(to, name))
	})
}

// summarised makes the summaries of all runs of a store, each of a document of its own tables read once: they are alike.
func summarised(t testing.TB, store string) {
	t.Helper()
	entries, broken, err := results.Entries(store)
	if err != nil || len(broken) > 0 {
		t.Fatal(err, broken)
	}
	var document *pipeline.Document
	for _, entry := range entries {
		run, err := results.Open(entry.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if document == nil {
			if document, broken, err = pipeline.Read(run, nil); err != nil || len(broken) > 0 {
				t.Fatal(err, broken)
			}
		}
		own := *document
		own.RunID = run.ID()
		brief, err := briefOf(run, &own)
		if err != nil {
			t.Fatal(err)
		}
		if err := keepBrief(run, brief); err != nil {
			t.Fatal(err)
		}
	}
}

// keepBrief is [Keep] without what makes a file survive a crash, ten thousand of which take minutes.
func keepBrief(run *results.Run, brief Brief) error {
	text, err := encodeBrief(brief)
	if err != nil {
		return err
	}
	kept, err := run.SummaryText(run.Stamp(), text)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(run.Dir(), "summary.json"), kept, 0o600)
}

// BenchmarkListingManyRuns lists 10,000 runs with real manifests and points: it must take less than a second.
func BenchmarkListingManyRuns(b *testing.B) {
	const n = 10_000
	store := filepath.Join(b.TempDir(), "store")
	copies(b, measured(b, b.TempDir()), store, n)
	summarised(b, store)
	before := clock.Processor()
	for b.Loop() {
		listing, err := Runs(store, Which{All: true})
		if err != nil || len(listing.Runs) != n || len(listing.Broken) > 0 || listing.Runs[n-1].Benchmark == nil {
			b.Fatalf("%d runs, %v, %v", len(listing.Runs), listing.Broken, err)
		}
	}
	b.ReportMetric((clock.Processor()-before).Seconds()/float64(b.N), "cpu-s/op")
}

// What a listing says from summaries is what the tables say, and where they differ the tables are believed.
func TestSummariesSayWhatTheTablesSay(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	copies(t, measured(t, t.TempDir()), store, 3)
	first, err := Runs(store, Which{All: true})
	if err != nil || len(first.Runs) != 3 || first.Runs[0].ID != "00000002" || first.Runs[0].TrialsDone != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := os.Stat(filepath.Join(store, "00000001", "summary.json")); err != nil {
		t.Errorf("a listing keeps what it read: %v", err)
	}
	second, err := Runs(store, Which{All: true})
	if err != nil || fmt.Sprintf("%+v", second.Runs[1].Trials[0].Benchmark.Load) == "" || *second.Runs[1].Benchmark.OutputTokPerS != 6400 {
		t.Errorf("%+v, %v", second, err)
	}
	// A point that goes leaves its trial undone.
	files, err := filepath.Glob(filepath.Join(store, "00000001", "points", "*.parquet"))
	if err != nil || len(files) != 14 {
		t.Fatalf("%d points, %v", len(files), err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	third, err := Runs(store, Which{All: true})
	if err != nil || third.Runs[1].TrialsDone != 1 || third.Runs[0].TrialsDone != 2 {
		t.Errorf("%d trials done, %v", third.Runs[1].TrialsDone, err)
	}
}

func TestWithoutAskingOnlyTheNewestIsListed(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	copies(t, measured(t, t.TempDir()), store, 4)
	for which, want := range map[Which]string{{}: "00000003", {Last: 2}: "00000003 00000002", {Last: 9}: "00000003 00000002 00000001 00000000"} {
		listing, err := Runs(store, which)
		if err != nil {
			t.Fatal(err)
		}
		var ids string
		for _, run := range listing.Runs {
			ids += " " + run.ID
		}
		if ids[1:] != want {
			t.Errorf("%+v: %s, want %s", which, ids, want)
		}
	}
}
