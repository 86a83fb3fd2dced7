package service

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func ref[T any](v T) *T { return &v }

// gateway answers each path with what is given, and remembers what it was asked.
func gateway(t *testing.T, answers map[string]string, seen *[]*http.Request) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r)
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Server", "uvicorn")
		if status, body, ok := strings.Cut(answer, "!"); ok && status == "500" {
			w.WriteHeader(http.StatusInternalServerError)
			answer = body
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAnEndpointIsReachedWithItsKey(t *testing.T) {
	var seen []*http.Request
	server := gateway(t, map[string]string{
		"/v1/models":          `{"data":[{"id":"other","max_model_len":1},{"id":"tiny","root":"/models/tiny","max_model_len":4096}]}`,
		"/version":            `{"version":"0.32.0"}`,
		"/reset_prefix_cache": `{"success":true}`,
	}, &seen)
	s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: server.URL + "/v1/", APIKeyEnv: "KEY"}},
		Options{Model: "tiny", LookupEnv: environment(map[string]string{"KEY": "sk-12345"}), Header: http.Header{"X-Team": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{server.URL + "/v1"}, s.URLs); diff != "" || s.APIKey.Reveal() != "sk-12345" {
		t.Errorf("URLs (-want +got):\n%s", diff)
	}
	got, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{Model: ref("tiny"), Root: ref("/models/tiny"), MaxModelLen: ref(int64(4096)), Version: ref("0.32.0"), Server: ref("uvicorn"), Models: []string{"other", "tiny"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	facts := map[string]string{"model": "tiny", "root": "/models/tiny", "max_model_len": "4096", "version": "0.32.0", "server": "uvicorn"}
	if diff := cmp.Diff(facts, got.Facts()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if err := s.ResetPrefixCache(t.Context(), "/reset_prefix_cache"); err != nil {
		t.Error(err)
	}
	for _, r := range seen {
		if r.Header.Get("Authorization") != "Bearer sk-12345" || r.Header.Get("X-Team") != "a" {
			t.Errorf("%s was asked with %v", r.URL, r.Header)
		}
	}
	if err := s.Stop(t.Context()); err != nil || s.Err() != nil {
		t.Errorf("stopping: %v, %v", err, s.Err())
	}
}

func TestWhatAServiceDoesNotSayIsNil(t *testing.T) {
	for name, want := range map[string]struct {
		answers map[string]string
		model   *string
		length  *int64
	}{
		"nothing":              {nil, nil, nil},
		"an error":             {map[string]string{"/v1/models": `500!{"data":[{"id":"tiny"}]}`}, nil, nil},
		"no JSON":              {map[string]string{"/v1/models": "<html>", "/version": "7"}, nil, nil},
		"no length":            {map[string]string{"/v1/models": `{"data":[{"id":"tiny"}]}`}, ref("tiny"), nil},
		"a null length":        {map[string]string{"/v1/models": `{"data":[{"id":"tiny","max_model_len":null}]}`}, ref("tiny"), nil},
		"the only one":         {map[string]string{"/v1/models": `{"data":[{"id":"renamed","max_model_len":8}]}`}, ref("renamed"), ref(int64(8))},
		"two others":           {map[string]string{"/v1/models": `{"data":[{"id":"a"},{"id":"b"}]}`}, nil, nil},
		"a list that is empty": {map[string]string{"/v1/models": `{"data":[]}`}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []*http.Request
			server := gateway(t, want.answers, &seen)
			s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: server.URL + "/v1"}}, Options{Model: "tiny"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got.Server, got.Models = nil, nil
			if diff := cmp.Diff(Identity{Model: want.model, MaxModelLen: want.length}, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
			for _, r := range seen {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("%s was asked with %v", r.URL, r.Header)
				}
			}
		})
	}
}

func TestACacheThatIsNotResetIsAnError(t *testing.T) {
	for want, answers := range map[string]map[string]string{
		"has no /reset_prefix_cache (vLLM has /reset_prefix_cache only with VLLM_SERVER_DEV_MODE=1): set the hook that it has in request.reset_prefix_cache": nil,
		"answers with status 500": {"/reset_prefix_cache": "500!"},
		"says that it did not":    {"/reset_prefix_cache": `{"success":false}`},
		"":                        {"/reset_prefix_cache": ""},
	} {
		var seen []*http.Request
		server := gateway(t, answers, &seen)
		s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: server.URL + "/v1"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ResetPrefixCache(t.Context(), "/reset_prefix_cache"); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAServiceThatCantBeReachedIsAnErrorWithoutSecrets(t *testing.T) {
	var seen []*http.Request
	server := gateway(t, nil, &seen)
	url := strings.Replace(server.URL, "http://", "http://alice:open-sesame@", 1) + "/v1"
	server.Close()
	s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: url}}, Options{Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	_, asked := s.Identity(t.Context())
	for _, err := range []error{asked, s.ResetPrefixCache(t.Context(), "/reset_prefix_cache")} {
		if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("got %v", err)
		}
		if err != nil && (strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "alice")) {
			t.Errorf("the error tells: %v", err)
		}
	}
}

