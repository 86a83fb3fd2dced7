package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How long a service that does not answer yet is left alone, at first and at most: the pause doubles.
const (
	leastPause = 20 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// completionTimeout bounds the first completion: services compile what they need for it.
const completionTimeout = 2 * time.Minute

// awaitAnswer asks the service until it answers: at path, then with a completion of one token. It is then empty; else, once ctx or over ends the
// waiting, why it does not.
func (s *Service) awaitAnswer(ctx context.Context, path string, over <-chan struct{}) (why string) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { // an answer under way is not waited for
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel()
	why = "it was not asked yet"
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		said := s.answers(ctx, path)
		if said == "" {
			return ""
		}
		if ctx.Err() == nil {
			why = said
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return why
		}
	}
}

// answers is empty where the service can be driven, and else says why it can't.
func (s *Service) answers(ctx context.Context, path string) string {
	up, err := s.ask(ctx, http.MethodGet, root(s.URLs[0])+path)
	switch {
	case err != nil:
		return err.Error()
	case up.status/100 != 2 && up.status != http.StatusNotFound && up.status != http.StatusMethodNotAllowed &&
		up.status != http.StatusUnauthorized && up.status != http.StatusForbidden:
		return fmt.Sprintf("%s answers with status %d", path, up.status)
	}
	completion, err := s.complete(ctx)
	switch {
	case err != nil:
		return err.Error()
	case comesUp(completion):
		return fmt.Sprintf("a completion is answered with status %d", completion.status)
	}
	s.count(completion)
	return ""
}

// comesUp reports whether an answer says that the service is not up yet: what it refuses otherwise is said with advice by the preflight.
func comesUp(a answer) bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotFound: // of a gateway before it, or of a model
		return !json.Valid(a.body)
	}
	return a.status >= http.StatusInternalServerError
}

// complete asks for one token.
func (s *Service) complete(ctx context.Context) (answer, error) {
	at, field := "/chat/completions", s.request.MaxTokensField
	body := map[string]any{"model": s.model, "messages": []any{map[string]any{"role": "user", "content": "Hello"}}}
	if s.request.API == "completions" {
		at, body = "/completions", map[string]any{"model": s.model, "prompt": "Hello"}
	}
	if field == "" {
		field = "max_tokens"
	}
	for name, value := range s.request.ExtraBody {
		body[name] = value
	}
	body[field] = 1
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("writing a completion: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	patient := *s.client
	patient.Timeout = 0
	return s.send(ctx, &patient, http.MethodPost, s.URLs[0]+at, text)
}

// count keeps what the service was asked before it was ready.
func (s *Service) count(completion answer) {
	var said struct {
		Usage struct {
			Prompt json.Number `json:"prompt_tokens"`
			Output json.Number `json:"completion_tokens"`
		} `json:"usage"`
	}
	decoder := json.NewDecoder(bytes.NewReader(completion.body))
	decoder.UseNumber()
	s.facts["ready_requests"] = "1"
	if decoder.Decode(&said) != nil {
		return
	}
	for name, n := range map[string]json.Number{"ready_prompt_tokens": said.Usage.Prompt, "ready_output_tokens": said.Usage.Output} {
		if count, err := strconv.ParseInt(strings.TrimSpace(n.String()), 10, 64); err == nil {
			s.facts[name] = strconv.FormatInt(count, 10)
		}
	}
}
