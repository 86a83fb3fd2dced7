package client

import (
	"sync"
	"time"
)

// deadline is when whoever waits for something gives up. Its zero value never passes.
type deadline struct {
	mu     sync.Mutex
	at     time.Time
	timer  *time.Timer
	passed chan struct{} // closed where over; nil: nobody has waited
	over   bool
}

// set puts another deadline in the place of the last, for those that wait already too; the zero time is none.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.over {
		d.over, d.passed = false, nil
	}
	if d.passed != nil {
		d.arm()
	}
}

// done is closed when the deadline has passed.
func (d *deadline) done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
		d.arm()
	}
	return d.passed
}

func (d *deadline) arm() {
	left := time.Until(d.at)
	switch {
	case d.at.IsZero():
		d.stop()
	case left <= 0:
		d.pass()
	case d.timer == nil:
		d.timer = time.AfterFunc(left, d.ring)
	default:
		d.timer.Reset(left)
	}
}

// ring is called by the timer, which may have been set for an earlier deadline.
func (d *deadline) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed != nil && !d.at.IsZero() && time.Until(d.at) <= 0 {
		d.pass()
	}
}

func (d *deadline) pass() {
	if !d.over {
		d.over = true
		close(d.passed)
		d.stop() // else a closed connection stays in memory until it rings
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
