package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

func traceSpec(file, format, cache string) schema.Spec {
	spec := chatSpec(cache)
	spec.Workload = schema.Workload{Trace: &schema.Trace{File: file, Format: format, OverMaxContext: "refuse"}}
	return spec
}

// recordedFile reads a trace that stands in a file of its own.
func recordedFile(t testing.TB, w schema.Workload, content string) (*Contents, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadContents(w, func(string) (input.File, error) { return os.Open(path) })
}

func example(t testing.TB, spec schema.Spec) *Contents {
	t.Helper()
	contents, err := ReadContents(spec.Workload, func(file string) (input.File, error) { return os.Open("testdata/traces/" + file) })
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

func sourceFrom(t testing.TB, contents *Contents, spec schema.Spec, seed Seed) *Source {
	t.Helper()
	source, err := NewFrom(contents, spec, seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// onlyPrompt is the text of the only request of a session.
func onlyPrompt(t testing.TB, s *Source, phase measure.Phase, index int64) string {
	t.Helper()
	session, err := s.Session(phase, index)
	if err != nil {
		t.Fatal(err)
	}
	return walk(t, session)[0].messages[0].Content
}

const sharing = `{"timestamp": 1000, "input_length": 1500, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 3000, "input_length": 1536, "output_length": 5, "hash_ids": [7, 8, 10]}
{"timestamp": 3000, "input_length": 2000, "output_length": 5, "hash_ids": [11, 8]}
`

// blocksIn cuts a synthesised prompt into its nonce and what follows it.
func blocksIn(t testing.TB, prompt string) (nonce, text string) {
	t.Helper()
	nonce, text, ok := strings.Cut(prompt, "Words")
	if !ok {
		t.Fatalf("the prompt is %.80q", prompt)
	}
	return nonce, text
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestWhatATraceSharesIsShared(t *testing.T) {
	for _, cache := range []string{"isolated", "shared"} {
		spec := traceSpec("f", "mooncake", cache)
		contents, err := recordedFile(t, spec.Workload, sharing)
		if err != nil {
			t.Fatal(err)
		}
		s := sourceFrom(t, contents, spec, Seed{Run: "3f9a1c02"})
		text := s.sessions.(*recorded).blocks[512]
		first, second, third := onlyPrompt(t, s, measure.Measured, 0), onlyPrompt(t, s, measure.Measured, 1), onlyPrompt(t, s, measure.Measured, 2)
		block := string(text.append(nil, s.sessions.(*recorded).writer.text.hash(8)))
		nonce1, text1 := blocksIn(t, first)
		nonce2, _ := blocksIn(t, second)
		nonce3, text3 := blocksIn(t, third)
		if shares := common(first, second) - len(nonce1); shares < 2*len(block) || shares > 2*len(block)+50 {
			t.Errorf("%s: %d bytes are shared, want those of two blocks of %d", cache, shares, len(block))
		}
		if !strings.Contains(text1, block) || !strings.Contains(text3, block) {
			t.Errorf("%s: block 8 has another text behind another block", cache)
		}
		if nonce1 != nonce2 || (nonce1 == nonce3) != (cache == "shared") || (nonce1 == "") != (cache == "shared") {
			t.Errorf("%s: the nonces are %q, %q and %q", cache, nonce1, nonce2, nonce3)
		}
		again, warm := onlyPrompt(t, s, measure.Measured, 3), onlyPrompt(t, s, measure.Warmup, 2)
		if _, text := blocksIn(t, again); text != text1 || (again == first) != (cache == "shared") || (warm == first) != (cache == "shared") {
			t.Errorf("%s: the next lap has another text, or the same nonce", cache)
		}
		other := sourceFrom(t, contents, spec, Seed{Run: "3f9a1c02", Point: "replay_speed=2"})
		if onlyPrompt(t, other, measure.Measured, 0) == first {
			t.Errorf("%s: another point has the same prompt", cache)
		}
	}
}

func TestDifferentBlocksHaveDifferentText(t *testing.T) {
	seen := map[string]uint64{}
	text := fitOf(16, 1300)
	k := Seed{}.text()
	for id := range uint64(200_000) {
		b := string(text.append(nil, k.hash(id)))
		if other, twice := seen[b]; twice {
			t.Fatalf("blocks %d and %d are both %q", id, other, b)
		}
		seen[b] = id
	}
	whole := string(text.append(nil, 5))
	for words := int64(1); words <= text.words(); words++ {
		got := string(text.cut(nil, 5, words))
		if !strings.HasPrefix(whole, got) || int64(len(strings.Fields(got))) != words {
			t.Errorf("%d words of %q are %q", words, whole, got)
		}
	}
}

// tokensOfText counts as a service does whose every word of more than five letters is two tokens.
func tokensOfText(text string) int64 {
	var n int64
	for _, word := range strings.Fields(text) {
		n += int64(1 + (len(word)-1)/5)
	}
	return n
}

func TestRecordedLengthsAreMet(t *testing.T) {
	const template = 9
	for format, file := range map[string]string{"mooncake": "mooncake.jsonl", "bailian": "bailian.jsonl", "burstgpt": "burstgpt.csv", "weka": "weka.jsonl"} {
		spec := traceSpec(file, format, "isolated")
		if format == "weka" {
			spec.Workload = schema.Workload{Weka: &schema.Weka{File: file, MaxThinkTime: schema.Duration(time.Minute), OverMaxContext: "refuse"}}
		}
		contents := example(t, spec)
		requests := 0
		count := func(_ context.Context, r Request) (int64, error) {
			requests++
			var body struct{ Messages []message }
			if err := json.Unmarshal(r.Body, &body); err != nil {
				return 0, err
			}
			return template + tokensOfText(body.Messages[0].Content), nil
		}
		cal, err := CalibrateFrom(t.Context(), contents, spec, Seed{Run: "3f9a1c02"}, 0, count)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if requests > 18 {
			t.Errorf("%s: %d requests to calibrate", format, requests)
		}
		s, err := NewFrom(contents, spec, Seed{Run: "3f9a1c02"}, cal)
		if err != nil {
			t.Fatal(err)
		}
		var asked, got int64
		for i := range contents.Sessions() {
			session, err := s.Session(measure.Measured, i)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range walk(t, session) {
				n := template + tokensOfText(r.messages[0].Content)
				asked, got = asked+r.request.PromptTokens, got+n
				if off := distance(n, r.request.PromptTokens); off > max(4, r.request.PromptTokens/20) {
					t.Errorf("%s: a prompt of %d tokens has %d", format, r.request.PromptTokens, n)
				}
			}
		}
		if off := distance(asked, got); off*100 > asked {
			t.Errorf("%s: all prompts have %d tokens, %d were recorded", format, got, asked)
		}
	}
}

func TestWhenATraceIsDue(t *testing.T) {
	spec := traceSpec("f", "mooncake", "isolated")
	contents, err := recordedFile(t, spec.Workload, sharing)
	if err != nil {
		t.Fatal(err)
	}
	if got := contents.Extent(); got != (schema.Extent{Requests: 3, Timed: true}) {
		t.Errorf("the extent is %+v", got)
	}
	s := sourceFrom(t, contents, spec, Seed{})
	s.SetSpeed(2)
	for phase, want := range map[measure.Phase][]time.Duration{
		measure.Measured: {0, time.Second, time.Second, 1500 * time.Millisecond, 2500 * time.Millisecond},
		measure.Warmup:   {0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second},
	} {
		var due, made []time.Duration
		for at := range s.Due(phase, 0) {
			session, err := s.Session(phase, int64(len(due)))
			if err != nil {
				t.Fatal(err)
			}
			if due, made = append(due, at), append(made, session.Due); len(due) == len(want) {
				break
			}
		}
		if !slices.Equal(due, want) || !slices.Equal(made, want) {
			t.Errorf("%s: due at %v and made for %v, want %v", phase, due, made, want)
		}
	}
}

func TestSessionsOfATrace(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `{"session_id": "s%d", "timestamp": %d, "messages": [{"role": "user", "content": "first %d"}], "message_mode": "delta", "output_length": 3}`+"\n", i, i*10, i)
		if i%3 == 0 {
			fmt.Fprintf(&b, `{"session_id": "s%d", "delay": 40, "messages": [{"role": "user", "content": "then %d"}], "message_mode": "delta"}`+"\n", i, i)
			fmt.Fprintf(&b, `{"session_id": "s%d", "timestamp": %d, "messages": [{"role": "user", "content": "at last"}], "message_mode": "delta", "extra": {"top_p": 0.5, "temperature": 1}}`+"\n", i, i*10+600)
		}
	}
	spec := traceSpec("f", "mooncake", "isolated")
	contents, err := recordedFile(t, spec.Workload, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if contents.Sessions() != 200 || contents.Extent() != (schema.Extent{Requests: 334, Timed: true, API: "chat"}) {
		t.Errorf("%d sessions, %+v", contents.Sessions(), contents.Extent())
	}
	s := sourceFrom(t, contents, spec, Seed{Run: "3f9a1c02"})
	s.SetSpeed(2)
	for _, i := range []int64{198, 0, 67, 129} {
		session, err := s.Session(measure.Measured, i)
		if err != nil {
			t.Fatal(err)
		}
		all := walk(t, session)
		if want := 1 + 2*int(1-min(1, i%3)); len(all) != want || !strings.HasSuffix(all[0].messages[0].Content, fmt.Sprintf("first %d", i)) {
			t.Fatalf("session %d has %d requests, want %d; the first asks %q", i, len(all), want, all[0].messages[0].Content)
		}
		if i%3 != 0 {
			continue
		}
		last := all[2]
		roles := []string{"user", "assistant", "user", "assistant", "user"}
		for n, m := range last.messages {
			if m.Role != roles[n] || n > 0 && strings.Contains(m.Content, "3f9a1c02") {
				t.Errorf("message %d is %+v", n, m)
			}
		}
		if all[1].turn.Delay != 20*time.Millisecond || last.turn.NotBefore != 300*time.Millisecond || last.body["temperature"] != 1.0 || last.body["top_p"] != 0.5 {
			t.Errorf("delays %v and %v, body %v", all[1].turn.Delay, last.turn.NotBefore, last.body)
		}
	}
}

func TestFaultsOfATraceAsAWhole(t *testing.T) {
	line := func(fields string) string { return `{"input_length": 600, "output_length": 5, ` + fields + "}\n" }
	most := int64(600)
	for _, c := range []struct {
		content string
		limit   *int64
		want    string
	}{
		{line(`"timestamp": 5`) + line(`"timestamp": 4`), nil, "f:2: its time is before that of the session before: a trace must be in the order of time"},
		{line(`"session_id": "a"`) + "\n" + line(`"session_id": "b"`) + line(`"session_id": "a"`), nil,
			`f:4: session_id "a" was there before, and another session since: the lines of a session must follow one another`},
		{line(`"timestamp": 5`) + "x\n" + line(`"extra": {"stream": true}`), nil,
			"f:2: column 1: invalid character 'x' looking for beginning of value\nf:3: stream can't be set by a trace: sweetspot sets it, or it would change what is measured"},
		{line(`"timestamp": 5`), &most, `f:1: prompt and answer have 605 tokens, above max_context, which is 600: over_max_context "cut" cuts such prompts`},
		{`{"session_id": "a", "messages": [{"role": "user"}], "message_mode": "delta"}` + "\n" + `{"session_id": "a", "messages": [{"role": "user"}]}`, nil,
			"f:2: message_mode must be the same in all lines of a session"},
		{"", nil, "f:1: the file is empty"},
	} {
		spec := traceSpec("f", "mooncake", "isolated")
		spec.Workload.Trace.MaxContext = c.limit
		if _, err := recordedFile(t, spec.Workload, c.content); err == nil || err.Error() != c.want {
			t.Errorf("%s gives\n%v, want\n%s", c.content, err, c.want)
		}
	}
	spec := traceSpec("f", "mooncake", "isolated")
	spec.Workload.Trace.MaxContext, spec.Workload.Trace.OverMaxContext = &most, "cut"
	contents, err := recordedFile(t, spec.Workload, line(`"timestamp": 5`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"f: 1 of 1 requests are longer than max_context, 600 tokens: the ends of their prompts are left out"}
	if diff := cmp.Diff(want, contents.Notes()); diff != "" || contents.Longest() != 600 {
		t.Errorf("longest %d, notes (-want +got):\n%s", contents.Longest(), diff)
	}
	session, err := sourceFrom(t, contents, spec, Seed{}).Session(measure.Measured, 0)
	if err != nil || walk(t, session)[0].request.PromptTokens != 595 {
		t.Errorf("the prompt is not cut: %v", err)
	}
}

// A block of one trace is not a block of another, where blocks are numbered in each.
func TestBlocksOfOneAgentAlone(t *testing.T) {
	line := func(scope string) string {
		return `{"id": "t", "block_size": 64, "hash_id_scope": "` + scope + `", "requests": [{"t": 0, "type": "n", "in": 128, "out": 5, "hash_ids": [0, 1]}, ` +
			`{"t": 1, "type": "subagent", "requests": [{"t": 1, "type": "n", "in": 192, "out": 5, "hash_ids": [0, 1, 2]}]}, {"t": 2, "type": "n", "in": 64, "out": 5, "hash_ids": [0]}]}` + "\n"
	}
	for scope, shared := range map[string]bool{"local": false, "global": true} {
		spec := chatSpec("isolated")
		spec.Workload = schema.Workload{Weka: &schema.Weka{File: "f", MaxThinkTime: schema.Duration(time.Second)}}
		contents, err := recordedFile(t, spec.Workload, line(scope)+line(scope))
		if err != nil {
			t.Fatal(err)
		}
		s := sourceFrom(t, contents, spec, Seed{Run: "3f9a1c02"})
		first, second := onlyPrompt(t, s, measure.Measured, 0), onlyPrompt(t, s, measure.Measured, 1)
		if (first == second) != shared {
			t.Errorf("%s: the first prompts of two traces are equal: %v", scope, first == second)
		}
		session, err := s.Session(measure.Measured, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := walk(t, session)
		paths := []string{all[0].path, all[1].path, all[2].path}
		if diff := cmp.Diff([]string{"0", "0.0:0", "1"}, paths); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, r := range all {
			if n := common(r.messages[0].Content, all[0].messages[0].Content); n < len(all[2].messages[0].Content) {
				t.Errorf("%s: request %s shares %d bytes with the first", scope, r.path, n)
			}
		}
		if fork := session.Turns[0].Forks[0]; fork.JoinAt != 1 || fork.Inherits {
			t.Errorf("the sub-agent is %+v", fork)
		}
	}
}

// countedFile counts what is read at once from a file that is never there as a whole.
type countedFile struct {
	line    string
	lines   int64
	largest *atomic.Int64
}

func (c countedFile) ReadAt(b []byte, at int64) (int, error) {
	c.largest.Store(max(c.largest.Load(), int64(len(b))))
	size := c.lines * int64(len(c.line))
	n := 0
	for n < len(b) && at < size {
		moved := copy(b[n:], c.line[at%int64(len(c.line)):])
		n, at = n+moved, at+int64(moved)
	}
	if n < len(b) {
		return n, fs.ErrInvalid
	}
	return n, nil
}

func (countedFile) Close() error { return nil }

func (c countedFile) Stat() (fs.FileInfo, error) { return infoOf(c.lines * int64(len(c.line))), nil }

type infoOf int64

func (infoOf) Name() string       { return "f" }
func (i infoOf) Size() int64      { return int64(i) }
func (infoOf) Mode() fs.FileMode  { return 0 }
func (infoOf) ModTime() time.Time { return time.Time{} }
func (infoOf) IsDir() bool        { return false }
func (infoOf) Sys() any           { return nil }

// A trace of a gigabyte takes the memory of its pages: what it takes does not grow with its length.
func TestALongTraceTakesLittleMemory(t *testing.T) {
	size := int64(32 << 20)
	if os.Getenv("LONG") != "" {
		size = 10 << 30
	}
	line := fmt.Sprintf(`{"timestamp": 5, "input_length": 60000, "output_length": 5, "hash_ids": [%s7]}`+"\n", strings.Repeat("1234567, ", 117))
	var largest atomic.Int64
	file := countedFile{line: line, lines: size / int64(len(line)), largest: &largest}
	spec := traceSpec("f", "mooncake", "isolated")
	before := heap()
	contents, err := ReadContents(spec.Workload, func(string) (input.File, error) { return file, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := sourceFrom(t, contents, spec, Seed{})
	n := contents.Sessions()
	for _, i := range []int64{0, n / 2, n - 1, n + n/3} {
		if _, err := s.Session(measure.Measured, i); err != nil {
			t.Fatal(err)
		}
	}
	if took := heap() - before; took > 24<<20 || largest.Load() > 2<<20 {
		t.Errorf("a trace of %d MiB takes %d MiB, and %d KiB were read at once", size>>20, took>>20, largest.Load()>>10)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Where caches are salted, sessions of a trace have one salt until the file begins again: what they share stays shared. Agentic replay sends a
// turn ahead for one token.
func TestSaltsAndPrefillsOfATrace(t *testing.T) {
	spec := traceSpec("f", "mooncake", "isolated")
	spec.Request.CacheSalt = true
	contents, err := recordedFile(t, spec.Workload, sharing)
	if err != nil {
		t.Fatal(err)
	}
	s := sourceFrom(t, contents, spec, Seed{Run: "3f9a1c02"})
	var salts []string
	for i := range int64(4) {
		session, err := s.Session(measure.Measured, i)
		if err != nil {
			t.Fatal(err)
		}
		asked := walk(t, session)[0]
		salts = append(salts, fmt.Sprint(asked.body["cache_salt"]))
		ahead, err := session.Turns[0].Replay.Prefill(nil)
		if err != nil || ahead.OutputTokens != 1 || ahead.PromptTokens != asked.request.PromptTokens {
			t.Errorf("what is sent ahead asks for %d of %d tokens, %v", ahead.OutputTokens, ahead.PromptTokens, err)
		}
	}
	if salts[0] == "" || salts[0] != salts[1] || salts[0] != salts[2] || salts[0] == salts[3] {
		t.Errorf("the salts are %q", salts)
	}
}
