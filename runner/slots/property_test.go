package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// story is a random course of events in virtual time.
type story struct {
	limits  [3]int64 // sessions, requests, prefills
	changes []change
	guests  []guest
}

// change sets a limit some time after the one before it.
type change struct {
	after time.Duration
	gate  int
	limit int64
}

// guest takes slots, holds them for a while and frees them, or is cancelled.
type guest struct {
	arrives      time.Duration
	want         Want
	tries        bool          // once without waiting, and gives up if there is none
	firstToken   time.Duration // after its dispatch; never, when it is not before end
	ends         time.Duration
	cancelled    time.Duration // after its arrival; 0: never
	releasesMore bool          // from a second goroutine as well
}

func drawStory(t *rapid.T) story {
	ms := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond
	}
	limit := rapid.Int64Range(1, 4)
	s := story{limits: [3]int64{limit.Draw(t, "sessions"), limit.Draw(t, "requests"), limit.Draw(t, "prefills")}}
	for range rapid.IntRange(0, 6).Draw(t, "changes") {
		s.changes = append(s.changes, change{ms(8, "after"), rapid.IntRange(0, 2).Draw(t, "gate"), rapid.Int64Range(0, 5).Draw(t, "limit")})
	}
	for range rapid.IntRange(1, 20).Draw(t, "guests") {
		s.guests = append(s.guests, guest{
			arrives: ms(20, "arrives"), want: Want(rapid.IntRange(1, 7).Draw(t, "want")), tries: rapid.Bool().Draw(t, "tries"),
			firstToken: ms(10, "first token"), ends: ms(10, "ends"), cancelled: ms(12, "cancelled"), releasesMore: rapid.Bool().Draw(t, "releases more"),
		})
	}
	return s
}

// stage of a story: the gates, and how many hold each as the guests count them.
type theatre struct {
	admission *Admission
	inside    [3]atomic.Int64
	fault     atomic.Pointer[error]
}

func (th *theatre) gates() [3]*Gate {
	return [3]*Gate{&th.admission.Sessions, &th.admission.Requests, &th.admission.Prefills}
}

func (th *theatre) failf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	th.fault.CompareAndSwap(nil, &err)
}

// play runs a story to its end and returns the first thing that was not as it must be.
func play(s story) error {
	th := &theatre{admission: open(s.limits[0], s.limits[1], s.limits[2])}
	over := make(chan struct{})
	var guests, watcher sync.WaitGroup
	watcher.Go(func() { th.watch(over) })
	for i, g := range s.guests {
		guests.Go(func() { th.visit(i, g) })
	}
	time.Sleep(time.Millisecond / 4) // guests come and go on whole milliseconds
	for _, c := range s.changes {
		time.Sleep(c.after + time.Millisecond)
		th.gates()[c.gate].SetLimit(c.limit)
	}
	time.Sleep(50 * time.Millisecond) // a limit of 0 may keep some waiting
	for _, g := range th.gates() {
		g.SetLimit(1)
	}
	guests.Wait()
	close(over)
	watcher.Wait()
	for i, g := range th.gates() {
		if s := g.State(); s.Held != 0 || s.Waiting != 0 || s.Taken != s.Freed {
			th.failf("gate %d ends as %+v", i, s)
		}
	}
	if err := th.fault.Load(); err != nil {
		return *err
	}
	return nil
}

func (th *theatre) visit(i int, g guest) {
	time.Sleep(g.arrives)
	ctx := context.Background()
	if g.cancelled > 0 {
		timed, cancel := context.WithTimeout(ctx, g.cancelled)
		defer cancel()
		ctx = timed
	}
	var h Held
	var err error
	if g.tries {
		err = th.admission.TryTake(&h, g.want, goOn)
	} else {
		err = th.admission.Take(ctx, &h, g.want, goOn)
	}
	if err != nil {
		if g.tries != errors.Is(err, ErrFull) {
			th.failf("guest %d: %v", i, err)
		}
		if h.Session.held() || h.Request.held() || h.Prefill.held() {
			th.failf("guest %d was refused and holds slots", i)
		}
		return
	}
	th.stay(i, g, &h)
}

func (th *theatre) stay(i int, g guest, h *Held) {
	slots := [3]*Slot{&h.Session, &h.Request, &h.Prefill}
	for d := range slots {
		if wanted := g.want&(1<<d) != 0; wanted != slots[d].held() {
			th.failf("guest %d: dimension %d held is %v", i, d, !wanted)
		} else if wanted {
			th.inside[d].Add(1)
		}
	}
	leave := func(d int) {
		if g.want&(1<<d) != 0 {
			th.inside[d].Add(-1)
		}
	}
	if g.firstToken < g.ends {
		time.Sleep(g.firstToken)
		leave(2)
		h.Prefill.Release()
		time.Sleep(g.ends - g.firstToken)
	} else {
		time.Sleep(g.ends)
		leave(2)
	}
	leave(0)
	leave(1)
	if g.releasesMore {
		var second sync.WaitGroup
		second.Go(h.Release)
		defer second.Wait()
	}
	h.Release()
}

// watch looks at the gates between any two instants at which something happens.
func (th *theatre) watch(stop <-chan struct{}) {
	time.Sleep(time.Millisecond / 8)
	ticks := time.NewTicker(time.Millisecond / 2)
	defer ticks.Stop()
	var before [3]State
	for {
		for d, g := range th.gates() {
			s := g.State()
			switch {
			case s.Held < th.inside[d].Load():
				th.failf("dimension %d: %d held, %d inside", d, s.Held, th.inside[d].Load())
			case s.Waiting > 0 && s.Held < s.Limit:
				th.failf("dimension %d: %d wait although %d of %d are held", d, s.Waiting, s.Held, s.Limit)
			case s.Held > max(s.Limit, before[d].Held):
				th.failf("dimension %d: %d held at a limit of %d, %d before", d, s.Held, s.Limit, before[d].Held)
			}
			before[d] = s
		}
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
	}
}

func property(t *testing.T, rt *rapid.T) {
	s := drawStory(rt)
	var err error
	synctest.Test(t, func(*testing.T) { err = play(s) })
	if err != nil {
		rt.Fatal(err)
	}
}

func TestRandomStoriesKeepCapsAndCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { property(t, rt) })
}

func FuzzStories(f *testing.F) {
	for seed := range byte(8) {
		told := make([]byte, 8192)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(told)
		f.Add(told)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { property(t, rt) })(t, data)
	})
}

// held reports whether the slot is held.
func (s *Slot) held() bool { return s.gate.Load() != nil }
