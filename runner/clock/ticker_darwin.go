package clock

import "time"

// NewTicker wakes by Go's timers.
func NewTicker(period time.Duration) Ticker { return NewTimerTicker(period) }
