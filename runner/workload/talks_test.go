package workload

import (
	"strings"
	"testing"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func sessionsSpec(history string, change func(*schema.Sessions)) schema.Spec {
	s := schema.Sessions{
		Turns: schema.Distribution{Uniform: &schema.Range{Min: 2, Max: 6}}, PromptTokens: schema.Distribution{Uniform: &schema.Range{Min: 300, Max: 900}},
		OutputTokens: number(50), ThinkTime: schema.Distribution{Uniform: &schema.Range{Min: 100, Max: 300}}, History: history,
	}
	if change != nil {
		change(&s)
	}
	return schema.Spec{Model: "m", Workload: schema.Workload{Sessions: &s}, Request: schema.Request{API: "chat", Cache: "isolated"}}
}

// turnsOf are the bodies of a conversation whose answers are all one text.
func turnsOf(t testing.TB, source *Source, index int64, answer string) (all []asked, turns []Turn) {
	t.Helper()
	session, err := source.Session(measure.Measured, index)
	if err != nil {
		t.Fatal(err)
	}
	var answers []Answer
	for _, turn := range session.Turns {
		request, err := turn.Build(answers)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, askedOf(t, request))
		answers = append(answers, Answer{Text: answer})
	}
	return all, session.Turns
}

func TestConversationsCarryWhatWasSaid(t *testing.T) {
	for history, carried := range map[string]string{"live": "Certainly.", "recorded": "Words "} {
		source, err := New(sessionsSpec(history, nil), Seed{Run: "3f9a1c02"}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		var turns, sessions int
		var thought time.Duration
		for i := range int64(300) {
			all, made := turnsOf(t, source, i, "Certainly.")
			turns, sessions = turns+len(all), sessions+1
			for n, body := range all {
				if len(body.Messages) != 2*n+1 || body.Most != 50 {
					t.Fatalf("%s: turn %d has %d messages and asks for %d tokens", history, n, len(body.Messages), body.Most)
				}
				if n > 0 {
					thought += made[n].Delay
					before := all[n-1].Messages
					for m := range before {
						if before[m]["content"] != body.Messages[m]["content"] {
							t.Fatalf("%s: turn %d does not begin with turn %d", history, n, n-1)
						}
					}
					answer := body.Messages[2*n-1]
					if answer["role"] != "assistant" || !strings.HasPrefix(answer["content"].(string), carried) {
						t.Fatalf("%s: turn %d carries the answer %v", history, n, answer)
					}
				}
			}
			if made[0].Delay != 0 {
				t.Errorf("the first turn waits %s", made[0].Delay)
			}
		}
		if mean := float64(turns) / float64(sessions); mean < 3.7 || mean > 4.3 {
			t.Errorf("%s: %.2f turns on average, 4 are declared", history, mean)
		}
		if mean := thought / time.Duration(turns-sessions); mean < 190*time.Millisecond || mean > 210*time.Millisecond {
			t.Errorf("%s: think time is %s on average, 200 ms is declared", history, mean)
		}
	}
}

// With recorded answers the requests are known before the run, whatever the service says; with live ones the text is wanted for later turns.
func TestRecordedHistoriesHangOnNoAnswer(t *testing.T) {
	for history, wanted := range map[string]bool{"live": true, "recorded": false} {
		source, err := New(sessionsSpec(history, nil), Seed{Run: "3f9a1c02"}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		one, turns := turnsOf(t, source, 3, "One.")
		two, _ := turnsOf(t, source, 3, "Two.")
		last := len(one) - 1
		if same := one[last].Messages[1]["content"] == two[last].Messages[1]["content"]; same == wanted {
			t.Errorf("%s: another answer makes the same request: %v", history, same)
		}
		first, err := turns[0].Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		if first.WantText != wanted {
			t.Errorf("%s: the first answer's text is wanted: %v", history, first.WantText)
		}
	}
}

// First turns have the length asked for, a shared prefix before their nonce; only those of one conversation share more.
func TestConversationsAreCalibratedAndIsolated(t *testing.T) {
	for _, k := range tokenizers(t) {
		if !k.exact {
			continue
		}
		for _, prefix := range []int64{0, 200} {
			spec := sessionsSpec("live", func(s *schema.Sessions) { s.SharedPrefixTokens = prefix })
			sent := 0
			cal, err := Calibrate(t.Context(), spec, Seed{Run: "3f9a1c02"}, 0, k.counter(&sent))
			if err != nil {
				t.Fatal(err)
			}
			source, err := New(spec, Seed{Run: "3f9a1c02"}, cal)
			if err != nil {
				t.Fatal(err)
			}
			var wanted, counted int64
			begun := map[string]bool{}
			for i := range int64(50) {
				session, err := source.Session(measure.Measured, i)
				if err != nil {
					t.Fatal(err)
				}
				request, err := session.Turns[0].Build(nil)
				if err != nil {
					t.Fatal(err)
				}
				n, err := k.service(request)
				if err != nil {
					t.Fatal(err)
				}
				wanted, counted = wanted+request.PromptTokens, counted+n
				parts := strings.Split(askedOf(t, request).Messages[0]["content"].(string), "\n\n")
				if prefix > 0 {
					parts = parts[1:]
				}
				begin := strings.Join(strings.Fields(parts[0])[:8], " ")
				if begun[begin] {
					t.Errorf("two conversations begin with %s", begin)
				}
				begun[begin] = true
			}
			if off := distance(wanted, counted); off*100 > wanted {
				t.Errorf("%s, prefix %d: first turns have %d tokens, %d were asked for", k.name, prefix, counted, wanted)
			}
		}
	}
}
