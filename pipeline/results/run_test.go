package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

const (
	trialA = "aaaaaaaaaaaaaaaa"
	pointA = "0123456789abcdef"
	pointB = "fedcba9876543210"
)

func keys(run *Run, point string, repeat, attempt int64) measure.Keys {
	return measure.Keys{RunID: run.ID(), TrialID: trialA, TrialName: "baseline", PointID: point, Repeat: repeat, Attempt: attempt, Stage: "sweep"}
}

// records are n requests that ended well, the i-th with a first token after i+1 ms.
func records(n int64) []measure.Record {
	made := make([]measure.Record, n)
	tokens, source := int64(2), measure.FromServer
	for i := range made {
		start := clock.Instant(1e9 + int64(i)*1e6)
		first := start + clock.Instant((i+1)*1e6)
		made[i] = measure.Record{Index: int64(i), Phase: measure.Measured, Status: measure.OK, Scheduled: start, Dispatched: start,
			FirstToken: first, LastToken: first + 5e6, Ended: first + 6e6, OutputTokens: &tokens, TokenSource: &source,
			Chunks: []int64{int64(i+1) * 1e6, int64(i+6) * 1e6}}
	}
	return made
}

func newRun(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), "store"), Manifest{Name: "chat", Status: Running, CreatedAt: time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func writePoint(t *testing.T, w *Writer, keys measure.Keys, status measure.PointStatus, n int64) {
	t.Helper()
	if err := w.WritePoint(measure.Point{Keys: keys, Status: status, Counts: measure.Counts{Issued: n, OK: n}}, records(n), nil); err != nil {
		t.Fatal(err)
	}
}

func resume(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func gather[T any](t *testing.T, rows func(func(T, error) bool)) (gathered []T) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		gathered = append(gathered, row)
	}
	return gathered
}

func wantNone(t *testing.T, broken []error) {
	t.Helper()
	for _, err := range broken {
		t.Error(err)
	}
}

// wantBroken checks that exactly one file is named.
func wantBroken(t *testing.T, broken []error, path, why string) {
	t.Helper()
	if len(broken) != 1 || !strings.Contains(broken[0].Error(), path) || !strings.Contains(broken[0].Error(), why) {
		t.Errorf("broken: %v, want %s: %s", broken, path, why)
	}
}

func TestTheLastAttemptIsRead(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointFailed, 0)
	writePoint(t, w, keys(w.Run, pointA, 0, 1), measure.PointCompleted, 3)
	writePoint(t, w, keys(w.Run, pointA, 1, 0), measure.PointInterrupted, 1)
	run, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	rows, broken := run.Points()
	wantNone(t, broken)
	var got []measure.Keys
	for _, row := range rows {
		got = append(got, row.Keys)
	}
	if diff := cmp.Diff([]measure.Keys{keys(run, pointA, 0, 1), keys(run, pointA, 1, 0)}, got); diff != "" {
		t.Error(diff)
	}
	requests := gather(t, run.Requests(Measurement{pointA, 0, 1}))
	if len(requests) != 3 || requests[2].RunID != run.ID() || *requests[2].TTFT != 0.003 || len(requests[2].Chunks) != 2 {
		t.Errorf("requests %+v", requests)
	}
	done, broken := run.Completed()
	wantNone(t, broken)
	if _, there := done[PointRepeat{pointA, 0}]; !there || len(done) != 1 {
		t.Errorf("completed: %v, want repeat 0 alone", done)
	}
	next, err := run.NextAttempts()
	if diff := cmp.Diff(map[PointRepeat]int64{{pointA, 0}: 2, {pointA, 1}: 1}, next); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 3)
	err := w.WritePoint(measure.Point{Keys: keys(w.Run, pointA, 0, 0)}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "results are never overwritten") {
		t.Errorf("error %v", err)
	}
	if got := gather(t, w.Requests(Measurement{pointA, 0, 0})); len(got) != 3 {
		t.Errorf("%d requests are left of 3", len(got))
	}
}

func TestOnlyTheOwnerCanReadResults(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 1)
	stream, err := w.Stream(keys(w.Run, pointB, 0, 0), clock.New().Now)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	files := 0
	err = filepath.WalkDir(filepath.Dir(w.Dir()), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
		files++
		return err
	})
	if err != nil || files < 11 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestARunIsHeldByOneWriter(t *testing.T) {
	w := newRun(t)
	reader, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if got := reader.Status(); got != Running {
		t.Errorf("while it is held the status is %s", got)
	}
	if _, err := Resume(w.Dir()); err == nil || !strings.Contains(err.Error(), "another process is writing it") {
		t.Errorf("a second writer got error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := reader.Status(); got != Killed {
		t.Errorf("given free without an end the status is %s", got)
	}
	resume(t, w.Dir())
}

func TestTheManifestIsReplaced(t *testing.T) {
	w := newRun(t)
	if err := w.Update(func(m *Manifest) {
		m.Status = Interrupted
		m.Plan = json.RawMessage(`{}`)
		m.Services = map[string]Facts{trialA: {"version": "0.32.0"}}
	}); err != nil {
		t.Fatal(err)
	}
	run, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Manifest(), run.Manifest()); diff != "" {
		t.Error(diff)
	}
	if run.Status() != Interrupted || run.ID() != filepath.Base(w.Dir()) || len(run.ID()) != 8 {
		t.Errorf("status %s, id %s", run.Status(), run.ID())
	}
}

