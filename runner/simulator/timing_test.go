package simulator

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
)

// times are when events came, in milliseconds.
func times(events []seen) (out []int64) {
	for _, e := range events {
		out = append(out, e.at.Milliseconds())
	}
	return out
}

// https://github.com/vllm-project/vllm/issues/15106: a client that takes the first event for the first token is far off here.
func TestTheRoleComesLongBeforeTheFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.Cost.PrefillToken = time.Millisecond
		r := newRig(t, cfg, nil)
		events, err := r.stream(chatPath, ask(`"max_tokens":3,"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		// 12 prompt tokens at 1 ms and a step of 10 ms, then a step a token; the end follows the last token at once.
		if diff := cmp.Diff([]int64{0, 22, 32, 42, 42}, times(events)); diff != "" {
			t.Errorf("ms after the request (-want +got):\n%s", diff)
		}
	})
}

func TestALaterRequestJoinsTheBatchAtTheNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		first := r.post(completionsPath, `{"prompt":"one","max_tokens":5,"stream":true}`)
		time.Sleep(13 * time.Millisecond)
		events, err := r.stream(completionsPath, `{"prompt":"two","max_tokens":2,"stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		// It came 3 ms into the second step, so the third, from 20 to 30 ms, is its first.
		if diff := cmp.Diff([]int64{17, 27, 27}, times(events)); diff != "" {
			t.Errorf("ms after the request (-want +got):\n%s", diff)
		}
		first.Body.Close()
	})
}

func TestRequestsBeyondMaxNumSeqsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.MaxNumSeqs = 1
		r := newRig(t, cfg, nil)
		open := r.post(completionsPath, `{"prompt":"one","max_tokens":10,"stream":true}`)
		synctest.Wait()
		events, err := r.stream(completionsPath, `{"prompt":"two","max_tokens":2,"stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{110, 120, 120}, times(events)); diff != "" {
			t.Errorf("ms after the request (-want +got):\n%s", diff)
		}
		open.Body.Close()
	})
}

func TestPacedEventsAreOnTimeWhateverTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), &Paced{FirstToken: 100 * time.Millisecond, Interval: 50 * time.Millisecond, Tokens: 4})
		for range 20 { // more than max_num_seqs, and than the KV cache holds
			defer r.post(completionsPath, `{"prompt":"other","max_tokens":200,"stream":true}`).Body.Close()
		}
		for _, more := range []string{`"max_tokens":100`, `"max_tokens":4`, `"stop":null`} {
			events, err := r.stream(chatPath, ask(more+`,"stream":true,"stream_options":{"include_usage":true}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{0, 100, 150, 200, 250, 250, 250}, times(events)); diff != "" {
				t.Errorf("%s: ms after the request (-want +got):\n%s", more, diff)
			}
			if u := events[5].usage; u.Completion != 4 || u.Details != nil {
				t.Errorf("%s: usage %+v", more, u)
			}
		}
		events, err := r.stream(chatPath, ask(`"max_tokens":2,"stream":true`))
		if diff := cmp.Diff([]int64{0, 100, 150, 150}, times(events)); diff != "" || err != nil {
			t.Errorf("fewer asked for: %v, ms after the request (-want +got):\n%s", err, diff)
		}
	})
}

func TestPacedCountsTheTokensItMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), &Paced{FirstToken: time.Millisecond, Interval: time.Millisecond})
		r.post(completionsPath, `{"prompt":"one two","max_tokens":7}`).Body.Close()
		if _, err := r.stream(completionsPath, `{"prompt":"one two","max_tokens":5,"stream":true}`); err != nil {
			t.Fatal(err)
		}
		if got := r.server.backend.status(); got != (status{totals: totals{prompted: 6, generated: 12}}) {
			t.Errorf("status %+v", got)
		}
	})
}

