package results

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// measured stores a measurement whose point is computed from its n requests, with metrics of the service and a reading of a GPU.
func measured(t testing.TB, w *Writer, point string, attempt, n int64) measure.Point {
	t.Helper()
	level, value := int64(4), 2.0
	made := records(n)
	row := measure.Summarize(measure.Outcome{Records: made, Started: 1e9, Finished: 9e9, Target: level, TargetSessions: level},
		schema.PointLoad{Concurrency: &level}, schema.Limits{TTFTStat: "p50"})
	row.Keys = keys(w.Run, point, 0, attempt)
	samples := []measure.Sample{{At: clock.Instant(1e9), Metric: "vllm:num_requests_running", Kind: "gauge", Value: &value}}
	if err := w.WritePoint(row, made, samples, measure.GPUSample{At: clock.Instant(1e9)}); err != nil {
		t.Fatal(err)
	}
	return row
}

// gained is a file that a process gave the run, in the order in which it did, and the line that the sums then had more.
type gained struct {
	name, sum string
	text      []byte
}

// added are the files of after that before does not have, in the order of their sums.
func added(t *testing.T, before, after string) []gained {
	t.Helper()
	old, err := os.ReadFile(filepath.Join(before, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(filepath.Join(after, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	var files []gained
	for line := range strings.Lines(string(bytes.TrimPrefix(all, old))) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join(after, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, gained{name, line, text})
	}
	return files
}

// stage is how far the write of a file had come when the process was killed: bytes under a temporary name, then bytes of its line in the sums, then its name.
type stage struct {
	name       string
	text, line float64 // shares
	named      bool
}

func (s stage) torn() bool { return s.text != float64(int(s.text)) || s.line != float64(int(s.line)) }

func stages(random *rand.Rand) []stage {
	return []stage{
		{"it was opened", 0, 0, false}, {"a part was written", random.Float64(), 0, false}, {"all was written", 1, 0, false},
		{"its sum was written in part", 1, random.Float64(), false}, {"its sum was written", 1, 1, false}, {"it was named", 1, 1, true},
	}
}

// killedAt makes of before what a kill leaves in the middle of the files[at].
func killedAt(t *testing.T, before string, files []gained, at int, s stage) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(before))
	if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	for i, file := range files[:at+1] {
		path, text, line := filepath.Join(dir, file.name), file.text, file.sum
		if i == at {
			text, line = text[:int(s.text*float64(len(text)))], line[:int(s.line*float64(len(line)))]
			if !s.named {
				path = filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"3141592653")
			}
		}
		if err := os.WriteFile(path, text, fileMode); err != nil {
			t.Fatal(err)
		}
		appendTo(t, filepath.Join(dir, sumsFile), line)
	}
	return dir
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// whole fails where check finds anything broken or left over.
func whole(t *testing.T, dir string) Findings {
	t.Helper()
	found, err := Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Whole || len(found.Broken) > 0 || len(found.LeftOver) > 0 {
		t.Fatalf("broken %v, left over %v", found.Broken, found.LeftOver)
	}
	return found
}

func pointIDs(rows []measure.Point) (ids []string) {
	for _, row := range rows {
		ids = append(ids, row.PointID)
	}
	return ids
}

// A process that is killed anywhere while it stores a measurement, or the verdict on a trial, loses nothing that was finished before, and what it was
// writing is there whole or does not count. Resumed, the run is in order, and the same can be measured again.
func TestAKillAtEveryStageOfStoring(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointB, 0, 5)
	stream(t, w, keys(w.Run, pointA, 0, 0), 2, 1)
	if err := w.WriteTrial(trialA, []TrialRow{verdict(pointB, 0, true)}); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(t.TempDir(), filepath.Base(w.Dir()))
	if err := os.CopyFS(before, os.DirFS(w.Dir())); err != nil {
		t.Fatal(err)
	}
	measured(t, w, pointA, 0, 4)
	if err := w.WriteTrial(trialA, []TrialRow{verdict(pointA, 0, false), verdict(pointB, 0, true)}); err != nil {
		t.Fatal(err)
	}
	files := added(t, before, w.Dir())
	var names []string
	for _, f := range files {
		names = append(names, filepath.Dir(f.name))
	}
	if want := []string{string(Requests), string(ServerMetrics), string(GPU), string(Points), string(Trials)}; !slices.Equal(names, want) {
		t.Fatalf("files were written to %v, want %v", names, want)
	}
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 1))
		for at := range files {
			for _, s := range stages(random) {
				if seed > 0 && !s.torn() {
					continue // the same for every seed
				}
				t.Run(fmt.Sprintf("seed %d, %s, %s", seed, names[at], s.name), func(t *testing.T) {
					t.Parallel()
					checkKilledAt(t, killedAt(t, before, files, at, s), at > 3 || at == 3 && s.named, at > 0 || s.named)
				})
			}
		}
	}
}

