package runner

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// tick is how often the sentinel wants to run. To wake a process that has little else to do costs some 80 µs of CPU (BenchmarkSentinel; of which Go's own timers
// make more than 200, as they wake the runtime's other threads). Beside 32 streams or more, which keep the process awake, it takes 0.2 % of a core or less.
const tick = 20 * time.Millisecond

// pauses is the distribution of the garbage collector's pauses.
const pauses = "/sched/pauses/total/gc:seconds"

// sentinel watches how well the client itself keeps up: a goroutine that sleeps until an instant and looks how late it was run. Where Go's timers wake it, up to
// one millisecond of lag in a process that has nothing else to do is the timer's own, and says nothing of the load.
type sentinel struct {
	clock  clock.Clock
	ticker clock.Ticker
	once   sync.Once
	done   sync.WaitGroup
	lags   []time.Duration
	before usage
	health measure.Health
}

// usage is what the process has used so far.
type usage struct {
	at     time.Time
	cpu    time.Duration
	gc     time.Duration
	pauses []uint64 // how many, by the buckets of bounds
	bounds []float64
}

// watchClient starts a sentinel.
func watchClient(c clock.Clock, every func(time.Duration) clock.Ticker) *sentinel {
	s := &sentinel{clock: c, before: used()}
	due := c.Now().Add(tick) // read before the ticker is made, which is due no earlier
	s.ticker = every(tick)
	s.done.Go(func() {
		for s.ticker.Wait() {
			due = s.ran(due, s.clock.Now())
		}
	})
	return s
}

// ran takes in that the goroutine was run, and gives the next instant at which it wants to be. All instants that passed meanwhile count, each with its own lag:
// whoever had been due at one of them would have waited until now. So a stall has the weight of the time that it took.
func (s *sentinel) ran(due, now clock.Instant) (next clock.Instant) {
	if now < due {
		return due
	}
	for ; due <= now; due = due.Add(tick) {
		s.lags = append(s.lags, now.Sub(due))
	}
	return due
}

// stop ends the watch, waits for it, and gives what it saw. It may be called again; a nil sentinel saw nothing.
func (s *sentinel) stop() measure.Health {
	if s == nil {
		return measure.Health{}
	}
	s.once.Do(func() {
		s.ticker.Stop()
		s.done.Wait()
		s.health = healthOf(s.lags, s.before, used())
	})
	return s.health
}

// healthOf computes the figures from the lags and from what the process had used before and after. The 99th percentile of fewer than 100 lags is
// their greatest: it can't be above that, and a short point is not let off.
func healthOf(lags []time.Duration, before, after usage) measure.Health {
	var h measure.Health
	if len(lags) > 0 {
		slices.Sort(lags)
		values := make([]float64, len(lags))
		for i, lag := range lags {
			values[i] = lag.Seconds()
		}
		most := values[len(values)-1]
		h.LagP50, h.LagP99, h.LagMax = measure.Quantile(values, 50), measure.Quantile(values, 99), &most
		if h.LagP99 == nil {
			h.LagP99 = &most
		}
	}
	total, longest := (after.gc - before.gc).Seconds(), longestPause(before, after)
	h.GCPauseSum, h.GCPauseMax = &total, &longest
	if wall := after.at.Sub(before.at); wall > 0 {
		share := (after.cpu - before.cpu).Seconds() / (wall.Seconds() * float64(runtime.GOMAXPROCS(0)))
		h.CPUShare = &share
	}
	return h
}

// used reads what the process has used. It stops nothing.
func used() usage {
	u := usage{at: time.Now(), cpu: clock.Processor()}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	u.gc = gc.PauseTotal
	sample := []metrics.Sample{{Name: pauses}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindFloat64Histogram {
		h := sample[0].Value.Float64Histogram()
		u.pauses, u.bounds = h.Counts, h.Buckets
	}
	return u
}

// longestPause is the upper bound of the highest bucket that gained a pause; 0 where there was none. The runtime's buckets are up to a quarter wide.
func longestPause(before, after usage) float64 {
	for i := len(after.pauses) - 1; i >= 0; i-- {
		if i < len(before.pauses) && after.pauses[i] == before.pauses[i] {
			continue
		}
		if bound := after.bounds[i+1]; !math.IsInf(bound, 1) {
			return bound
		}
		return after.bounds[i]
	}
	return 0
}
