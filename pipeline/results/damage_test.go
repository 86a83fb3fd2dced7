package results

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// damages are what can become of a file: each gives what it then holds.
var damages = map[string]func(random *rand.Rand, text []byte) []byte{
	"a bit flipped": func(random *rand.Rand, text []byte) []byte {
		changed := bytes.Clone(text)
		changed[random.IntN(len(text))] ^= 1 << random.IntN(8)
		return changed
	},
	"cut short": func(random *rand.Rand, text []byte) []byte { return text[:random.IntN(len(text))] },
	"longer":    func(random *rand.Rand, text []byte) []byte { return append(bytes.Clone(text), byte(random.IntN(256))) },
	"zeros in it": func(random *rand.Rand, text []byte) []byte {
		changed := bytes.Clone(text)
		from := random.IntN(len(text))
		for i := from; i < min(len(text), from+512); i++ {
			changed[i] = 0
		}
		changed[from] ^= 0xff // were they zeros already
		return changed
	},
	"empty":             func(*rand.Rand, []byte) []byte { return nil },
	"another's content": func(*rand.Rand, []byte) []byte { return []byte("PAR1 something else PAR1") },
}

// damaged is a run with each kind of file in it.
func damaged(t *testing.T) *Writer {
	t.Helper()
	w := newRun(t)
	measured(t, w, pointA, 0, 4)
	measured(t, w, pointB, 0, 5)
	if err := w.WriteTrial(trialA, []TrialRow{verdict(pointA, 0, true), verdict(pointB, 0, false)}); err != nil {
		t.Fatal(err)
	}
	stream(t, w, keys(w.Run, pointA, 1, 0), 2)
	w.Close()
	w = resume(t, w.Dir())
	stream(t, w, keys(w.Run, pointB, 1, 0), 3, 2)
	if err := w.WriteSummary(w.Stamp(), []byte(`{"trials": 1}`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return w
}

// read reads all that there is of a run and gives the rows of points. It must not panic, whatever is broken.
func readAll(run *Run) (points []measure.Point, broken []error) {
	points, broken = run.Points()
	_, more := run.Trials()
	broken = append(broken, more...)
	for _, m := range []Measurement{{pointA, 0, 0}, {pointB, 0, 0}} {
		for _, err := range run.Requests(m) {
			broken = append(broken, err)
		}
		for _, err := range run.ServerMetrics(m) {
			broken = append(broken, err)
		}
		for _, err := range run.GPU(m) {
			broken = append(broken, err)
		}
	}
	listed, err := run.Partial()
	broken = append(broken, err)
	for _, m := range listed {
		for _, err := range run.PartialRequests(m) {
			broken = append(broken, err)
		}
	}
	return points, slices.DeleteFunc(broken, func(err error) bool { return err == nil })
}

// Whatever happens to a results file, it is named, no row comes of it, and the rest is read.
func TestADamagedFileIsNeverReadAsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	w := damaged(t)
	names := resultFiles(t, w.Dir())
	if len(names) != 10 {
		t.Fatalf("the run has %d files: %v", len(names), names)
	}
	if points, broken := readAll(w.Run); len(points) != 2 || len(broken) != 0 {
		t.Fatalf("before: %d points, %v", len(points), broken)
	}
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 5))
		for _, name := range names {
			text, err := os.ReadFile(w.path(name))
			if err != nil {
				t.Fatal(err)
			}
			for what, damage := range damages {
				if err := os.WriteFile(w.path(name), damage(random, text), fileMode); err != nil {
					t.Fatal(err)
				}
				checkDamaged(t, w, name, what)
			}
			if err := os.WriteFile(w.path(name), text, fileMode); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole(t, w.Dir())
}

func checkDamaged(t *testing.T, w *Writer, name, what string) {
	t.Helper()
	points, broken := readAll(w.Run)
	want := 2
	if strings.HasPrefix(name, string(Points)) {
		want = 1
	}
	if len(points) != want || len(broken) != 1 || !strings.Contains(broken[0].Error(), filepath.FromSlash(name)) {
		t.Errorf("%s, %s: %d points of %d, broken %v", name, what, len(points), want, broken)
	}
	found, err := Check(w.Dir())
	if err != nil || found.Whole || found.Broken[0].File != name {
		t.Errorf("%s, %s: found broken %v, %v", name, what, found.Broken, err)
	}
}

