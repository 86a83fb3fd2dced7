package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/runner/clock"
)

type interval struct{ Start, End clock.Instant }

func stepsOf(intervals []interval) steps {
	var starts, ends []clock.Instant
	for _, i := range intervals {
		starts, ends = append(starts, i.Start), append(ends, i.End)
	}
	return newSteps(starts, ends, make([]clock.Instant, len(starts)))
}

// liveAt counts the intervals that hold an instant: the second method, by slices of one tick.
func liveAt(intervals []interval, at clock.Instant) (live int64) {
	for _, i := range intervals {
		if i.Start <= at && at < i.End {
			live++
		}
	}
	return live
}

// Regression: one at a time, yet "peak concurrency" counted by the second read 2 in a rival. An end and a start at one instant are not both in
// flight.
func TestBackToBackDoesNotOverlap(t *testing.T) {
	s := stepsOf([]interval{{10, 20}, {20, 30}, {30, 40}})
	if diff := cmp.Diff(ref(int64(1)), s.peak(10, 40)); diff != "" {
		t.Errorf("peak: %s", diff)
	}
	if diff := cmp.Diff(ref(1.0), s.mean(10, 40)); diff != "" {
		t.Errorf("mean: %s", diff)
	}
}

func TestStepsOfNothing(t *testing.T) {
	var s steps
	if diff := cmp.Diff(ref(int64(0)), s.peak(10, 40)); diff != "" {
		t.Errorf("peak: %s", diff)
	}
	if got := s.mean(40, 40); got != nil {
		t.Errorf("mean over no time: %v", *got)
	}
	if got := s.peak(40, 10); got != nil {
		t.Errorf("peak over no time: %v", *got)
	}
	if _, ok := s.reach(1, 10, 40); ok {
		t.Error("reached 1 with nothing in flight")
	}
}

func TestStepsAgreeWithTimeSlices(t *testing.T) {
	instant := rapid.Int64Range(1, 60)
	rapid.Check(t, func(t *rapid.T) {
		intervals := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) interval {
			start := instant.Draw(t, "start")
			return interval{clock.Instant(start), clock.Instant(start + rapid.Int64Range(0, 20).Draw(t, "length"))}
		}), 0, 30).Draw(t, "intervals")
		from := clock.Instant(instant.Draw(t, "from"))
		to := from + clock.Instant(rapid.Int64Range(1, 40).Draw(t, "window"))
		target := rapid.Int64Range(1, 8).Draw(t, "target")

		var sum, peak int64
		var reached clock.Instant
		for at := from; at < to; at++ {
			live := liveAt(intervals, at)
			sum, peak = sum+live, max(peak, live)
			if live >= target && reached == 0 {
				reached = at
			}
		}
		s := stepsOf(intervals)
		if diff := cmp.Diff(ref(float64(sum)/float64(to-from)), s.mean(from, to), nearly); diff != "" {
			t.Errorf("mean: %s", diff)
		}
		if diff := cmp.Diff(&peak, s.peak(from, to)); diff != "" {
			t.Errorf("peak: %s", diff)
		}
		if got, _ := s.reach(target, from, to); got != reached {
			t.Errorf("reached %d at %d, want %d", target, got, reached)
		}
	})
}
