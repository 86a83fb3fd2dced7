package service

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func TestModelsListsWhatTheServiceOffers(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       []Model
		fault      string
	}{
		{"two", `{"data":[{"id":"a","max_model_len":4096},{"id":"b"}]}`, 200, []Model{{"a", 4096}, {"b", 0}}, ""},
		{"none", `{"data":[]}`, 200, nil, "lists no model"},
		{"no JSON", `<html>`, 200, nil, "its answer is not JSON"},
		{"cut off", `{"data":[{"id":"a"`, 200, nil, "its answer is not JSON"},
		{"empty", ``, 200, nil, "its answer is not JSON"},
		{"a number", `{"data":[{"id":7}]}`, 200, nil, "its answer is no list of models"},
		{"another list", `["a"]`, 200, nil, "its answer is no list of models"},
		{"no list", `{"object":"error"}`, 200, nil, "lists no model"},
		{"not found", ``, 404, nil, "is this the base of an OpenAI-compatible API"},
		{"no key", ``, 401, nil, "it wants a key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer server.Close()
			s, err := Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: server.URL + "/v1"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Models(t.Context())
			if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Errorf("error %v, want one that says %q", err, c.fault)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
