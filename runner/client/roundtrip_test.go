package client

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// The time of a round trip is the least of a few, each on a connection that was used before, and a service that does not answer is left alone.
func TestRoundTrip(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter, r *http.Request)
		want   string
		asked  int
	}{
		{"the least", func(n int, w http.ResponseWriter, _ *http.Request) {
			time.Sleep([]time.Duration{time.Millisecond, 7 * time.Millisecond, 5 * time.Millisecond, 9 * time.Millisecond}[n])
			io.WriteString(w, listing)
		}, "0.005", 4},
		{"a new connection each time", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			io.WriteString(w, listing)
		}, "null", 4},
		{"no such page", func(_ int, w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such page", http.StatusNotFound)
		}, "null", 2},
		{"no listing", func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, "null", 2},
		{"no answer", func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "null", 2},
		{"no end", func(_ int, w http.ResponseWriter, _ *http.Request) {
			for range 10000 {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		}, "null", 2},
		{"an answer late", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 2 {
				<-r.Context().Done()
				return
			}
			time.Sleep(4 * time.Millisecond)
			io.WriteString(w, listing)
		}, "0.004", 3},
	} {
		var asked atomic.Int64
		handler := func(w http.ResponseWriter, r *http.Request) {
			if r.Method+r.URL.Path != "GET/v1/models" {
				t.Errorf("%s: asked %s %s", test.name, r.Method, r.URL.Path)
			}
			test.answer(int(asked.Add(1))-1, w, r)
		}
		inBubble(t, handler, nil, func(g rig) {
			got := "null"
			if took := g.client.RoundTrip(g.t.Context()); took != nil {
				got = fmt.Sprint(*took)
			}
			if n := int(asked.Load()); got != test.want || n != test.asked {
				t.Errorf("%s: %s s after %d requests, want %s after %d", test.name, got, n, test.want, test.asked)
			}
		})
	}
}
