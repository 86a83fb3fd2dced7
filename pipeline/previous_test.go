package pipeline

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// planFor plans a preset of random prompts as the run of testdata/version-1 asked for, where prompt is 16. Its prompts came out longer.
func planFor(t *testing.T, prompt int) *Plan {
	t.Helper()
	text := fmt.Sprintf(`{"model": "sim", "service": {"simulator": {}}, "workload": {"random": {"prompt_tokens": %d, "output_tokens": 8}}, "load": {"concurrency": 2, "requests": 4}, "select": {"tolerance": {"prompt_length": 0.3}}}`, prompt)
	preset, err := schema.Read("new.json", []byte(text), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(preset)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// digest is that of all files of a folder.
func digest(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// An earlier run's trial stands in the new run's tables, ranking and words as coming from there, and the earlier run keeps every byte.
func TestPrevious(t *testing.T) {
	dir := filepath.Join("results", "testdata", "version-1")
	before := digest(t, dir)
	source, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan := planFor(t, 16)
	if err := plan.Bring(source); err != nil {
		t.Fatal(err)
	}
	if err := plan.Bring(source); err != nil || len(plan.Previous) != 1 {
		t.Fatalf("brought twice: %v, %d trials", err, len(plan.Previous))
	}
	encoded, err := plan.Encoded()
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Create(t.TempDir(), results.Manifest{Name: "new", Status: results.Running, Rule: plan.Rule, Plan: encoded})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	opened := 0
	open := func(id string) (*results.Run, error) { opened++; return source, nil }
	for range 2 { // as when the run is resumed
		if err := CopyPrevious(run, plan, open); err != nil {
			t.Fatal(err)
		}
	}
	if opened != 1 {
		t.Errorf("copied %d times", opened)
	}
	d, broken, err := Read(run.Run, nil)
	if err != nil || len(broken) > 0 {
		t.Fatal(err, broken)
	}
	id := source.ID()
	brought := d.Trials[1]
	if brought.TrialName != "default@"+id || brought.From == nil || brought.From.RunID != id || brought.From.RunName != "version-1" || brought.From.TrialName != "default" {
		t.Errorf("brought %s from %+v", brought.TrialName, brought.From)
	}
	if brought.TrialID == d.Trials[0].TrialID || brought.TrialID == brought.From.TrialID {
		t.Error("it has the id of another trial")
	}
	if d.Winner == nil || *d.Winner != brought.TrialID || len(d.Across.Ranking) != 2 {
		t.Errorf("winner %v of %+v", d.Winner, d.Across.Ranking)
	}
	for _, text := range []string{brought.Text(), d.Across.Text()} {
		if !strings.Contains(text, "measured earlier, in run "+id+" (version-1)") {
			t.Errorf("it is not said where it comes from: %s", text)
		}
	}
	if code := d.Exit(false); code != ExitFailed {
		t.Errorf("exit %d though the run's own trial was not measured", code)
	}
	points, _ := run.Points()
	trials, _ := run.Trials()
	if len(points) != 1 || points[0].RunID != run.ID() || len(trials) != 1 || !trials[0].Selected || trials[0].Workload != "random" {
		t.Errorf("%d points, trials %+v", len(points), trials)
	}
	requests := 0
	for row, err := range run.Requests(results.MeasurementOf(points[0].Keys)) {
		if err != nil || row.RunID != run.ID() {
			t.Fatal(err, row.RunID)
		}
		requests++
	}
	if want := points[0].Issued + points[0].WarmupIssued; int64(requests) < want {
		t.Errorf("%d requests, at least %d are needed", requests, want)
	}
	if diff := cmp.Diff(before, digest(t, dir)); diff != "" {
		t.Error("the earlier run changed")
	}
}

func TestPreviousAsksTheSame(t *testing.T) {
	source, err := results.Open(filepath.Join("results", "testdata", "version-1"))
	if err != nil {
		t.Fatal(err)
	}
	plan := planFor(t, 32)
	want := "previous: run " + source.ID() + " has no trial with the workload of this preset: only trials that were asked the same can be compared"
	if err := plan.Bring(source); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
