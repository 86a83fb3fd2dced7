package simulator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
)

// backend makes the tokens of answers: the model in real time, or at a fixed rate.
type backend interface {
	// start begins an answer, and gives it up when ctx ends. Every start is followed by one end.
	start(ctx context.Context, j *job)
	// end is called when no more of the answer is wanted.
	end(j *job)
	// wait waits until at least want tokens of the answer are made, and returns how many are. It is false where there will not be so many.
	wait(ctx context.Context, j *job, want int) (made int, ok bool)
	// status says what is going on.
	status() status
	// forget empties the prefix cache.
	forget()
	// stop ends what the backend runs, and waits for it.
	stop()
}

// status is what /metrics shows of a backend.
type status struct {
	running, waiting int
	cacheUsage       float64 // share of the KV blocks that are held
	totals
}

// job is one answer in the making.
type job struct {
	sequence
	began clock.Instant // the request was read

	// Of the engine: wake holds a token when made has reached want, or over has come true.
	wake    chan struct{}
	want    atomic.Int64
	made    atomic.Int64
	over    atomic.Bool // no more will be made
	unwatch func() bool // of the context

	timer *time.Timer // of the pacer
}

func newJob(began clock.Instant, r *request, a answer, l layout) *job {
	j := &job{began: began, wake: make(chan struct{}, 1)}
	j.sequence = sequence{prompt: r.prompt, salt: r.salt, answer: a, starts: l.starts(), most: l.total, job: j}
	return j
}

func (j *job) notify() {
	select {
	case j.wake <- struct{}{}:
	default: // it has yet to see the last one
	}
}

// engine plays the model's steps in real time. Its goroutine lives only while there is work.
type engine struct {
	clock clock.Clock

	mu      sync.Mutex
	model   *model
	active  bool // the goroutine lives
	stopped bool
	halt    chan struct{}
	done    sync.WaitGroup
}

func newEngine(cfg Config, c clock.Clock) *engine {
	return &engine{clock: c, model: newModel(cfg), halt: make(chan struct{})}
}

func (e *engine) start(ctx context.Context, j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model.add(&j.sequence)
	j.unwatch = context.AfterFunc(ctx, func() { e.abort(j) })
	if e.active || e.stopped {
		return
	}
	e.active = true
	e.done.Add(1)
	go e.play()
}

func (e *engine) end(j *job) {
	j.unwatch()
	e.abort(j)
}

// abort takes an answer out of the model, where it is still there.
func (e *engine) abort(j *job) {
	e.mu.Lock()
	e.model.remove(&j.sequence)
	e.mu.Unlock()
	j.over.Store(true)
	j.notify()
}

func (e *engine) wait(_ context.Context, j *job, want int) (int, bool) {
	j.want.Store(int64(want)) // before made is looked at, as play stores made before it looks at want: one of the two sees the other
	for {
		if made := int(j.made.Load()); made >= want {
			return made, true
		}
		if j.over.Load() {
			return 0, false
		}
		<-j.wake
	}
}

// mostBehind is how far the steps may fall behind their times, on a machine that is too busy, before the time is given up as lost.
const mostBehind = time.Second

// stepEnd is when a step of some length ends, planned now, after one that should have ended at before. However late that was noticed, the step
// is reckoned from it, so that the model's speed does not depend on the machine's.
func stepEnd(before, now clock.Instant, length time.Duration) clock.Instant {
	return max(before, now.Add(-mostBehind)).Add(length)
}

// play runs steps until there is nothing to do.
func (e *engine) play() {
	defer e.done.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	end := e.clock.Now()
	for {
		length, ok := e.turn()
		if !ok {
			return
		}
		now := e.clock.Now()
		end = stepEnd(end, now, length)
		timer.Reset(end.Sub(now))
		select {
		case <-timer.C:
		case <-e.halt:
			return
		}
	}
}

// turn ends the step under way, if there is one, and plans the next.
func (e *engine) turn() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model.finish(func(s *sequence) {
		s.job.made.Store(int64(s.generated))
		if int64(s.generated) >= s.job.want.Load() {
			s.job.notify()
		}
	})
	length, ok := e.model.plan()
	e.active = ok
	return length, ok
}

func (e *engine) status() status {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.model
	return status{
		running: len(m.running), waiting: len(m.waiting), totals: m.totals,
		cacheUsage: float64(m.pool.used()) / float64(len(m.pool.blocks)),
	}
}

func (e *engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model.pool.forget()
}

func (e *engine) stop() {
	e.mu.Lock()
	if !e.stopped {
		e.stopped = true
		close(e.halt)
	}
	e.mu.Unlock()
	e.done.Wait()
}