// A file that is gone is missed.
func TestAMissingFileIsMissed(t *testing.T) {
	w := damaged(t)
	for _, name := range resultFiles(t, w.Dir()) {
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(w.path(name), away); err != nil {
			t.Fatal(err)
		}
		found, err := Check(w.Dir())
		if err != nil || found.Whole || !slices.ContainsFunc(found.Broken, func(b Broken) bool { return b.File == name || strings.Contains(b.Why, name) }) {
			t.Errorf("without %s: broken %v, %v", name, found.Broken, err)
		}
		if err := os.Rename(away, w.path(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// The list of checksums, the manifest, the summary and the stream: nothing panics or hangs, no row appears that was not stored, and the run can be resumed
// unless its manifest can't be read.
func TestDamageBesideTheTablesMakesNoRows(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	w := damaged(t)
	ids := []string{pointA, pointB}
	names := []string{sumsFile, manifestFile, summaryFile, filepath.Join(partial, Measurement{pointB, 1, 0}.String()+streamEnding)}
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 6))
		for _, name := range names {
			for what, damage := range damages {
				dir := damagedDir(t, w, name, func(text []byte) []byte { return damage(random, text) })
				if _, err := Check(dir); err != nil {
					t.Errorf("%s, %s: %v", name, what, err)
				}
				run, err := Open(dir)
				if err != nil {
					if name != manifestFile {
						t.Errorf("%s, %s: %v", name, what, err)
					}
					continue
				}
				points, _ := readAll(run)
				for _, id := range pointIDs(points) {
					if !slices.Contains(ids, id) {
						t.Errorf("%s, %s: a point %s", name, what, id)
					}
				}
				again, err := Resume(dir)
				if err != nil {
					t.Errorf("%s, %s: resuming: %v", name, what, err)
					continue
				}
				again.Close()
			}
		}
	}
}

// damagedDir is a copy of a run's directory in which one file is another.
func damagedDir(t *testing.T, w *Writer, name string, damage func(text []byte) []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(w.Dir()))
	if err := os.CopyFS(dir, os.DirFS(w.Dir())); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), damage(text), fileMode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A stream that can't be read is kept, uses up its attempt, and does not keep the run from being carried on.
func TestAStreamOfAnotherVersionIsKept(t *testing.T) {
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2)
	path := w.path(m.file(partial, streamEnding))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The name of a column is another.
	if err := os.WriteFile(path, bytes.Replace(text, []byte("request_index"), []byte("request_indeX"), 1), fileMode); err != nil {
		t.Fatal(err)
	}
	w.Close()
	found, err := Check(w.Dir())
	if err != nil || len(found.Broken) != 1 || !strings.Contains(found.Broken[0].Why, "column") {
		t.Errorf("%+v, %v", found, err)
	}
	again := resume(t, w.Dir())
	if kept, err := os.ReadFile(path + ".unreadable"); err != nil || len(kept) != len(text) {
		t.Errorf("kept %d bytes of %d, %v", len(kept), len(text), err)
	}
	if next, err := again.NextAttempts(); err != nil || next[m.Of()] != 1 {
		t.Errorf("next attempts %v, %v", next, err)
	}
	whole(t, w.Dir())
}

