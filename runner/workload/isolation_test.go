package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sweetspot/runner/workload/trace"
	"sweetspot/schema"
)

// isolatedFiles are workloads of files and of several turns, isolated, and what their files hold.
func isolatedFiles(t testing.TB) map[string]func(seed Seed) *Source {
	t.Helper()
	all := map[string]func(Seed) *Source{}
	of := func(name string, spec schema.Spec, contents *Contents) {
		all[name] = func(seed Seed) *Source { return sourceFrom(t, contents, spec, seed) }
	}
	for name, spec := range map[string]schema.Spec{
		"prompts":        promptsSpec("p.jsonl", "completions", "isolated"),
		"sharegpt":       shareGPTSpec("all", "live", 20, "chat", "isolated"),
		"sharegpt, text": shareGPTSpec("all", "recorded", 20, "completions", "isolated"),
	} {
		content := someTalks
		if name == "prompts" {
			content = "{\"prompt\": \"One?\"}\n{\"prompt\": \"Two?\"}\n"
		}
		contents, err := ReadContents(spec.Workload, opening(t, content))
		if err != nil {
			t.Fatal(err)
		}
		of(name, spec, contents)
	}
	of("sessions", sessionsSpec("live", nil), nil)
	of("sessions, recorded", sessionsSpec("recorded", nil), nil)
	for name, file := range map[string]string{"mooncake": "mooncake.jsonl", "mooncake, sessions": "sessions.jsonl", "bailian": "bailian.jsonl", "burstgpt": "burstgpt.csv", "batch": "batch.jsonl"} {
		format, _, _ := strings.Cut(name, ",")
		spec := traceSpec(file, format, "isolated")
		of(name, spec, example(t, spec))
	}
	weka := chatSpec("isolated")
	weka.Workload = schema.Workload{Weka: &schema.Weka{File: "weka.jsonl", MaxThinkTime: schema.Duration(time.Minute), OverMaxContext: "refuse"}}
	of("weka", weka, example(t, weka))
	return all
}

// opened is a request as a prefix cache meets it.
type opened struct {
	opening string // its first words
	own     string // what its last message says, where that is made up
	shares  string // names those that it may begin like; empty where it may begin like none
}

// openedBy are the requests of one session.
func openedBy(t testing.TB, source *Source, o origin) []opened {
	t.Helper()
	session, err := source.Session(o.phase, o.index)
	if err != nil {
		t.Fatal(err)
	}
	var shares []string
	if r, ok := source.sessions.(*recorded); ok {
		shares = declared(t, r, o)
	}
	var all []opened
	for i, r := range walk(t, session) {
		text, _ := r.body["prompt"].(string)
		for _, m := range r.messages {
			text += " " + m.Content
		}
		one := opened{opening: strings.Join(strings.Fields(text)[:8], " ")}
		if _, made := source.sessions.(*talks); made {
			one.own = r.messages[len(r.messages)-1].Content
		}
		if shares != nil {
			one.shares = shares[i]
		}
		all = append(all, one)
	}
	return all
}

// declared says of each request of a recorded session what its trace lets it begin like: those of the same point whose first block it has, or whose text is
// known too, until the file begins again.
func declared(t testing.TB, r *recorded, o origin) []string {
	t.Helper()
	at, err := placeOf(o.phase, o.index)
	if err != nil {
		t.Fatal(err)
	}
	i := turned(at, r.recording.found.sessions)
	whole, err := r.recording.session(i)
	if err != nil {
		t.Fatal(err)
	}
	among := []any{o.seed, o.phase, o.index / r.recording.found.sessions}
	if whole.Local {
		among = append(among, i)
	}
	var all []string
	var visit func(*trace.Session)
	visit = func(s *trace.Session) {
		for _, turn := range s.Turns {
			switch {
			case len(turn.Blocks) > 0:
				all = append(all, fmt.Sprint(append(among, "block", turn.Blocks[0])...))
			case turn.Text != nil || len(turn.Messages) > 0:
				all = append(all, fmt.Sprint(append(among, "text")...))
			case turn.PromptTokens > 0:
				all = append(all, "")
			}
			for _, fork := range turn.Forks {
				visit(fork.Session)
			}
		}
	}
	visit(whole)
	return all
}

// Of the files' own texts, and of all turns of a conversation, no other session, phase, repeat, point, trial, attempt or run has the beginning, but for
// what a trace itself declares. Turns that are made up say nothing that another one says.
func TestIsolatedSessionsShareNoPrefix(t *testing.T) {
	for name, sourceOf := range isolatedFiles(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				a := drawOrigin(rt, "a")
				b := a
				switch part := rapid.SampledFrom([]string{"all", "place", "seed", "point", "repeat", "trial", "run", "attempt", "phase", "index"}).Draw(rt, "b has another"); part {
				case "all":
					b = drawOrigin(rt, "b")
				case "place":
					b = drawOrigin(rt, "b")
					b.seed = a.seed
				default:
					changes[part](&b)
				}
				if a == b {
					return
				}
				said := a.seed
				said.Run, said.Attempt = b.seed.Run, b.seed.Attempt
				sameText := said == b.seed && a.phase == b.phase && a.index == b.index // behind another nonce
				second := openedBy(t, sourceOf(b.seed), b)
				for _, one := range openedBy(t, sourceOf(a.seed), a) {
					for _, other := range second {
						if one.opening == other.opening && (one.shares == "" || one.shares != other.shares) {
							rt.Fatalf("%+v and %+v both begin with %q", a, b, one.opening)
						}
						if one.own != "" && one.own == other.own && !sameText {
							rt.Fatalf("%+v and %+v both say %.80q", a, b, one.own)
						}
					}
				}
			})
		})
	}
}
