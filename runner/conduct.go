package runner

import (
	"context"
	"errors"
	"time"

	"sweetspot/runner/client"
	"sweetspot/runner/measure"
)

// conductor sees a point through its phases: one goroutine, to which everything that happens is an event on a channel. A nil channel is an event
// that can't happen now.
type conductor struct {
	*engine
	lanesDone chan struct{}
	onProbed  chan struct{}
	probing   bool // the context probe has begun and has not ended
	sentinel  *sentinel

	// Of the engine and, last, the person's first and second interrupt; nil once seen.
	onHandOver, onTiming, onOver, onEnded, onHalt, onStop, onGone <-chan struct{}
	// Timers; nil until set.
	onRampOver, onTimeUp, onCutLoad, onCutAll <-chan time.Time
}

// conduct runs the point until everything has ended, and returns how the client kept up meanwhile.
func (e *engine) conduct(ctx context.Context) measure.Health {
	c := &conductor{
		engine: e, lanesDone: make(chan struct{}), onProbed: make(chan struct{}),
		onHandOver: e.handedOver, onTiming: e.timing, onOver: e.measuredOver, onEnded: e.measuredEnded, onHalt: e.halted, onStop: e.deps.Stop, onGone: ctx.Done(),
	}
	if e.point.RampUp > 0 {
		c.onRampOver = time.After(durationOf(e.point.RampUp))
	}
	go func() {
		defer close(c.lanesDone)
		e.lanes.Wait()
	}()
	for c.lanesDone != nil || c.probing {
		c.next()
	}
	e.finish()
	return c.sentinel.stop()
}

// next handles one event.
func (c *conductor) next() {
	select {
	case <-c.onRampOver:
		c.rampOver()
	case <-c.onHandOver:
		c.onHandOver = nil
		c.sentinel = watchClient(c.clock, c.deps.Ticker)
	case <-c.onTiming:
		c.onTiming = nil
		if c.point.Duration > 0 {
			c.onTimeUp = time.After(durationOf(c.point.Duration))
		}
	case <-c.onTimeUp:
		c.timeUp()
	case <-c.onOver:
		c.onOver = nil
		c.onCutLoad = time.After(durationOf(c.point.DrainTimeout))
	case <-c.onCutLoad:
		c.cutLoading(client.ErrDrained)
	case <-c.onEnded:
		c.onEnded = nil
		c.sentinel.stop()
		c.startProbe()
	case <-c.onProbed:
		c.probing, c.onProbed = false, nil
		c.finish()
		c.drain()
	case <-c.onCutAll:
		c.cutAll(client.ErrDrained)
	case <-c.onStop:
		c.onStop = nil
		c.interrupt(false)
	case <-c.onGone:
		c.onGone = nil
		c.interrupt(true)
		c.cutAll(errInterrupted)
	case <-c.onHalt:
		c.onHalt = nil
		c.drain()
	case <-c.lanesDone:
		c.lanesDone = nil
	}
}

// drain gives what is in flight until the deadline.
func (c *conductor) drain() {
	if c.onCutAll == nil {
		c.onCutAll = time.After(durationOf(c.point.DrainTimeout))
	}
}

var errInterrupted = errors.New("cut by an interrupt")

func (c *conductor) cutAll(why error) {
	c.cutLoading(why)
	c.cutHolding(why)
}
