package clock

import (
	"testing"
	"time"
)

// BenchmarkTicker tells what share of a core it takes to be woken 50 times a second in a process that does nothing else, and how late that is.
func BenchmarkTicker(b *testing.B) {
	for name, begin := range tickers {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				used, start := Processor(), time.Now()
				t := begin(20 * time.Millisecond)
				var late time.Duration
				for n := range 100 {
					t.Wait()
					late += time.Since(start) - time.Duration(n+1)*20*time.Millisecond
				}
				t.Stop()
				b.ReportMetric(100*(Processor()-used).Seconds()/time.Since(start).Seconds(), "%-of-a-core")
				b.ReportMetric(float64(late.Microseconds())/100, "late-µs")
			}
		})
	}
}
