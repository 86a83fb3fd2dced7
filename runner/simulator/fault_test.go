package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {}

const streamed = `"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}`

// faulty is a rig of which every request goes wrong.
func faulty(t *testing.T, f schema.Fault) *rig {
	cfg := flat()
	f.Probability = 1
	cfg.Faults = []schema.Fault{f}
	if err := checkFault(f); err != nil {
		t.Fatal(err)
	}
	return newRig(t, cfg, nil)
}

// brief says of each event what it is, and when it came.
func brief(events []seen) (out []string) {
	for _, e := range events {
		kind := "other"
		switch {
		case e.data == "[DONE]":
			kind = "done"
		case e.err:
			kind = "error"
		case e.usage != nil:
			kind = "usage"
		case e.delta.Role != "":
			kind = "role"
		case e.delta.Content != "":
			kind = "token"
		}
		out = append(out, kind+"@"+e.at.String())
	}
	return out
}

func TestFaultsOfAStream(t *testing.T) {
	for _, want := range []struct {
		fault  schema.Fault
		events []string
		err    error // of reading the stream
		tokens int   // in the log
	}{
		{schema.Fault{Kind: "slow_headers", Delay: schema.Duration(time.Second)},
			[]string{"role@1s", "token@1.01s", "token@1.02s", "token@1.03s", "token@1.04s", "token@1.05s", "usage@1.05s", "done@1.05s"}, nil, 5},
		{schema.Fault{Kind: "stall", Delay: schema.Duration(time.Second), AfterTokens: 2},
			[]string{"role@0s", "token@10ms", "token@20ms", "token@1.03s", "token@1.03s", "token@1.03s", "usage@1.03s", "done@1.03s"}, nil, 5},
		{schema.Fault{Kind: "stall", Delay: schema.Duration(time.Second), AfterTokens: 99},
			[]string{"role@0s", "token@10ms", "token@20ms", "token@30ms", "token@40ms", "token@50ms", "usage@1.05s", "done@1.05s"}, nil, 5},
		{schema.Fault{Kind: "stream_error", AfterTokens: 1},
			[]string{"role@0s", "token@10ms", "error@20ms", "done@20ms"}, nil, 1},
		{schema.Fault{Kind: "cut"}, []string{"role@0s"}, io.ErrUnexpectedEOF, 0},
		{schema.Fault{Kind: "cut", AfterTokens: 2}, []string{"role@0s", "token@10ms", "token@20ms"}, io.ErrUnexpectedEOF, 2},
		{schema.Fault{Kind: "cut", AfterTokens: 99},
			[]string{"role@0s", "token@10ms", "token@20ms", "token@30ms", "token@40ms", "token@50ms"}, io.ErrUnexpectedEOF, 5},
		{schema.Fault{Kind: "empty"}, []string{"role@0s", "other@10ms", "usage@10ms", "done@10ms"}, nil, 0},
		{schema.Fault{Kind: "garbage", AfterTokens: 3},
			[]string{"role@0s", "token@10ms", "token@20ms", "token@30ms", "error@40ms", "token@40ms", "token@50ms", "usage@50ms", "done@50ms"}, nil, 5},
	} {
		t.Run(want.fault.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := faulty(t, want.fault)
				events, err := r.stream(chatPath, ask(streamed))
				if !errors.Is(err, want.err) {
					t.Errorf("reading ended with %v, want %v", err, want.err)
				}
				if diff := cmp.Diff(want.events, brief(events)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				entry := r.readLog().Requests[0]
				if entry.OutputTokens != want.tokens || len(entry.Events) != len(want.events) {
					t.Errorf("the log has %d tokens in %d events, want %d in %d", entry.OutputTokens, len(entry.Events), want.tokens, len(want.events))
				}
				if diff := cmp.Diff([]string{want.fault.Kind}, entry.Faults); diff != "" {
					t.Errorf("faults in the log (-want +got):\n%s", diff)
				}
				if got := r.server.backend.status(); got.running+got.waiting != 0 || got.cacheUsage != 0 {
					t.Errorf("the model still holds it: %+v", got)
				}
			})
		})
	}
}

func TestAnEmptyAnswerSaysThatItHasNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "empty"})
		events, err := r.stream(chatPath, ask(streamed))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(events[1].data, `"finish_reason":"stop"`) || events[2].usage.Completion != 0 || events[2].usage.Prompt != 12 {
			t.Errorf("events %+v", events)
		}
		if got := text(t, r.post(chatPath, ask(`"max_tokens":5`))); !strings.Contains(got, `"content":""`) || !strings.Contains(got, `"completion_tokens":0`) {
			t.Errorf("in one piece: %s", got)
		}
	})
}

func TestUsageOfZeroStandsBesideTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "zero_usage"})
		events, err := r.stream(chatPath, ask(streamed))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&wireUsage{}, events[6].usage); diff != "" || len(events) != 8 {
			t.Errorf("%d events, usage (-want +got):\n%s", len(events), diff)
		}
	})
}

func TestHTTPErrors(t *testing.T) {
	for status, want := range map[int64]int{0: 500, 429: 429, 503: 503} {
		synctest.Test(t, func(t *testing.T) {
			r := faulty(t, schema.Fault{Kind: "http_error", Status: status})
			resp := r.post(chatPath, ask(streamed))
			var got struct{ Error apiError }
			if err := json.Unmarshal([]byte(text(t, resp)), &got); err != nil || resp.StatusCode != want || got.Error.Code != want {
				t.Errorf("status %d: got %d %+v, %v", status, resp.StatusCode, got, err)
			}
			if entry := r.readLog().Requests[0]; entry.HTTPStatus != want || entry.Outcome != outcomeFault {
				t.Errorf("the log has %+v", entry)
			}
		})
	}
}

func TestARefusedRequestGetsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "refuse"})
		resp, err := r.try(t.Context(), chatPath, ask(streamed))
		if err == nil {
			t.Errorf("got an answer: %s", resp.Status)
		}
		if entry := r.readLog().Requests[0]; entry.HTTPStatus != 0 || entry.Outcome != outcomeFault || !entry.Read.Happened() {
			t.Errorf("the log has %+v", entry)
		}
	})
}

func TestFaultsOfAnAnswerInOnePiece(t *testing.T) {
	const asked = `"max_tokens":5`
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "stream_error"})
		resp := r.post(chatPath, ask(asked))
		if text(t, resp); resp.StatusCode != 500 {
			t.Errorf("stream_error: %s", resp.Status)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "cut"})
		resp := r.post(chatPath, ask(asked))
		if got, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 {
			t.Errorf("cut: %d bytes, %v", len(got), err)
		}
		resp.Body.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "garbage"})
		if got := text(t, r.post(chatPath, ask(asked))); json.Valid([]byte(got)) {
			t.Errorf("garbage: %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := faulty(t, schema.Fault{Kind: "stall", Delay: schema.Duration(time.Second)})
		began := time.Now()
		r.post(chatPath, ask(asked)).Body.Close()
		if took := time.Since(began); took != 1050*time.Millisecond {
			t.Errorf("stall: took %v", took)
		}
	})
}

// https://github.com/vllm-project/vllm/pull/51172: an event may be split anywhere, and the read that ends one may begin the next.
func TestASplitStreamHoldsTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := newRig(t, flat(), nil)
		want := text(t, whole.post(chatPath, ask(streamed), "X-Request-Id", "a"))
		r := faulty(t, schema.Fault{Kind: "split"})
		resp := r.post(chatPath, ask(streamed), "X-Request-Id", "a")
		var got []byte
		ends, starts := 0, 0
		for buf := make([]byte, 4096); ; {
			n, err := resp.Body.Read(buf)
			got = append(got, buf[:n]...)
			if n > 0 && !bytes.HasSuffix(buf[:n], []byte("\n\n")) {
				ends++
			}
			if n > 0 && !bytes.HasPrefix(buf[:n], []byte("data: ")) {
				starts++
			}
			if err != nil {
				break
			}
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("bytes (-whole +split):\n%s", diff)
		}
		if ends == 0 || starts == 0 {
			t.Errorf("%d reads end and %d begin inside an event", ends, starts)
		}
		entry := r.readLog().Requests[0]
		if entry.OutputTokens != 5 || len(entry.Events) != 8 {
			t.Errorf("the log has %d tokens in %d events, want 5 in 8", entry.OutputTokens, len(entry.Events))
		}
		for i, e := range entry.Events {
			if !e.At.Happened() || i > 0 && e.At < entry.Events[i-1].At {
				t.Errorf("event %d of the log is stamped %d", i, e.At)
			}
		}
	})
}

func TestFaultsAreChosenByOrdinalProbabilityAndLoad(t *testing.T) {
	faults := []schema.Fault{
		{Kind: "http_error", Status: 429, FromRequest: 3, ToRequest: 5, Probability: 1},
		{Kind: "empty", FromRequest: 8, Probability: 1},
		{Kind: "cut", InFlight: 4, Probability: 1},
		{Kind: "stall", Probability: 0},
	}
	for _, want := range []struct {
		ordinal, inFlight int64
		kinds             []string
	}{
		{1, 1, nil}, {2, 3, nil}, {3, 1, []string{"http_error"}}, {5, 1, []string{"http_error"}}, {6, 1, nil},
		{7, 4, []string{"cut"}}, {8, 1, []string{"empty"}}, {1000, 9, []string{"empty", "cut"}},
	} {
		if diff := cmp.Diff(want.kinds, troubleFor(faults, 1, want.ordinal, want.inFlight).kinds); diff != "" {
			t.Errorf("request %d with %d in flight (-want +got):\n%s", want.ordinal, want.inFlight, diff)
		}
	}
}

func TestAProbabilityIsMetAndSeeded(t *testing.T) {
	faults := []schema.Fault{{Kind: "cut", Probability: 0.3}, {Kind: "empty", Probability: 0.3}}
	hits := func(seed int64) (cut []bool, both int) {
		for n := range int64(10000) {
			k := troubleFor(faults, seed, n+1, 1)
			cut = append(cut, k.cut)
			if k.cut && k.empty {
				both++
			}
		}
		return cut, both
	}
	one, both := hits(1)
	hit := 0
	for _, h := range one {
		if h {
			hit++
		}
	}
	if hit < 2800 || hit > 3200 {
		t.Errorf("%d of 10000 requests were hit with a probability of 0.3", hit)
	}
	if both < 800 || both > 1000 {
		t.Errorf("two faults hit %d of 10000 together, want near 900: they must be drawn apart", both)
	}
	if again, _ := hits(1); !cmp.Equal(one, again) {
		t.Error("the same seed hit other requests")
	}
	if other, _ := hits(2); cmp.Equal(one, other) {
		t.Error("another seed hit the same requests")
	}
}
