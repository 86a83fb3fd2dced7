package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"sweetspot/runner/measure"
)

const secret = "sk-proj-0123456789abcdefghijklmnop"

func redacting(c *Config) {
	c.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
}

// vllm-project/vllm#45143: credentials were printed. A service may echo the key anywhere, at any length and in any place.
func TestNoSecretReachesARecord(t *testing.T) {
	say := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "http://elsewhere/?key="+secret)
			w.WriteHeader(status)
			play(w, r, text)
		}
	}
	sse := "text/event-stream"
	var handlers []http.HandlerFunc
	for _, echo := range []string{"wrong key " + secret, strings.Repeat(secret+" ", 200)} {
		handlers = append(handlers,
			say(401, "application/json", fmt.Sprintf(`{"error":{"message":%q}}`, echo)),
			say(500, "text/plain", echo),
			say(302, "text/plain", ""),
			say(200, "text/html", echo),
			say(200, "application/json", fmt.Sprintf(`{"error":%q}`, echo)),
			say(200, sse, fmt.Sprintf("data: {\"error\":%q}\n\n", echo)),
			say(200, sse, "event: error\ndata: "+echo+"\n\n"),
			say(200, sse, "data: "+echo+"\n\n"),
			say(200, sse, content(echo)+done),
			say(200, sse, content(strings.Repeat("x", maxSample-10)+echo)+done),
			say(200, sse, fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":%q}]}\n\n", echo)),
		)
	}
	for shift := range maxMessage {
		handlers = append(handlers, say(500, "text/plain", strings.Repeat("x", shift)+strings.Repeat(secret, 60)))
	}
	for i, handler := range handlers {
		inBubble(t, handler, redacting, func(g rig) {
			r, _ := g.send(g.t.Context())
			for _, s := range []string{text(r.Error), text(r.Sample), text(r.FinishReason)} {
				if strings.Contains(s, secret[:10]) {
					g.t.Errorf("response %d: a record holds %q", i, s)
				}
			}
			if len(text(r.Error)) > maxMessage+4 || len(text(r.Sample)) > maxSample+4 || len(text(r.FinishReason)) > maxReason+4 {
				g.t.Errorf("response %d: texts of %d, %d and %d bytes", i, len(text(r.Error)), len(text(r.Sample)), len(text(r.FinishReason)))
			}
		})
	}
}

func TestTheTextsOfARecordAreOneShortLine(t *testing.T) {
	long := strings.Repeat("é\n\x1b[31m", 300)
	inBubble(t, script(fmt.Sprintf("data: {\"error\":%q}\n\n", long)), nil, func(g rig) {
		r, _ := g.send(g.t.Context())
		if strings.ContainsAny(*r.Error, "\n\x1b") || !utf8.ValidString(*r.Error) || len(*r.Error) > maxMessage+4 || !strings.HasSuffix(*r.Error, "…") {
			g.t.Errorf("%d bytes: %q", len(*r.Error), *r.Error)
		}
	})
}

func TestMessages(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"error":{"message":"boom","type":"server_error"}}`, "boom"},
		{`{"error":{"code":500}}`, `{"code":500}`},
		{`{"error":"boom"}`, "boom"},
		{`{"object":"error","message":"boom","code":400}`, "boom"},
		{`{"detail":"Not Found"}`, "Not Found"},
		{`{"detail":[{"msg":"field required"}]}`, `[{"msg":"field required"}]`},
		{`{"error":null,"detail":null}`, `{"error":null,"detail":null}`},
		{`"boom"`, "boom"},
		{" boom\n", "boom"},
		{`{"message":7}`, `{"message":7}`},
		{``, ""},
	} {
		if got := message([]byte(c.body)); got != c.want {
			t.Errorf("message of %s is %q, want %q", c.body, got, c.want)
		}
	}
}

func TestALongRefusalIsNotReadToItsEnd(t *testing.T) {
	sent := 0
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		for sent = 0; sent < 100*maxRefusal && r.Context().Err() == nil; sent += 1000 {
			play(w, r, strings.Repeat("x", 1000))
		}
	}
	inBubble(t, handler, nil, func(g rig) {
		if r, _ := g.send(g.t.Context()); r.Status != measure.HTTPError {
			g.t.Errorf("%s, want http_error", r.Status)
		}
	})
	if sent > 2*maxRefusal {
		t.Errorf("%d bytes of a refusal were read", sent)
	}
}
