package slots

import (
	"context"
	"sync"
	"testing"
)

func goOn() error { return nil }

func BenchmarkTakeAndReleaseUncontended(b *testing.B) {
	a := open(64, 64, 8)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var h Held
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Take(ctx, &h, Session|Request|Prefill, goOn); err != nil {
			b.Fatal(err)
		}
		h.Release()
	}
}

func BenchmarkHandOverBetweenTwoWaiters(b *testing.B) {
	a := open(2, 1, 1)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range b.N / 2 {
				var h Held
				if err := a.Take(context.Background(), &h, Session|Request|Prefill, goOn); err != nil {
					b.Error(err)
					return
				}
				h.Release()
			}
		})
	}
	wg.Wait()
}

func TestTakeAndReleaseDoNotAllocate(t *testing.T) {
	a := open(64, Unbounded, 8)
	var h Held
	n := testing.AllocsPerRun(100, func() {
		if err := a.Take(context.Background(), &h, Session|Request|Prefill, goOn); err != nil {
			t.Fatal(err)
		}
		h.Release()
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