// What stands in rows and not in bytes: checksums are right, and the files do not belong together. It is measured again.
func TestRowsThatDoNotMatchAreNamed(t *testing.T) {
	n := int64(4)
	for name, c := range map[string]struct {
		change func(*measure.Point)
		why    string
	}{
		"counts":       {func(p *measure.Point) { p.Issued, p.OK = 5, 5 }, "it counts 5 measured requests, and its requests have 4"},
		"a class":      {func(p *measure.Point) { p.OK, p.Empty = 3, 1 }, "it counts 3 requests that are ok, and its requests have 4"},
		"conservation": {func(p *measure.Point) { p.OK = 3 }, "its requests by status do not add up to the 4 issued"},
		"warmup":       {func(p *measure.Point) { p.WarmupIssued = 1 }, "it counts 1 requests of warmup, and its requests have 0"},
		"the burst":    {func(p *measure.Point) { p.AgenticWarmupIssued = &n }, "it counts 4 requests of the cache-warmup burst"},
	} {
		w := newRun(t)
		row := measure.Point{Keys: keys(w.Run, pointA, 0, 0), Status: measure.PointCompleted, Counts: measure.Counts{Issued: n, OK: n}}
		c.change(&row)
		if err := w.WritePoint(row, records(n), nil); err != nil {
			t.Fatal(err)
		}
		found, err := Check(w.Dir())
		if err != nil || len(found.Broken) != 1 || !strings.Contains(found.Broken[0].Why, c.why) {
			t.Errorf("%s: %v, %v", name, found.Broken, err)
		}
		done, broken := w.Completed()
		wantBroken(t, broken, w.path(found.Broken[0].File), c.why)
		if len(done) != 0 {
			t.Errorf("%s: completed %v", name, done)
		}
	}
}

// Whatever bit of a manifest is another, it is noticed, in its checksum and beside it.
func TestEveryChangeOfAManifestIsNoticed(t *testing.T) {
	w := newRun(t)
	text, err := os.ReadFile(w.path(manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(text); err != nil {
		t.Fatal(err)
	}
	for at := range text {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			if _, err := decodeManifest(changed); err == nil {
				t.Errorf("bit %d of byte %d: %q is read", bit, at, changed[max(0, at-20):at+1])
			}
		}
	}
	before, _, _ := bytes.Cut(text, []byte(sealBegin))
	if _, err := decodeManifest(append(before, "\n}\n"...)); err != nil {
		t.Errorf("without the field, as an earlier sweetspot wrote it: %v", err)
	}
}

// A Parquet file that someone put into a table's folder would be read by a notebook as part of it.
func TestAStrangeFileInATableIsNamed(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointA, 0, 4)
	if err := os.WriteFile(w.path("points/copy of a point.parquet"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	found, err := Check(w.Dir())
	if err != nil || len(found.Broken) != 1 || !strings.Contains(found.Broken[0].Why, "none of sweetspot's names") {
		t.Errorf("%v, %v", found.Broken, err)
	}
}

// A run that is being written is whole at every moment.
func TestARunningRunIsChecked(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointA, 0, 4)
	stream, err := w.Stream(keys(w.Run, pointB, 0, 0), clock.New().Now)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := writeTable(w, Requests, Measurement{pointB, 0, 0}.file(string(Requests), ".parquet"), 3, requestRows(keys(w.Run, pointB, 0, 0), records(3))); err != nil {
		t.Fatal(err)
	}
	if found := whole(t, w.Dir()); found.Status != Running || len(found.Partial) != 1 {
		t.Errorf("%+v", found)
	}
}

// The wall clock says when a run was made and nothing else: set back between two executions, every result stands, and a summary that is older than what it sums up
// is not believed.
func TestAClockThatWasSetBack(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointA, 0, 4)
	stamp := w.Stamp()
	if err := w.WriteSummary(stamp, []byte(`{"points": 1}`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	again := resume(t, w.Dir())
	measured(t, again, pointB, 0, 5)
	past := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{manifestFile, sumsFile, string(Points)} {
		if err := os.Chtimes(w.path(name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.Update(func(m *Manifest) {
		m.Status, m.Executions = Completed, []Execution{{StartedAt: time.Now(), EndedAt: &past}}
	}); err != nil {
		t.Fatal(err)
	}
	again.Close()
	if found := whole(t, w.Dir()); found.Tables[0].Rows != 2 || found.Status != Completed {
		t.Errorf("%+v", found)
	}
	entries, broken, err := Entries(filepath.Dir(w.Dir()))
	if len(entries) != 1 || len(broken) != 0 || err != nil || entries[0].Body != nil {
		t.Errorf("listed %+v, %v, %v", entries, broken, err)
	}
}
