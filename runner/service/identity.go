package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Identity is what a service says of itself. What it does not say is nil.
type Identity struct {
	Model       *string  `json:"model"`         // id of the model that is asked for, or of the only one, as /models lists it
	Root        *string  `json:"root"`          // what that model was made from
	MaxModelLen *int64   `json:"max_model_len"` // tokens of its context
	Version     *string  `json:"version"`       // of the serving software
	Server      *string  `json:"server"`        // header of the same name
	Models      []string `json:"models"`        // ids of all models that it lists, in order
}

// Facts are the parts of i that are not nil, as text, by their names in JSON.
func (i Identity) Facts() map[string]string {
	facts := map[string]string{}
	for name, value := range map[string]*string{"model": i.Model, "root": i.Root, "version": i.Version, "server": i.Server} {
		if value != nil {
			facts[name] = *value
		}
	}
	if i.MaxModelLen != nil {
		facts["max_model_len"] = strconv.FormatInt(*i.MaxModelLen, 10)
	}
	return facts
}

// mostAnswer bounds what is read of an answer: a gateway may list many models.
const mostAnswer = 4 << 20

// Identity asks the first URL of the service what it is: the list of its models, and its version. An answer that is not understood, an HTTP
// error among them, leaves nil; no answer is an error.
func (s *Service) Identity(ctx context.Context) (Identity, error) {
	return s.identityAt(ctx, s.URLs[0])
}

func (s *Service) identityAt(ctx context.Context, base string) (Identity, error) {
	var i Identity
	var list struct {
		Data []struct {
			ID          string      `json:"id"`
			Root        *string     `json:"root"`
			MaxModelLen json.Number `json:"max_model_len"`
		} `json:"data"`
	}
	answer, err := s.ask(ctx, http.MethodGet, base+"/models")
	if err != nil {
		return i, err
	}
	if server := answer.header.Get("Server"); server != "" {
		i.Server = &server
	}
	if answer.into(&list) {
		i.Models = []string{}
		for _, m := range list.Data {
			i.Models = append(i.Models, m.ID)
		}
		slices.Sort(i.Models)
		for _, m := range list.Data {
			if m.ID != s.model && len(list.Data) > 1 {
				continue
			}
			i.Model, i.Root = &m.ID, m.Root
			if n, err := m.MaxModelLen.Int64(); err == nil && n > 0 {
				i.MaxModelLen = &n
			}
			break
		}
	}
	if answer, err = s.ask(ctx, http.MethodGet, root(base)+"/version"); err != nil {
		return i, err
	}
	var version struct {
		Version *string `json:"version"`
	}
	if answer.into(&version) {
		i.Version = version.Version
	}
	return i, nil
}

// ResetPrefixCache has each URL of the service forget the prompts that it has seen, by a POST to a path of its host.
func (s *Service) ResetPrefixCache(ctx context.Context, path string) error {
	for _, u := range s.URLs {
		answer, err := s.ask(ctx, http.MethodPost, root(u)+path)
		switch {
		case err != nil:
			return err
		case answer.status == http.StatusNotFound:
			return fmt.Errorf("resetting the prefix cache: %s has no %s (vLLM has /reset_prefix_cache only with VLLM_SERVER_DEV_MODE=1): set the hook that it has in request.reset_prefix_cache, or leave that out", safe(u), path)
		case answer.status/100 != 2:
			return fmt.Errorf("resetting the prefix cache: %s answers with status %d", safe(u), answer.status)
		}
		var done struct {
			Success *bool `json:"success"`
		}
		if answer.into(&done) && done.Success != nil && !*done.Success {
			return fmt.Errorf("resetting the prefix cache: %s says that it did not, as it does while requests run", safe(u))
		}
	}
	return nil
}

// answer is what the service answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into reads the answer as JSON, and is false where it is none.
func (a answer) into(v any) bool {
	return a.status == http.StatusOK && json.Unmarshal(a.body, v) == nil
}

func (s *Service) ask(ctx context.Context, method, at string) (answer, error) {
	return s.send(ctx, s.client, method, at, nil)
}

// send asks with a body, JSON, which may be nil.
func (s *Service) send(ctx context.Context, by *http.Client, method, at string, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("asking the service: %w", err)
	}
	if s.header != nil {
		request.Header = s.header.Clone()
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key := s.APIKey.Reveal(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := by.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("asking %s: %w", safe(at), cause(err))
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("reading the answer of %s: %w", safe(at), err)
	}
	return answer{response.StatusCode, response.Header, read}, nil
}

// root is where the server's own paths lie, beside the API's.
func root(base string) string { return strings.TrimSuffix(base, "/v1") }

// safe is a URL without its userinfo.
func safe(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "the service"
	}
	u.User = nil
	return u.String()
}

// cause is an error of the HTTP client without the URL, which may hold a secret.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