func TestAClientThatGoesTakesItsRequestOutOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.MaxNumSeqs = 1
		r := newRig(t, cfg, nil)
		ctx, cancel := context.WithCancel(context.Background())
		for range 2 { // one runs, one waits
			resp, err := r.try(ctx, chatPath, ask(`"max_tokens":200,"stream":true`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
		time.Sleep(35 * time.Millisecond)
		if got := r.server.backend.status(); got.running != 1 || got.waiting != 1 || got.cacheUsage == 0 {
			t.Errorf("before: %+v", got)
		}
		cancel()
		synctest.Wait()
		if got := r.server.backend.status(); got.running != 0 || got.waiting != 0 || got.cacheUsage != 0 || got.generated != 3 {
			t.Errorf("after: %+v", got)
		}
		for _, entry := range r.readLog().Requests {
			if entry.Outcome != outcomeAborted || entry.HTTPStatus != 200 {
				t.Errorf("the log has %+v", entry)
			}
		}
		got := text(t, metricsOf(r))
		if want := `vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"} 2`; !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	})
}

// metricsOf scrapes a service that no longer serves.
func metricsOf(r *rig) *http.Response {
	recorder := newRecorder()
	r.server.metrics.handler().ServeHTTP(recorder, &http.Request{Header: http.Header{}})
	return &http.Response{Body: io.NopCloser(&recorder.body)}
}

func TestTheLogHoldsWhatTheClientSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := flat()
		cfg.ReasoningTokens = 1
		r := newRig(t, cfg, nil)
		began := r.clock.Now()
		events, err := r.stream(chatPath, ask(`"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}`), "X-Request-Id", "abc")
		if err != nil {
			t.Fatal(err)
		}
		r.post(completionsPath, `{"prompt":"one","max_tokens":6}`).Body.Close()
		log := r.readLog()
		if log.ClockID != r.clock.ID() || log.Model != "tiny" || len(log.Requests) != 2 {
			t.Fatalf("the log is %+v", log)
		}
		entry := log.Requests[0]
		var kinds []string
		var stamps []int64
		for _, e := range entry.Events {
			kinds = append(kinds, e.Kind)
			stamps = append(stamps, e.At.Sub(began).Milliseconds())
		}
		if diff := cmp.Diff([]string{"role", "reasoning", "content", "content", "usage", "done"}, kinds); diff != "" {
			t.Errorf("kinds (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(times(events), stamps); diff != "" {
			t.Errorf("stamps (-client +log):\n%s", diff)
		}
		first, ok := entry.FirstToken()
		if !ok || first != entry.Events[1] {
			t.Errorf("first token %+v", first)
		}
		entry.Events = nil
		want := LogRequest{ID: "abc", Ordinal: 1, Stream: true, Read: began, Ended: began.Add(30 * time.Millisecond), HTTPStatus: 200, Outcome: "ok",
			PromptTokens: 12, OutputTokens: 3}
		if diff := cmp.Diff(want, entry); diff != "" {
			t.Errorf("entry (-want +got):\n%s", diff)
		}
		if whole := log.Requests[1]; whole.ID != "2" || whole.OutputTokens != 6 || len(whole.Events) != 1 || whole.Events[0].Kind != "body" {
			t.Errorf("the answer in one piece is %+v", whole)
		}
	})
}

func TestTheLogSaysWhatThePrefixCacheHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		prompt := strings.Repeat("one two three ", 15) // 45 words and more tokens: three blocks of 16 are shared
		for range 2 {
			r.post(completionsPath, `{"prompt":"`+prompt+`","max_tokens":2}`).Body.Close()
		}
		log := r.readLog()
		first, second := log.Requests[0], log.Requests[1]
		if first.CachedTokens != 0 || second.CachedTokens == 0 || second.CachedTokens%16 != 0 || second.CachedTokens > second.PromptTokens {
			t.Errorf("of %d prompt tokens the cache had %d, then %d", second.PromptTokens, first.CachedTokens, second.CachedTokens)
		}
	})
}

func TestALogThatWasCutOffIsReadAsFarAsItGoes(t *testing.T) {
	whole := `{"format":"sweetspot-simulator-log/1","clock_id":"c","model":"m"}` + "\n" + `{"request_id":"a"}` + "\n"
	for _, want := range []struct {
		name, text string
		requests   int
		err        string
	}{
		{"whole", whole, 1, ""},
		{"cut", whole + `{"request_id":`, 1, "reading request 2 of the service's log"},
		{"empty", "", 0, "reading the header"},
		{"other", `{"format":"x"}`, 0, `is of format "x"`},
	} {
		t.Run(want.name, func(t *testing.T) {
			log, err := ReadLog(strings.NewReader(want.text))
			if len(log.Requests) != want.requests {
				t.Errorf("%d requests, want %d", len(log.Requests), want.requests)
			}
			if want.err == "" && err != nil || want.err != "" && (err == nil || !strings.Contains(err.Error(), want.err)) {
				t.Errorf("error %v, want %q", err, want.err)
			}
		})
	}
}

func TestALogThatCantBeWrittenIsReportedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		r.server.log = newLogWriter(full{}, LogHeader{})
		r.post(completionsPath, `{"prompt":"one","max_tokens":1}`).Body.Close()
		if err := r.stop(); err == nil || !strings.Contains(err.Error(), "writing the service's log: no space") {
			t.Errorf("stopping gave %v", err)
		}
	})
}

func TestTheServiceStopsAtOnceWithRequestsOpen(t *testing.T) {
	for name, paced := range map[string]*Paced{"model": nil, "paced": {FirstToken: time.Hour, Interval: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := flat()
				cfg.MaxNumSeqs = 1
				r := newRig(t, cfg, paced)
				for range 3 {
					resp := r.post(chatPath, ask(`"max_tokens":200,"stream":true`))
					go func() {
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}()
				}
				began := time.Now()
				log := r.readLog()
				if took := time.Since(began); took > time.Second {
					t.Errorf("stopping took %v", took)
				}
				if len(log.Requests) != 3 {
					t.Errorf("the log has %d requests, want 3", len(log.Requests))
				}
			})
		})
	}
}

func TestAClientThatDoesNotReadDoesNotKeepTheServiceFromStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		conn, err := r.net.dial(context.Background(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := ask(`"max_tokens":200,"stream":true`)
		request, _ := http.NewRequest(http.MethodPost, "http://memory"+chatPath, strings.NewReader(body))
		if err := request.Write(conn); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

func TestAnIdleServiceRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(flat(), "test", Options{Model: "tiny"})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}) // the bubble ends only when its goroutines have
}

func TestALateStepDelaysNoneAfterIt(t *testing.T) {
	const second = clock.Instant(time.Second)
	for _, want := range []struct {
		before, now, end clock.Instant
	}{
		{10 * second, 10 * second, 10*second + 5},
		{10 * second, 10*second + 7, 10*second + 5},
		{10 * second, 13 * second, 12*second + 5}, // what is more than a second is lost
	} {
		if got := stepEnd(want.before, want.now, 5); got != want.end {
			t.Errorf("planned at %d after a step that ended at %d: ends at %d, want %d", want.now, want.before, got, want.end)
		}
	}
}

func TestTheLogIsWholeWhileNoRequestIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		for n := range 3 {
			text(t, r.post(completionsPath, `{"prompt":"one","max_tokens":2}`))
			synctest.Wait()
			log, err := ReadLog(strings.NewReader(r.log.String()))
			if err != nil || len(log.Requests) != n+1 {
				t.Errorf("after %d requests the log has %d, %v", n+1, len(log.Requests), err)
			}
		}
	})
}

func TestHTTP2IsServedToWhoKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, flat(), nil)
		transport := r.client.Transport.(*http.Transport)
		transport.Protocols = &http.Protocols{}
		transport.Protocols.SetUnencryptedHTTP2(true)
		began := r.clock.Now()
		resp := r.post(chatPath, ask(`"max_tokens":2,"stream":true`))
		events, err := r.read(resp, began)
		if err != nil || resp.ProtoMajor != 2 {
			t.Errorf("%s: %v", resp.Proto, err)
		}
		if diff := cmp.Diff([]int64{0, 10, 20, 20}, times(events)); diff != "" {
			t.Errorf("ms after the request (-want +got):\n%s", diff)
		}
	})
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemory()
		l.Close()
		err := newServer(flat(), "test", Options{Model: "tiny", Clock: clock.New()}).Serve(t.Context(), l)
		if err == nil || !strings.Contains(err.Error(), "serving on memory: ") {
			t.Errorf("got %v", err)
		}
	})
}
