package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// supervised is a service that a supervisor owns: see [Supervise].
type supervised struct {
	*process // the supervisor
	command  *output
	what     orders
	mark     string // in the environment of every process that comes of the command

	started chan struct{} // closed when the command runs
	back    chan struct{} // closed when the command that returns has
	gone    chan struct{} // closed when the command ended by itself, or the supervisor has ended

	mu       sync.Mutex
	group    int    // of the command
	returned string // what the command that returns wrote
	fault    string // how the command ended by itself, or what went wrong with the stop
	down     bool   // the command that stops the service was run
	up       string // why something of the service may be left
	left     []int
}

// supervise starts a supervisor with its orders. It returns at once.
func supervise(argv []string, what orders, out *output) (*supervised, error) {
	mark := newMark()
	what.Env = append(slices.Clone(what.Env), mark)
	s := &supervised{command: out, what: what, mark: mark, started: make(chan struct{}), back: make(chan struct{}), gone: make(chan struct{})}
	var err error
	if s.process, err = newProcess(argv, out, &lines{each: s.hear}); err == nil {
		grace, stopping := time.Duration(what.Grace), time.Second
		if what.Returns {
			stopping += grace // the command that stops has a grace to itself
		}
		s.grace, s.haste = stopping+grace+killGrace, stopping+killGrace
		s.onEnd = s.close
		err = s.start()
	}
	if err != nil {
		out.close()
		return nil, err
	}
	s.tell(what) // where the supervisor can't be told, it ends
	return s, nil
}

// hear takes what the supervisor says.
func (s *supervised) hear(line []byte) {
	var said report
	if json.Unmarshal(line, &said) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case said.Started > 0:
		s.group = said.Started
		closeOnce(s.started)
	case said.Returned != nil:
		s.returned = *said.Returned
		closeOnce(s.back)
	case said.Ended != "":
		if s.fault == "" {
			s.fault = said.Ended
		}
		closeOnce(s.gone)
	case said.Down:
		s.down, s.up = true, said.Up
	case len(said.Left) > 0:
		s.left = said.Left
	}
}

// close is the supervisor's end.
func (s *supervised) close() {
	s.mu.Lock()
	closeOnce(s.gone)
	orphaned := s.process.err != nil && s.group > 0 && s.left == nil
	s.mu.Unlock()
	if orphaned { // the supervisor was killed
		s.takeOver()
	}
}

// closeOnce closes a channel that is closed by one goroutine at a time.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func (s *supervised) over() <-chan struct{} { return s.gone }

// ended is an error once the command has ended without being told to.
func (s *supervised) ended() error {
	if s.isStopped() {
		return nil
	}
	select {
	case <-s.gone:
		return s.death()
	default:
		return nil
	}
}

// death says how the command ended. Its output is whole once the supervisor has ended, which ends all that is left first.
func (s *supervised) death() error {
	s.within(context.Background(), s.haste)
	s.mu.Lock()
	group, fault := s.group, s.fault
	s.mu.Unlock()
	switch {
	case fault == "":
		return fmt.Errorf("its supervisor was ended: %w", s.process.death())
	case group == 0:
		return errors.New(fault)
	}
	return died(group, fault, s.command)
}

// stop ends the command and all that came of it.
func (s *supervised) stop(ctx context.Context) error {
	if s.isStopped() {
		return nil
	}
	crashed := s.ended()
	err := s.process.stop(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.mayBeLeft()
	switch {
	case crashed != nil && left != nil:
		return fmt.Errorf("%w; %w", crashed, left)
	case crashed != nil:
		return crashed
	case left != nil:
		return left
	case s.fault != "":
		return errors.New(s.fault)
	}
	return err
}
