package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"sweetspot/pipeline"
	"sweetspot/schema"
)

// startup is how far a service is that is being started: the person sees what it said last. Its zero value is no service.
type startup struct {
	mu    sync.Mutex
	since time.Time // zero: none is being started
	last  string
}

func (s *startup) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.last = time.Now(), ""
}

func (s *startup) said(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = line
}

func (s *startup) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
}

// text is one line of at most width letters; empty where no service is being started.
func (s *startup) text(width int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return ""
	}
	text := []rune(fmt.Sprintf("starting the service (%v)  %s", time.Since(s.since).Round(time.Second), s.last))
	return string(text[:min(len(text), width)])
}

// startingLine says what is started.
func startingLine(e pipeline.ServiceStarting) string {
	again := ""
	if e.Again {
		again = " again"
	}
	switch service := e.Trials[0].Spec.Service; {
	case service.Simulator != nil:
		return fmt.Sprintf("starting the simulated service%s (profile %s): its figures are a model's, not a GPU's", again, service.Simulator.Profile)
	case service.Process != nil:
		return fmt.Sprintf("starting the service%s: %s", again, service.Process.Commands()[0])
	}
	return ""
}

// commandsOf are the command lines that a run of the plan starts, with the environment variables that the preset sets for them, each once, in the order in which they come first.
func commandsOf(plan *pipeline.Plan) []string {
	var all []string
	seen := map[string]bool{}
	for i := range plan.Trials {
		for _, command := range commandsOfService(plan.Trials[i].Spec.Service) {
			if !seen[command] {
				seen[command] = true
				all = append(all, command)
			}
		}
	}
	return all
}

func commandsOfService(s schema.Service) []string {
	if s.Process == nil {
		return nil
	}
	all := s.Process.Commands()
	for i := range all {
		all[i] = strings.Join(append(s.Process.EnvWords(), all[i]), " ")
	}
	return all
}
