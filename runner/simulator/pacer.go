package simulator

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sweetspot/runner/clock"
)

// Paced makes every answer at a fixed rate, whatever the load, for benchmarks of clients: the first token FirstToken after the request was
// read, then one every Interval, Tokens of them or as many as the request asks for, whichever is fewer. Tokens 0 is as many as asked for.
//
// The times are reckoned from the request: one late event moves none after it.
type Paced struct {
	FirstToken time.Duration `json:"first_token"` // in nanoseconds
	Interval   time.Duration `json:"interval"`    // in nanoseconds
	Tokens     int           `json:"tokens"`
}

func (p Paced) check() error {
	if p.FirstToken < 0 || p.Interval < 0 || p.Tokens < 0 {
		return fmt.Errorf("a fixed rate must not be negative: first token after %v, interval %v, %d tokens", p.FirstToken, p.Interval, p.Tokens)
	}
	return nil
}

// made is how many tokens of an answer of at most most are made after so long.
func (p Paced) made(after time.Duration, most int) int {
	switch {
	case after < p.FirstToken:
		return 0
	case p.Interval == 0:
		return most
	}
	return int(min(1+int64((after-p.FirstToken)/p.Interval), int64(most)))
}

// due is how long after the request the n-th token is made, from 1.
func (p Paced) due(n int) time.Duration { return p.FirstToken + time.Duration(n-1)*p.Interval }

// pacer is the backend of [Paced]. The waiting is done by the goroutines of the requests.
type pacer struct {
	Paced
	clock                        clock.Clock
	running, prompted, generated atomic.Int64
}

func (p *pacer) start(context.Context, *job) { p.running.Add(1) }

func (p *pacer) end(*job) { p.running.Add(-1) }

func (p *pacer) wait(ctx context.Context, j *job, want int) (int, bool) {
	for {
		after := p.clock.Now().Sub(j.began)
		if made := p.made(after, j.most); made >= want {
			p.note(j, made)
			return made, true
		}
		left := p.due(want) - after
		if j.timer == nil {
			j.timer = time.NewTimer(left)
		} else {
			j.timer.Reset(left)
		}
		select {
		case <-j.timer.C:
		case <-ctx.Done():
			j.timer.Stop()
			return 0, false
		}
	}
}

// note counts the tokens of an answer that are made.
func (p *pacer) note(j *job, made int) {
	if j.generated == 0 {
		p.prompted.Add(int64(len(j.prompt)))
	}
	p.generated.Add(int64(made - j.generated))
	j.generated = made
}

func (p *pacer) status() status {
	return status{running: int(p.running.Load()), totals: totals{prompted: p.prompted.Load(), generated: p.generated.Load()}}
}

func (p *pacer) forget() {}

func (p *pacer) stop() {}
