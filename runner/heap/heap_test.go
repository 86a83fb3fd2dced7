package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// percent is what the collector goes by.
func percent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func with(t *testing.T, gogc int) {
	t.Helper()
	before := debug.SetGCPercent(gogc)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

func want(t *testing.T, when string, percents uint64) {
	t.Helper()
	if got := percent(); got != percents {
		t.Errorf("%s: %d %%, want %d %%", when, got, percents)
	}
}

// collect collects garbage until that has told the package.
func collect() {
	for {
		runtime.GC()
		collector.Lock()
		small := collector.small
		collector.Unlock()
		if !small {
			return
		}
		runtime.Gosched()
	}
}

func TestTheFirstCollectionEndsTheStart(t *testing.T) {
	with(t, standard)
	Start()
	want(t, "at first", small)
	over := Load()
	want(t, "under load", small)
	over()
	want(t, "after it", small)
	collect()
	want(t, "after a collection", standard)
	over = Load()
	want(t, "under load then", loaded)
	over()
	want(t, "after that", standard)
}

func TestAStartThatEndsUnderLoadLeavesTheLoadsPercentage(t *testing.T) {
	with(t, standard)
	Start()
	first, second := Load(), Load()
	collect()
	want(t, "under two loads", loaded)
	first()
	want(t, "under one", loaded)
	second()
	want(t, "after them", standard)
}

func TestAGivenPercentageIsKept(t *testing.T) {
	with(t, 50)
	Start()
	want(t, "at first", 50)
	Load()()
	want(t, "after a load", 50)
}