// checkKilledAt looks at what a kill left. stored is that the second point is there, requested that its requests are in their table.
func checkKilledAt(t *testing.T, dir string, stored, requested bool) {
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{pointB}
	if stored {
		want = []string{pointA, pointB}
	}
	rows, broken := run.Points()
	if wantNone(t, broken); !slices.Equal(pointIDs(rows), want) || run.Status() != Killed {
		t.Errorf("before it is resumed: points %v, want %v, status %s", pointIDs(rows), want, run.Status())
	}
	found, err := Check(dir)
	if err != nil || found.Whole != (stored || !requested) {
		t.Errorf("before it is resumed: whole %t, broken %v, %v", found.Whole, found.Broken, err)
	}
	w := resume(t, dir)
	w.Close()
	found = whole(t, dir)
	done, broken := run.Completed()
	if wantNone(t, broken); len(done) != len(want) {
		t.Errorf("%d measurements are whole, want %d", len(done), len(want))
	}
	if stored {
		if len(found.Partial) != 0 {
			t.Errorf("partial %v, and the point is there", found.Partial)
		}
		return
	}
	ended := int64(3) // in the stream
	if requested {
		ended = 4
	}
	if len(found.Partial) != 1 || found.Partial[0].Requests != ended {
		t.Errorf("partial %+v, want %d requests", found.Partial, ended)
	}
	carryOn(t, dir)
}

// carryOn measures what the kill cost.
func carryOn(t *testing.T, dir string) {
	t.Helper()
	w := resume(t, dir)
	next, err := w.NextAttempts()
	if err != nil || next[PointRepeat{pointA, 0}] != 1 {
		t.Fatalf("next attempts %v, %v", next, err)
	}
	measured(t, w, pointA, 1, 6)
	w.Close()
	if found := whole(t, dir); found.Tables[0].Rows != 2 || found.Tables[1].Rows != 11 {
		t.Errorf("tables %+v", found.Tables)
	}
}

// Manifest and summary are replaced in one step: what was there before holds until the new one has its name.
func TestAKillWhileTheManifestOrTheSummaryIsReplaced(t *testing.T) {
	for _, name := range []string{manifestFile, summaryFile} {
		for seed := range uint64(2) {
			w := newRun(t)
			measured(t, w, pointB, 0, 5)
			if err := w.WriteSummary(w.Stamp(), []byte(`{"trials": 1}`)); err != nil {
				t.Fatal(err)
			}
			w.Close()
			text, err := os.ReadFile(w.path(name))
			if err != nil {
				t.Fatal(err)
			}
			half := text[:rand.New(rand.NewPCG(seed, 2)).IntN(len(text))]
			if err := os.WriteFile(w.path("."+name+"2718281828"), half, fileMode); err != nil {
				t.Fatal(err)
			}
			found, err := Check(w.Dir())
			if err != nil || !found.Whole || !slices.Equal(found.LeftOver, []string{"." + name + "2718281828"}) {
				t.Errorf("%+v, %v", found, err)
			}
			entries, broken, err := Entries(filepath.Dir(w.Dir()))
			if len(entries) != 1 || len(broken) != 0 || err != nil || entries[0].Status != Killed {
				t.Errorf("listed %+v, %v, %v", entries, broken, err)
			}
			resume(t, w.Dir()).Close()
			whole(t, w.Dir())
		}
	}
}

// A kill while a resumed run is put in order leaves a run that is put in order the next time.
func TestAKillWhileARunIsPutInOrder(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointB, 0, 5)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2)
	w.Close()
	before := filepath.Join(t.TempDir(), filepath.Base(w.Dir()))
	if err := os.CopyFS(before, os.DirFS(w.Dir())); err != nil {
		t.Fatal(err)
	}
	resume(t, w.Dir()).Close()
	files := added(t, before, w.Dir())
	for seed := range uint64(2) {
		for _, s := range stages(rand.New(rand.NewPCG(seed, 3))) {
			dir := killedAt(t, before, files, 0, s)
			again := resume(t, dir)
			if rows := gather(t, again.PartialRequests(m)); len(rows) != 2 {
				t.Errorf("%s: %d requests, want 2", s.name, len(rows))
			}
			again.Close()
			whole(t, dir)
		}
	}
}

// files are those of a run that hold results, by their paths below it.
func resultFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