func TestTheSimulatedServiceSaysWhatItIs(t *testing.T) {
	s := start(t, Options{})
	got, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{Model: ref("tiny"), Root: ref("tiny"), MaxModelLen: ref(int64(4096)), Version: ref("sweetspot-simulator/cpu"),
		Server: ref("sweetspot-simulator"), Models: []string{"tiny"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	if err := s.ResetPrefixCache(t.Context(), "/reset_prefix_cache"); err != nil {
		t.Error(err)
	}
}

// replicas are two servers whose answers a test changes, as one endpoint.
func replicas(t *testing.T) (s *Service, first, second map[string]string) {
	t.Helper()
	var seen []*http.Request
	answers := func() map[string]string {
		return map[string]string{"/v1/models": `{"data":[{"id":"tiny","max_model_len":4096}]}`, "/version": `{"version":"0.32.0"}`}
	}
	first, second = answers(), answers()
	a, b := gateway(t, first, &seen), gateway(t, second, &seen)
	s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: a.URL + "/v1", Replicas: []string{b.URL + "/v1/"}}}, Options{Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.URLs) != 2 || s.URLs[1] != b.URL+"/v1" {
		t.Fatalf("URLs %q", s.URLs)
	}
	return s, first, second
}

func TestReplicasThatAreNotAlikeAreSaid(t *testing.T) {
	s, _, second := replicas(t)
	identities, err := s.Identities(t.Context())
	if err != nil || s.Unlike(identities) != nil {
		t.Errorf("equal replicas: %v, %v", err, s.Unlike(identities))
	}
	want := map[string]string{
		"url_0": s.URLs[0], "model": "tiny", "max_model_len": "4096", "version": "0.32.0", "server": "uvicorn",
		"url_1": s.URLs[1], "url_1_model": "tiny", "url_1_max_model_len": "4096", "url_1_version": "0.32.0", "url_1_server": "uvicorn",
	}
	if diff := cmp.Diff(want, s.FactsOf(identities)); diff != "" {
		t.Errorf("facts (-want +got)\n%s", diff)
	}
	second["/version"] = `{"version":"0.31.0"}`
	second["/v1/models"] = `{"data":[{"id":"tiny","max_model_len":4096},{"id":"more"}]}`
	if identities, err = s.Identities(t.Context()); err != nil {
		t.Fatal(err)
	}
	notes := []string{s.URLs[1] + " is not what " + s.URLs[0] + ` is: models "more, tiny" against "tiny"; version "0.31.0" against "0.32.0"`}
	if diff := cmp.Diff(notes, s.Unlike(identities)); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

func TestAChangeOfIdentityIsSaidWithBoth(t *testing.T) {
	for name, test := range map[string]struct {
		path, answer, want string
	}{
		"version":           {"/version", `{"version":"0.33.0"}`, `: version was "0.32.0" and is "0.33.0"`},
		"context":           {"/v1/models", `{"data":[{"id":"tiny","max_model_len":8192}]}`, `: max_model_len was "4096" and is "8192"`},
		"model":             {"/v1/models", `{"data":[{"id":"other"}]}`, `: model was "tiny" and is "other"`},
		"model of several":  {"/v1/models", `{"data":[{"id":"a"},{"id":"b"}]}`, `: model was "tiny" and is none of ["a" "b"]`},
		"another beside it": {"/v1/models", `{"data":[{"id":"tiny","max_model_len":4096},{"id":"b"}]}`, ""},
		"no answer":         {"/version", "500!busy", ""},
		"nothing":           {"/version", `{"version":"0.32.0"}`, ""},
	} {
		s, _, second := replicas(t)
		if err := s.Changed(t.Context()); err != nil {
			t.Errorf("%s: before it was asked: %v", name, err)
		}
		if _, err := s.Identities(t.Context()); err != nil {
			t.Fatal(err)
		}
		second[test.path] = test.answer
		if _, err := s.Identities(t.Context()); err != nil { // as before the next trial: the first answers count
			t.Fatal(err)
		}
		err := s.Changed(t.Context())
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || err.Error() != "the service at "+s.URLs[1]+" is not the one that the run began with"+test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}