func verdict(point string, attempt int64, selected bool, reasons ...string) TrialRow {
	return TrialRow{measure.Point{Keys: measure.Keys{TrialID: trialA, PointID: point, Attempt: attempt}}, Verdict{Selected: selected, Reasons: reasons}}
}

func TestTrialsAreJudgedAgainBesideTheOldVerdict(t *testing.T) {
	w := newRun(t)
	for _, selected := range []bool{false, true} {
		if err := w.WriteTrial(trialA, []TrialRow{verdict(pointA, 0, selected, "a", "b"), verdict(pointB, 0, false)}); err != nil {
			t.Fatal(err)
		}
	}
	rows, broken := w.Trials()
	wantNone(t, broken)
	want := []TrialRow{verdict(pointA, 1, true, "a", "b"), verdict(pointB, 1, false)}
	if diff := cmp.Diff(want, rows, sameRows); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFlippedByteIsNoticed(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 2)
	writePoint(t, w, keys(w.Run, pointB, 0, 0), measure.PointCompleted, 2)
	path := w.path(Measurement{pointA, 0, 0}.file(string(Points), ".parquet"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 2003 {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, flipped, fileMode); err != nil {
			t.Fatal(err)
		}
		rows, broken := w.Points()
		wantBroken(t, broken, path, "it is corrupt or cut short")
		if len(rows) != 1 || rows[0].PointID != pointB {
			t.Fatalf("byte %d: %d rows, want the other point's", at, len(rows))
		}
	}
}

func TestFilesThatAreCutShortAreMeasuredAgain(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 2)
	path := w.path(Measurement{pointA, 0, 0}.file(string(Requests), ".parquet"))
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	done, broken := w.Completed()
	wantBroken(t, broken, path, "it is corrupt or cut short")
	if len(done) != 0 {
		t.Errorf("completed: %v", done)
	}
	if next, err := w.NextAttempts(); err != nil || next[PointRepeat{pointA, 0}] != 1 {
		t.Errorf("next attempts %v, %v", next, err)
	}
	for _, err := range w.Requests(Measurement{pointA, 0, 0}) {
		if err == nil {
			t.Error("a row came from a file that is not whole")
		}
	}
}

func TestAFileWithoutAChecksumIsNotRead(t *testing.T) {
	w := newRun(t)
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 2)
	from, to := Measurement{pointA, 0, 0}.file(string(Points), ".parquet"), Measurement{pointB, 0, 0}.file(string(Points), ".parquet")
	if err := os.Rename(w.path(from), w.path(to)); err != nil {
		t.Fatal(err)
	}
	_, broken := w.Points()
	wantBroken(t, broken, w.path(to), "SHA256SUMS has no checksum of it")
}

func TestATornChecksumDoesNotHideTheNext(t *testing.T) {
	w := newRun(t)
	if err := os.WriteFile(w.path(sumsFile), []byte("0123456789"), fileMode); err != nil {
		t.Fatal(err)
	}
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 2)
	done, broken := w.Completed() // looks at the checksum of either file
	wantNone(t, broken)
	if len(done) != 1 {
		t.Errorf("%d measurements are whole, want 1", len(done))
	}
}

func TestManifestsThatAreNotOursAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"another version": {`{"schema_version": 2, "status": 7}`, "its results schema is version 2; this sweetspot reads version 1"},
		"null":            {`null`, "it is no manifest of a run: it has no schema_version"},
		"no version":      {`{}`, "it is no manifest of a run: it has no schema_version"},
		"cut short":       {`{"schema_version": 1, "run_`, "it is corrupt"},
		"another type":    {`{"schema_version": 1, "status": 7}`, "it is corrupt"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(c.text), fileMode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestAStoreThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(file, "store"), Manifest{}); err == nil || !strings.Contains(err.Error(), "creating the store") {
		t.Errorf("error %v", err)
	}
}

func TestAFolderThatIsGoneIsAnError(t *testing.T) {
	w := newRun(t)
	if err := os.RemoveAll(w.path(string(Requests))); err != nil {
		t.Fatal(err)
	}
	err := w.WritePoint(measure.Point{Keys: keys(w.Run, pointA, 0, 0)}, nil, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "writing "+w.path(string(Requests))) {
		t.Errorf("error %v", err)
	}
	if points, err := w.measurements(string(Points), ".parquet"); len(points) != 0 || err != nil {
		t.Errorf("points %v, %v", points, err)
	}
}
