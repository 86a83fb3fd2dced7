package client

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestADeadlinePassesForWhoWaits(t *testing.T) {
	now := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for _, c := range []struct {
		name  string
		first time.Duration // from the start; 0: none
		then  time.Duration // set when one second has passed; 0: none
		want  time.Duration
	}{
		{"in time", 3 * time.Second, 3 * time.Second, 3 * time.Second},
		{"moved to later", 3 * time.Second, 5 * time.Second, 5 * time.Second},
		{"moved to earlier", 5 * time.Second, 2 * time.Second, 2 * time.Second},
		{"moved into the past", 5 * time.Second, time.Nanosecond, time.Second},
		{"set where none was", 0, 2 * time.Second, 2 * time.Second},
		{"taken away", 3 * time.Second, 0, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d deadline
			start := time.Now()
			set := func(after time.Duration) {
				if after == 0 {
					d.set(time.Time{})
				} else {
					d.set(start.Add(after))
				}
			}
			set(c.first)
			passed := d.done()
			time.Sleep(time.Second)
			set(c.then)
			select {
			case <-passed:
			case <-time.After(time.Until(start.Add(time.Hour))):
			}
			if took := time.Since(start); took != c.want {
				t.Errorf("%s: passed after %v, want %v", c.name, took, c.want)
			}
			d.set(now(time.Minute)) // the next request's
			if isClosed(d.done()) {
				t.Errorf("%s: the next deadline has passed when it is set", c.name)
			}
			d.set(time.Unix(1, 0))
			if !isClosed(d.done()) {
				t.Errorf("%s: one in the past has not passed", c.name)
			}
		})
	}
}

// A timer that is left behind keeps a closed connection in memory until it rings.
func TestADeadlineThatHasPassedLeavesNoTimer(t *testing.T) {
	var d deadline
	d.set(time.Now().Add(time.Hour))
	d.done()
	d.set(time.Unix(1, 0))
	if d.timer.Stop() {
		t.Error("the timer of the deadline before still runs")
	}
}
