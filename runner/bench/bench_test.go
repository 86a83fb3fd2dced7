package bench

import (
	"runtime"
	"testing"
)

// BenchmarkLoads measures each tool with each of [Cases]; an iteration is one run of a tool, of about 15 s. For medians of runs in turn, as in
// docs/performance.md, there is package bench/table.
//
//	go test ./runner/bench -run '^$' -bench Loads/500x20 -benchtime 1x
func BenchmarkLoads(b *testing.B) {
	for _, l := range Cases() {
		for _, tool := range tools() {
			b.Run(l.Name()+"/"+tool, func(b *testing.B) { benchmark(b, l, tool) })
		}
	}
}

func tools() []string {
	if runtime.GOOS == "linux" {
		return []string{Epoll, Reader, Engine}
	}
	return []string{Reader, Engine}
}

func benchmark(b *testing.B, l Load, tool string) {
	var results []Result
	for b.Loop() {
		r, err := Measure(b.Context(), Config{Tool: tool, Load: l, Self: self()})
		if err != nil {
			b.Fatal(err)
		}
		results = append(results, r)
	}
	r := Median(results)
	report := func(value *float64, scale float64, unit string) {
		if value != nil {
			b.ReportMetric(scale**value, unit)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e6*r.CPUPerEvent, "cpu-µs/event")
	b.ReportMetric(float64(r.PeakInFlight), "in-flight")
	b.ReportMetric(r.TokensPerSecond, "tok/s")
	b.ReportMetric(100*r.TokensPerSecond/l.Possible(), "%-of-possible")
	report(r.BytesPerStream, 1./1024, "KiB/stream")
	report(r.TTFTP50, 1e3, "ttft-p50-ms")
	report(r.FirstP99, 1e3, "first-lag-p99-ms")
	report(r.ChunkP99, 1e3, "chunk-lag-p99-ms")
	report(r.RefillP99, 1e6, "refill-p99-µs")
}
