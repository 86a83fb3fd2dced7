package gpu

import (
	"slices"
	"sync"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// mostSamples bounds what is kept of one measurement: what comes behind them is not.
const mostSamples = 1 << 20

// Watcher reads what GPUs do. It is safe for several goroutines; measurements follow one another.
type Watcher struct {
	clock   clock.Clock
	devices []int64 // numbers of the GPUs that are watched; nil: all
	stop    func()  // ends the reading, and returns when it has ended

	mu      sync.Mutex
	samples []measure.GPUSample // from the last reading before the measurement
	seen    []measure.GPUSample // the first of each GPU
}

// GPUs are the first readings, one of each GPU that is watched.
func (w *Watcher) GPUs() []measure.GPUSample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Measure begins a measurement. The function that it returns gives what was read since, and the last reading of each GPU before, in order of time.
func (w *Watcher) Measure() (finish func() []measure.GPUSample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var last []measure.GPUSample
	for i := range w.samples {
		newest := &w.samples[len(w.samples)-1-i]
		if !slices.ContainsFunc(last, func(s measure.GPUSample) bool { return s.Device() == newest.Device() }) {
			last = append(last, *newest)
		}
	}
	slices.Reverse(last)
	w.samples = last
	return func() []measure.GPUSample {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.samples)
	}
}

// Close ends the reading, and what was started for it.
func (w *Watcher) Close() { w.stop() }

// add keeps a sample of a GPU that is watched. It is true where one of the same GPU had been there before.
func (w *Watcher) add(s measure.GPUSample) (again bool) {
	if w.devices != nil && (s.Index == nil || !slices.Contains(w.devices, *s.Index)) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.samples) >= mostSamples {
		return true
	}
	again = slices.ContainsFunc(w.seen, func(old measure.GPUSample) bool { return old.Device() == s.Device() })
	if !again {
		w.seen = append(w.seen, s)
	}
	w.samples = append(w.samples, s)
	return again
}
