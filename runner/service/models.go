package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Model is one that a service offers.
type Model struct {
	ID          string
	MaxModelLen int64 // tokens of its context; 0 where the service does not say
}

// Models are those that the service's /models lists, in its order; at least one.
func (s *Service) Models(ctx context.Context) ([]Model, error) {
	at := s.URLs[0] + "/models"
	answer, err := s.ask(ctx, http.MethodGet, at)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID          string      `json:"id"`
			MaxModelLen json.Number `json:"max_model_len"`
		} `json:"data"`
	}
	switch {
	case answer.status == http.StatusUnauthorized || answer.status == http.StatusForbidden:
		return nil, fmt.Errorf("asking %s: it answers with status %d: it wants a key", safe(at), answer.status)
	case answer.status != http.StatusOK:
		return nil, fmt.Errorf("asking %s: it answers with status %d: is this the base of an OpenAI-compatible API, such as http://127.0.0.1:8000/v1?", safe(at), answer.status)
	case !json.Valid(answer.body):
		return nil, fmt.Errorf("asking %s: its answer is not JSON, and so no list of models", safe(at))
	case !answer.into(&list):
		return nil, fmt.Errorf(`asking %s: its answer is no list of models as the OpenAI API has it, {"data": [{"id": TEXT}]}`, safe(at))
	case len(list.Data) == 0:
		return nil, fmt.Errorf("asking %s: it lists no model", safe(at))
	}
	models := make([]Model, len(list.Data))
	for i, m := range list.Data {
		models[i].ID = m.ID
		if n, err := m.MaxModelLen.Int64(); err == nil {
			models[i].MaxModelLen = n
		}
	}
	return models, nil
}
