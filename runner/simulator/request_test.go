package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"sweetspot/runner/clock"
)

func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		ask(`"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}`), ask(`"max_tokens":-1`), ask(`"max_tokens":1e99`),
		`{"prompt":"Once","max_completion_tokens":9}`, `{"prompt":[1,2]}`, `{"prompt":[[1]]}`, `{"prompt":["a"]}`, `{"prompt":[[]]}`, `{"prompt":[null]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}],"tool_calls":[{}]}],"tools":null,"cache_salt":""}`,
		`{"messages":[null]}`, `null`, `[`, ``, "\xff", `{"temperature":-0.0,"n":null}`,
	} {
		f.Add(true, []byte(seed))
		f.Add(false, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, chat bool, body []byte) {
		kind := apiCompletions
		if chat {
			kind = apiChat
		}
		r, bad := decodeRequest(body, kind, "tiny", 256)
		if bad != nil {
			if bad.Code < 400 || bad.Code > 499 || bad.Message == "" {
				t.Errorf("refused with %+v", bad)
			}
			if _, err := json.Marshal(bad); err != nil {
				t.Error(err)
			}
			return
		}
		if len(r.prompt) < 1 || r.maxTokens < 1 || len(r.prompt)+r.maxTokens > 256 {
			t.Errorf("taken with %d prompt tokens and %d to come", len(r.prompt), r.maxTokens)
		}
		if r.continuousUsage && !r.includeUsage || r.includeUsage && !r.stream {
			t.Errorf("taken as %+v", r)
		}
	})
}

func TestABodyThatIsTooLargeIsRefused(t *testing.T) {
	s := newServer(flat(), "test", Options{Model: "tiny", Clock: clock.New()})
	defer s.Close()
	s.mostBody = 1000
	for _, path := range []string{chatPath, "/tokenize"} {
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, strings.NewReader(strings.Repeat(" ", 1001))))
		var got struct{ Error apiError }
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || recorder.Code != http.StatusRequestEntityTooLarge ||
			!strings.Contains(got.Error.Message, "too large") {
			t.Errorf("%s: %d %s", path, recorder.Code, recorder.Body)
		}
	}
}

func TestAClosedServiceRefusesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(flat(), "test", Options{Model: "tiny", Clock: clock.New()})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, chatPath, strings.NewReader(ask(`"max_tokens":1`))))
		if recorder.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d", recorder.Code)
		}
	})
}
