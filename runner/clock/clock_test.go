package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestNowReadsTheMachinesClock(t *testing.T) {
	c := New()
	before := monotonic()
	now := c.Now()
	after := monotonic()
	const slack = Instant(time.Millisecond) // the bracket of the offset, on a busy machine
	if now < before-slack || now > after+slack {
		t.Errorf("Now() = %d, want between %d and %d", now, before, after)
	}
}

func TestClocksOfOneMachineAgree(t *testing.T) {
	a, b := New(), New()
	if a.ID() != b.ID() {
		t.Errorf("ids %q and %q differ", a.ID(), b.ID())
	}
	if d := b.Now().Sub(a.Now()); d < -time.Millisecond {
		t.Errorf("a later reading is %v earlier", -d)
	}
}

func TestNowFollowsABubblesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		start := c.Now()
		time.Sleep(3 * time.Second)
		if got := c.Now().Sub(start); got != 3*time.Second {
			t.Errorf("3 s later the clock moved by %v", got)
		}
	})
}

func TestSecondsSinceIsNilWhereAnInstantDidNotHappen(t *testing.T) {
	if got := Instant(5).SecondsSince(0); got != nil {
		t.Errorf("from an instant that did not happen: %v, want nil", *got)
	}
	if got := Instant(0).SecondsSince(5); got != nil {
		t.Errorf("to an instant that did not happen: %v, want nil", *got)
	}
	if got := Instant(2_500_000_000).SecondsSince(500_000_000); got == nil || *got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}
