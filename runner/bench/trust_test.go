package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// level has the given lags in milliseconds; below 0 they are not known.
func level(streams int64, first, chunk, scheduling float64) Level {
	ms := func(v float64) *float64 {
		if v < 0 {
			return nil
		}
		v /= 1000
		return &v
	}
	return Level{Streams: streams, EventsPerSecond: float64(20 * streams), FirstLagP99: ms(first), ChunkLagP99: ms(chunk), SchedulingP99: ms(scheduling)}
}

func calibration(levels ...Level) Calibration {
	return Calibration{Format: CalibrationFormat, MeasuredAt: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Host: thisHost(), Levels: levels}
}

func TestGrades(t *testing.T) {
	broken := level(1, 0, 0, 0)
	broken.Error = new(string)
	for _, c := range []struct {
		what          string
		level         Level
		exact, usable bool
	}{
		{"at the limits", level(1, 1, 5, 5), true, true},
		{"first token above a millisecond", level(1, 1.01, 5, 5), false, true},
		{"first token above five", level(1, 5.01, 1, 1), false, false},
		{"chunks above five", level(1, 0.1, 5.01, 1), false, false},
		{"scheduling above five", level(1, 0.1, 1, 5.01), false, false},
		{"nothing known", level(1, -1, 1, 1), false, false},
		{"scheduling not known", level(1, 0.1, 1, -1), false, false},
		{"not measured", broken, false, false},
	} {
		if c.level.Exact() != c.exact || c.level.Usable() != c.usable {
			t.Errorf("%s: exact %t, usable %t", c.what, c.level.Exact(), c.level.Usable())
		}
	}
}

func TestWordsAndBeyond(t *testing.T) {
	const day = "the calibration of 2026-11-30"
	for _, c := range []struct {
		what          string
		calibration   Calibration
		words, beyond string // beyond: of a plan with 100 in flight
	}{
		{"two grades", calibration(level(8, 0.5, 1, 1), level(64, 2, 2, 2), level(512, 9, 2, 2)),
			"To the millisecond: up to 8 requests in flight, 160 events a second; to 5 ms: up to 64 requests in flight, 1280 events a second. " +
				"At 512 in flight first tokens are stamped up to 9.0 ms late (99 of 100).",
			"up to 100 requests in flight, and by " + day + " this machine's stamps are within 5 ms up to 64 requests"},
		{"all within", calibration(level(8, 0.5, 1, 1), level(64, 0.5, 2, 2)),
			"To the millisecond, and to 5 ms: up to 64 requests in flight, 1280 events a second. That is the highest level tried.",
			day + " goes up to 64: sweetspot calibrate --streams 1..100 looks further"},
		{"none exact", calibration(level(128, 3, 3, 3)), "No level keeps to the millisecond. To 5 ms: up to 128 requests in flight", ""},
		{"none", calibration(level(1, 3, 3, 7), level(128, 0, 0, 0)),
			"Here and now no level can be trusted, since the lowest is late already. At 1 in flight a sleeping goroutine is run up to 7.0 ms late", "can't be trusted as a client at all"},
		{"a lower level that is late hides a higher one", calibration(level(1, 0, 0, 0), level(8, 9, 0, 0), level(128, 0, 0, 0)),
			"up to 1 requests", "within 5 ms up to 1 requests"},
	} {
		if got := c.calibration.Words(); !strings.Contains(got, c.words) {
			t.Errorf("%s: words %q, want %q in them", c.what, got, c.words)
		}
		if got := Beyond(c.calibration, 100); !strings.Contains(got, c.beyond) || (got == "") != (c.beyond == "") {
			t.Errorf("%s: beyond %q, want %q in it", c.what, got, c.beyond)
		}
	}
}

func TestStore(t *testing.T) {
	store := filepath.Join(t.TempDir(), "results")
	if got, err := ReadCalibration(store); got != nil || err != nil {
		t.Fatalf("a store that is not there: %v, %v", got, err)
	}
	want := calibration(level(8, 0.5, -1, 1))
	path, err := want.Save(store)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCalibration(store)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	other := want
	other.Host.Name += "-other"
	if _, err := other.Save(store); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadCalibration(store); got != nil || err != nil {
		t.Errorf("another machine's: %v, %v", got, err)
	}
	other.Format = "else"
	if _, err := other.Save(store); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCalibration(store); err == nil {
		t.Error("another format: no error")
	}
}

func TestHigh(t *testing.T) {
	if high(nil) != nil {
		t.Error("the greatest of nothing")
	}
	if got := high([]float64{1, 2, 5}); *got != 5 {
		t.Errorf("%v: few values give their greatest", *got)
	}
	hundred := make([]float64, 100)
	hundred[99] = 7
	if got := high(hundred); *got >= 7 {
		t.Errorf("%v: a hundred give their percentile", *got)
	}
}
