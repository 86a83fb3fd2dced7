package clock

import (
	"sync"
	"time"
)

// Ticker wakes one goroutine at the end of each period since it was made.
type Ticker interface {
	// Wait blocks until a period ends, or returns at once where one ended since it returned last: those that passed unseen are not made up for. It reports
	// false once Stop was called.
	Wait() bool
	// Stop has Wait return. It may be called again, from any goroutine.
	Stop()
}

// NewTimerTicker wakes by Go's timers, which in a process that has nothing else to do fire up to a millisecond late. In a testing/synctest bubble it goes by the
// bubble's time.
func NewTimerTicker(period time.Duration) Ticker {
	return &timerTicker{ticker: time.NewTicker(period), quit: make(chan struct{})}
}

type timerTicker struct {
	ticker *time.Ticker
	quit   chan struct{}
	once   sync.Once
}

func (t *timerTicker) Wait() bool {
	select {
	case <-t.quit:
		return false
	case <-t.ticker.C:
		return true
	}
}

func (t *timerTicker) Stop() {
	t.once.Do(func() {
		t.ticker.Stop()
		close(t.quit)
	})
}
