package slots

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func open(sessions, requests, prefills int64) *Admission {
	a := new(Admission)
	a.Sessions.SetLimit(sessions)
	a.Requests.SetLimit(requests)
	a.Prefills.SetLimit(prefills)
	return a
}

// held is how many slots of each dimension are held.
func held(a *Admission) [3]int64 {
	return [3]int64{a.Sessions.State().Held, a.Requests.State().Held, a.Prefills.State().Held}
}

func take(t *testing.T, a *Admission, h *Held, want Want) {
	t.Helper()
	if err := a.TryTake(h, want, goOn); err != nil {
		t.Fatalf("taking %b: %v", want, err)
	}
}

func TestARefusedSlotGivesBackThoseBeforeIt(t *testing.T) {
	for _, c := range []struct {
		name                       string
		sessions, requests, prefil int64
	}{{"session", 0, 1, 1}, {"request", 1, 0, 1}, {"prefill", 1, 1, 0}} {
		t.Run(c.name, func(t *testing.T) {
			a := open(c.sessions, c.requests, c.prefil)
			var h Held
			if err := a.TryTake(&h, Session|Request|Prefill, goOn); !errors.Is(err, ErrFull) {
				t.Errorf("without waiting: %v, want %v", err, ErrFull)
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			over := errors.New("the phase is over")
			cancel(over)
			if err := a.Take(ctx, &h, Session|Request|Prefill, goOn); !errors.Is(err, over) {
				t.Errorf("waiting: %v, want the context's cause", err)
			}
			if got := held(a); got != [3]int64{} {
				t.Errorf("held after being refused: %v, want none", got)
			}
		})
	}
}

func TestSlotsAreTakenInOrderAndFreedInTheOpposite(t *testing.T) {
	a := open(1, 1, 1)
	var seen [][3]int64
	stop := func() error {
		seen = append(seen, held(a))
		if len(seen) == 4 {
			return errors.New("no more")
		}
		return nil
	}
	var h Held
	if err := a.TryTake(&h, Session|Request|Prefill, stop); err == nil {
		t.Error("stop's error was not returned")
	}
	want := [][3]int64{{}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("held at each look at the stop condition (-want +got):\n%s", diff)
	}
	if got := held(a); got != [3]int64{} {
		t.Errorf("held after stop refused: %v, want none", got)
	}
}

func TestStopIsLookedAtAgainAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(1, 1, 1)
		var first Held
		take(t, a, &first, Session|Request|Prefill)
		over := errors.New("the phase is over")
		var ended atomic.Bool
		result := make(chan error)
		go func() {
			var second Held
			result <- a.Take(context.Background(), &second, Session|Request|Prefill, func() error {
				if ended.Load() {
					return over
				}
				return nil
			})
		}()
		synctest.Wait()
		ended.Store(true)
		first.Release()
		if err := <-result; !errors.Is(err, over) {
			t.Errorf("granted after the phase had ended: %v, want %v", err, over)
		}
		if got := held(a); got != [3]int64{} {
			t.Errorf("held: %v, want none", got)
		}
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(Unbounded, 1, Unbounded)
		var first Held
		take(t, a, &first, Request)
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				var h Held
				if err := a.Take(context.Background(), &h, Request|Prefill, goOn); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				h.Release()
			})
			synctest.Wait() // each is in the queue before the next comes
		}
		first.Release()
		wg.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("order %v", order)
			}
		}
	})
}

func TestTryingDoesNotOvertakeThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(Unbounded, 1, Unbounded)
		var first Held
		take(t, a, &first, Request)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			var h Held
			_ = a.Take(ctx, &h, Request, goOn)
		}()
		synctest.Wait()
		a.Requests.SetLimit(0)
		first.Release() // free, but the limit is 0: the waiter still waits
		var h Held
		if err := a.TryTake(&h, Request, goOn); !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want %v", err, ErrFull)
		}
		cancel()
	})
}

func TestRaisingALimitWakesAsManyAsFitAndLoweringTakesNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(Unbounded, 1, Unbounded)
		hs := make([]Held, 6)
		for i := range hs {
			go func() {
				if err := a.Take(context.Background(), &hs[i], Request, goOn); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		expect := func(when string, held, waiting int64) {
			t.Helper()
			synctest.Wait()
			if s := a.Requests.State(); s.Held != held || s.Waiting != waiting {
				t.Errorf("%s: %d held, %d waiting; want %d, %d", when, s.Held, s.Waiting, held, waiting)
			}
		}
		expect("at a limit of 1", 1, 5)
		a.Requests.SetLimit(4)
		expect("raised to 4", 4, 2)
		a.Requests.SetLimit(2)
		expect("lowered to 2", 4, 2)
		if !a.Requests.Over() {
			t.Error("4 held at a limit of 2 is not over")
		}
		hs[0].Release()
		hs[1].Release()
		expect("two freed", 2, 2)
		hs[2].Release()
		expect("three freed", 2, 1)
		for i := range hs {
			hs[i].Release()
			synctest.Wait()
		}
		expect("all freed", 0, 0)
	})
}

func TestASlotIsFreedOnceHoweverManyTry(t *testing.T) {
	a := open(2, 2, 2)
	var other, h Held
	take(t, a, &other, Session|Request|Prefill)
	take(t, a, &h, Session|Request|Prefill)
	var freed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if h.Prefill.Release() {
				freed.Add(1)
			}
			h.Release()
		})
	}
	wg.Wait()
	if freed.Load() > 1 {
		t.Errorf("the prefill slot was freed %d times", freed.Load())
	}
	if got := held(a); got != [3]int64{1, 1, 1} {
		t.Errorf("held: %v, want the other's", got)
	}
}

func TestTakingIntoAHeldSlotIsRefused(t *testing.T) {
	a := open(2, 2, 2)
	var h Held
	take(t, a, &h, Request)
	if err := a.TryTake(&h, Session|Request, goOn); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v, want %v", err, ErrHeld)
	}
	if got := held(a); got != [3]int64{0, 1, 0} {
		t.Errorf("held: %v, want the one request", got)
	}
}
