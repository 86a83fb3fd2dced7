package results

import (
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// long are n requests of 256 chunks each.
func long(n int64) []measure.Record {
	made := records(n)
	for i := range made {
		chunks := make([]int64, 256)
		for j := range chunks {
			chunks[j] = int64(i+1)*1e6 + int64(j)*5e7 + int64(i*j%1e6)
		}
		made[i].Chunks = chunks
	}
	return made
}

// BenchmarkWritePoint stores a point of that many requests with 256 chunks each.
func BenchmarkWritePoint(b *testing.B) {
	for _, n := range []int64{20, 10_000} {
		b.Run(strconv.FormatInt(n, 10), func(b *testing.B) {
			w, err := Create(filepath.Join(b.TempDir(), "store"), Manifest{})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			requests := long(n)
			var attempt int64
			b.ReportAllocs()
			for b.Loop() {
				if err := w.WritePoint(measure.Point{Keys: keys(w.Run, pointA, 0, attempt)}, requests, nil); err != nil {
					b.Fatal(err)
				}
				attempt++
			}
		})
	}
}

// BenchmarkReadRequests reads back 10,000 requests with 256 chunks each.
func BenchmarkReadRequests(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "store"), Manifest{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.WritePoint(measure.Point{Keys: keys(w.Run, pointA, 0, 0)}, long(10_000), nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range w.Requests(Measurement{pointA, 0, 0}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkStream takes 1,000 ended requests with 256 chunks each and has them on disk.
func BenchmarkStream(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "store"), Manifest{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	requests := long(1000)
	var attempt int64
	for b.Loop() {
		s, err := w.Stream(keys(w.Run, pointA, 0, attempt), clock.New().Now)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range requests {
			s.Add(r)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		attempt++
	}
}

// BenchmarkExportRequests exports that many requests of points of 10,000 and says how much memory was in use at most: the same for both, however many there are.
func BenchmarkExportRequests(b *testing.B) {
	for _, points := range []int64{5, 40} {
		w, err := Create(filepath.Join(b.TempDir(), "store"), Manifest{})
		if err != nil {
			b.Fatal(err)
		}
		made := records(10_000)
		for repeat := range points {
			if err := w.WritePoint(measure.Point{Keys: keys(w.Run, pointA, repeat, 0)}, made, nil); err != nil {
				b.Fatal(err)
			}
		}
		made = nil
		for _, format := range []Format{Parquet, Arrow, CSV, JSONL} {
			b.Run(fmt.Sprintf("%s/%d", format, points*10_000), func(b *testing.B) {
				most := &watched{}
				for b.Loop() {
					if err := Export(most, []*Run{w.Run}, Requests, format); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(most.heap)/(1<<20), "MiB-in-use")
			})
		}
		w.Close()
	}
}

// watched looks at the heap at every megabyte that is written to it.
type watched struct {
	written int
	heap    uint64
}

func (w *watched) Write(p []byte) (int, error) {
	const every = 1 << 20
	if before := w.written; before/every != (before+len(p))/every {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		w.heap = max(w.heap, now.HeapInuse)
	}
	w.written += len(p)
	return len(p), nil
}

var largeStore = flag.String("large", "", "make a run with 2.5 million requests in this store, which takes 60 MB and a minute")

// TestMakeLargeRun makes the run that docs/performance.md has the memory and the time of exporting of: four times over it is ten million requests.
func TestMakeLargeRun(t *testing.T) {
	if *largeStore == "" {
		t.Skip("it takes -large STORE")
	}
	w, err := Create(*largeStore, Manifest{Name: "large", Status: Completed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	made := records(100_000)
	for repeat := range int64(25) {
		point := measure.Point{Keys: keys(w.Run, pointA, repeat, 0), Status: measure.PointCompleted, Counts: measure.Counts{Issued: 100_000, OK: 100_000}}
		if err := w.WritePoint(point, made, nil); err != nil {
			t.Fatal(err)
		}
	}
}
