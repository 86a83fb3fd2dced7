package workload

import (
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload/input"
)

const agents = `{"session_id": "root", "pre_session_spawns": ["scout"], "turns": [
{"messages": [{"role": "system", "content": "Plan."}, {"role": "user", "content": "Go \"on\""}], "max_tokens": 50, "delay": 0},
{"messages": [{"role": "user", "content": "Then"}], "delay": 250.5, "model": "big", "extra_body": {"top_p": 0.5, "temperature": 1}, "forks": ["left", {"child": "right"}]}]}

{"session_id": "left", "turns": [{"messages": [{"role": "user", "content": "Left"}], "tools": [{"type": "function"}], "spawns": ["helper", {"children": ["other"], "join_at": 1}]}, {"messages": [{"role": "user", "content": "Joined"}]}]}
{"session_id": "right", "turns": [{"messages": [{"role": "user", "content": "Right"}]}]}
{"session_id": "scout", "turns": [{"messages": [{"role": "user", "content": [{"type": "text", "text": "Look"}]}], "extra": {"ignore_eos": true}}]}
{"session_id": "helper", "turns": [{"messages": [{"role": "user", "content": "Help"}]}]}
{"session_id": "other", "turns": [{"messages": [{"role": "user", "content": null}]}]}
{"session_id": "alone", "turns": [{"messages": [{"role": "user", "content": "Alone"}]}]}
`

// lines puts each session of a readable text on a line of its own.
func lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "[\n", "["), ",\n", ",")
}

func dagOf(t testing.TB, name, text string) (*DAG, error) {
	t.Helper()
	return ReadDAG(name, func() (input.File, error) { return textFile{strings.NewReader(text)}, nil })
}

// textFile is a text as a file.
type textFile struct{ *strings.Reader }

func (textFile) Close() error { return nil }

func (f textFile) Stat() (fs.FileInfo, error) { return infoOf(f.Size()), nil }

func readDAG(t testing.TB, text string) *DAG {
	t.Helper()
	dag, err := dagOf(t, "agents.jsonl", lines(text))
	if err != nil {
		t.Fatal(err)
	}
	return dag
}

func dagRequests(t testing.TB, cache string, index int64) map[string]sent {
	t.Helper()
	source, err := NewDAG(readDAG(t, agents), chatSpec(cache), Seed{Run: "3f9a1c02"}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := source.Session(measure.Measured, index)
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]sent{}
	for _, r := range walk(t, session) {
		requests[r.path] = r
	}
	return requests
}

func TestADAGIsReplayed(t *testing.T) {
	if dag := readDAG(t, agents); dag.Roots() != 2 {
		t.Errorf("%d roots", dag.Roots())
	}
	requests := dagRequests(t, "shared", 0)
	user, assistant := "user", "assistant"
	start := []message{{"system", "Plan."}, {user, `Go "on"`}, {assistant, `answer to "1"`}, {user, "Then"}}
	left := append(start[:4:4], message{assistant, `answer to "2"`}, message{user, "Left"})
	want := map[string][]message{
		"1": start[:2], "2": start,
		"2.0:0":     left,
		"2.0:1":     append(left[:6:6], message{assistant, `answer to "2.0:0"`}, message{user, "Joined"}),
		"2.0:0.0:0": {{user, "Help"}},
		"2.0:0.1:0": {{user, ""}},
		"2.1:0":     append(start[:4:4], message{assistant, `answer to "2"`}, message{user, "Right"}),
		"0.0:0":     nil, // its content is a list
	}
	got := map[string][]message{}
	for path, r := range requests {
		got[path] = r.messages
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestATurnOfADAGSetsItsOwnFields(t *testing.T) {
	requests := dagRequests(t, "shared", 0)
	for path, want := range map[string]map[string]any{
		"1":     {"model": "m", "max_tokens": 50.0, "temperature": 0.0},
		"2":     {"model": "big", "temperature": 1.0, "top_p": 0.5, "max_tokens": nil},
		"2.0:0": {"tools": []any{map[string]any{"type": "function"}}, "stream": true},
		"0.0:0": {"ignore_eos": true},
	} {
		for name, value := range want {
			if diff := cmp.Diff(value, requests[path].body[name]); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", name, path, diff)
			}
		}
	}
	if got := requests["2"].turn.Delay; got != 250500*time.Microsecond {
		t.Errorf("delay %v", got)
	}
	if requests["1"].request.OutputTokens != 50 || requests["2"].request.OutputTokens != 0 {
		t.Errorf("output tokens %d and %d", requests["1"].request.OutputTokens, requests["2"].request.OutputTokens)
	}
	if requests["2.1:0"].request.WantText || !requests["2"].request.WantText {
		t.Error("the answers that later turns carry, and no others, are kept")
	}
}

func TestIsolatedConversationsOfADAGBeginWithNonces(t *testing.T) {
	requests := dagRequests(t, "isolated", 0)
	nonces := map[string]bool{}
	for _, path := range []string{"1", "0.0:0", "2.0:0.0:0", "2.0:0.1:0"} {
		messages := requests[path].body["messages"].([]any)
		content := messages[0].(map[string]any)["content"]
		if parts, ok := content.([]any); ok {
			content = parts[0].(map[string]any)["text"]
			if rest := parts[1].(map[string]any)["text"]; rest != "Look" {
				t.Errorf("behind the nonce stands %q", rest)
			}
		}
		nonce, _, found := strings.Cut(content.(string), " file 3f9a1c02.\n\n")
		if !found || nonces[nonce] {
			t.Errorf("%s begins with %q", path, content)
		}
		nonces[nonce] = true
	}
	if got := requests["2.1:0"].messages; strings.Contains(got[len(got)-1].Content, "file") || !strings.HasSuffix(got[0].Content, "\n\nPlan.") {
		t.Errorf("a fork sends %+v", got)
	}
}

func TestRootsOfADAGComeInTurn(t *testing.T) {
	source, err := NewDAG(readDAG(t, agents), chatSpec("shared"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		phase measure.Phase
		index int64
		turns int
	}{{measure.Measured, 0, 3}, {measure.Measured, 1, 1}, {measure.Measured, 2, 3}, {measure.Warmup, 0, 1}, {measure.Warmup, 1, 3}} {
		session, err := source.Session(c.phase, c.index)
		if err != nil {
			t.Fatal(err)
		}
		if len(session.Turns) != c.turns {
			t.Errorf("%s %d has %d turns, want %d", c.phase, c.index, len(session.Turns), c.turns)
		}
	}
}

// The turns of the session that pre_session_spawns starts stand behind one that sends nothing, and what joins them moves with them.
func TestSpawnsJoinTheTurnThatTheFileNames(t *testing.T) {
	dag := readDAG(t, `{"session_id": "root", "pre_session_spawns": ["p"], "turns": [
{"messages": [{"role": "user", "content": "0"}], "spawns": ["a", {"children": ["b", "c"], "join_at": 3}], "forks": [{"child": "f", "background": true}]},
{"messages": [{"role": "user", "content": "1"}], "spawns": {"children": ["d"], "join_at": 2}},
{"messages": [{"role": "user", "content": "2"}]},
{"messages": [{"role": "user", "content": "3"}], "spawns": ["e"]}]}
{"session_id": "p", "turns": [{"messages": [{"role": "user", "content": "p"}], "spawns": ["a"]},
{"messages": [{"role": "user", "content": "after a"}]}]}
{"session_id": "a", "turns": [{"messages": [{"role": "user", "content": "a"}]}]}
{"session_id": "b", "turns": [{"messages": [{"role": "user", "content": "b"}]}]}
{"session_id": "c", "turns": [{"messages": [{"role": "user", "content": "c"}]}]}
{"session_id": "d", "turns": [{"messages": [{"role": "user", "content": "d"}]}]}
{"session_id": "e", "turns": [{"messages": [{"role": "user", "content": "e"}]}]}
{"session_id": "f", "turns": [{"messages": [{"role": "user", "content": "f"}]}]}`)
	source, err := NewDAG(dag, chatSpec("shared"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := source.Session(measure.Measured, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int
	for _, turn := range session.Turns {
		var joins []int
		for _, fork := range turn.Forks {
			joins = append(joins, fork.JoinAt)
		}
		got = append(got, joins)
	}
	if diff := cmp.Diff([][]int{{0}, {0, 2, 4, 4}, {3}, nil, {0}}, got); diff != "" {
		t.Errorf("forks by the turn that waits for them (-want +got):\n%s", diff)
	}
	if inner := session.Turns[0].Forks[0].Session.Turns[0].Forks[0].JoinAt; inner != 1 {
		t.Errorf("in a session without pre_session_spawns turn %d waits for what turn 0 spawned, want 1", inner)
	}
}

func TestBadDAGsAreRefusedLineByLine(t *testing.T) {
	turn := func(fields string) string { return `{"messages": [{"role": "user", "content": "x"}]` + fields + `}` }
	session := func(id, rest string, turns ...string) string {
		return `{"session_id": "` + id + `"` + rest + `, "turns": [` + strings.Join(turns, ",") + "]}\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":          {"\n", "agents.jsonl:1: the file is empty"},
		"no JSON":          {"\n{\n", "agents.jsonl:2: parsing a session"},
		"unknown":          {`{"session": 1}`, `agents.jsonl:1: parsing a session: the field "session" is not known in this format`},
		"another type":     {`{"session_id": 5}`, "agents.jsonl:1: parsing a session: session_id must not be a number"},
		"a type below":     {session("a", "", `{"messages": "x"}`), "agents.jsonl:1: parsing a session: turns.messages must not be text"},
		"two values":       {session("a", "", turn(""))[:len(session("a", "", turn("")))-1] + "{}", "more than one JSON value"},
		"no turns":         {session("a", ""), "at least one turn"},
		"no messages":      {session("a", "", `{"messages": []}`), `turn 0 of session "a": messages must not be empty`},
		"no role":          {session("a", "", `{"messages": [{"content": "x"}]}`), "an object with a role"},
		"max_tokens":       {session("a", "", turn(`, "max_tokens": 0`)), "max_tokens must be a whole number from 1 to 10000000, not 0"},
		"max_tokens above": {session("a", "", turn(`, "max_tokens": 9223372036854775807`)), "max_tokens must be a whole number from 1 to 10000000, not 9223372036854775807"},
		"a key twice":      {session("a", "", turn(`, "max_tokens": 1, "max_tokens": 2`)), `agents.jsonl:1: the key "max_tokens" stands twice in turns.0: leave one out`},
		"delay":            {session("a", "", turn(`, "delay": -1`)), "delay must be from 0"},
		"twice":            {session("a", "", turn("")) + session("a", "", turn("")), `agents.jsonl:2: session "a" stands in line 1 already`},
		"undeclared":       {session("a", "", turn(`, "forks": ["b"]`)), `agents.jsonl:1: session "a" starts "b", which no line declares`},
		"fork not last":    {session("a", "", turn(`, "forks": ["b"]`), turn("")), "in the background or in the last turn: write {\"child\": \"b\", \"background\": true}"},
		"join too early":   {session("a", "", turn(`, "spawns": [{"children": ["b"], "join_at": 0}]`), turn("")), "join_at is 0"},
		"no children":      {session("a", "", turn(`, "spawns": [{"children": []}]`)), "a spawn needs children"},
		"spawn field":      {session("a", "", turn(`, "spawns": [{"child": "b"}]`)), `the field "child" is not known`},
		"spawn alone":      {session("a", "", turn(`, "spawns": {"child": "b"}`)), `the field "child" is not known`},
		"spawned twice":    {session("a", "", turn(`, "spawns": ["b", "b"]`)) + session("b", "", turn("")), "starts a session twice in turn 0"},
		"two parents": {
			session("a", "", turn(`, "forks": ["c"]`)) + session("b", "", turn(`, "forks": ["c"]`)) + session("c", "", turn("")),
			`agents.jsonl:2: session "b" forks "c", which "a" forks too`,
		},
		"cycle": {session("a", "", turn(`, "spawns": ["b"]`)) + session("b", "", turn(`, "spawns": ["a"]`)), "sessions start each other: a > b > a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dagOf(t, "agents.jsonl", c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// A tree that no point could replay is refused when its file is read, by the line of its root: how large it is takes no longer to find than the file is long.
func TestATreeThatIsTooLargeIsRefused(t *testing.T) {
	chain := func(sessions, turns int, started string) string {
		var text strings.Builder
		text.WriteString("\n")
		for i := range sessions {
			start := ""
			if i+1 < sessions {
				start = fmt.Sprintf(`, "%s": ["s%d"]`, started, i+1)
			}
			turn := `{"messages": [{"role": "user", "content": "x"}]` + start + "}"
			fmt.Fprintf(&text, `{"session_id": "s%d", "turns": [%s]}`+"\n", i, strings.TrimSuffix(strings.Repeat(turn+",", turns), ","))
		}
		return text.String()
	}
	refused := `agents.jsonl:2: the tree of session "s0" has more than 10000 turns, those of a session counted each time that it is started: let it start fewer, or cut it into several trees`
	for name, c := range map[string]struct{ text, want string }{
		"started twice each": {chain(40, 2, "spawns"), refused},
		"2^64 turns":         {chain(65, 2, "spawns"), refused},
		"one below another":  {chain(20_000, 1, "forks"), refused},
		"one session":        {chain(1, 10_001, "spawns"), refused},
		"just too large":     {chain(10_001, 1, "spawns"), refused},
		"just small enough":  {chain(10_000, 1, "spawns"), ""},
		"8190 turns":         {chain(12, 2, "spawns"), ""},
		"16382 turns":        {chain(13, 2, "spawns"), refused},
	} {
		dag, err := dagOf(t, "agents.jsonl", c.text)
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%s: got %.300s", name, got)
		}
		if err != nil {
			continue
		}
		source, err := NewDAG(dag, chatSpec("shared"), Seed{}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.Session(measure.Measured, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADAGThatCannotBeSentIsRefused(t *testing.T) {
	_, err := dagOf(t, "agents.jsonl", `{"session_id": "a", "turns": [{"messages": [{"role": "user", "content": "x"}], "extra_body": {"stream": false}}]}`)
	if err == nil || !strings.Contains(err.Error(), `agents.jsonl:1: turn 0 of session "a": extra_body must not set stream`) {
		t.Errorf("a reserved field: %v", err)
	}
	spec := chatSpec("shared")
	spec.Request.API = "completions"
	if _, err := NewDAG(readDAG(t, agents), spec, Seed{}, Calibration{}); err == nil || !strings.Contains(err.Error(), "chat API") {
		t.Errorf("completions: %v", err)
	}
}

// A file of session trees is read again as it is replayed, wherever in it the sessions of a tree stand.
func TestALongDAGTakesLittleMemory(t *testing.T) {
	const trees = 200
	filler := strings.Repeat("word ", 12_000)
	var text strings.Builder
	for i := range trees {
		fmt.Fprintf(&text, `{"session_id": "root %d", "turns": [{"messages": [{"role": "user", "content": "%d %s"}], "forks": ["fork %d"]}]}`+"\n", i, i, filler, i)
	}
	for i := range trees {
		fmt.Fprintf(&text, `{"session_id": "fork %d", "turns": [{"messages": [{"role": "user", "content": "fork %d"}]}]}`+"\n", i, i)
	}
	content, size := text.String(), text.Len()
	text.Reset()
	open := opening(t, content)
	content = ""
	before := heap()
	dag, err := ReadDAG("agents.jsonl", func() (input.File, error) { return open("") })
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewDAG(dag, chatSpec("shared"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int64{0, trees / 2, trees - 1, trees + 7} {
		session, err := source.Session(measure.Measured, i)
		if err != nil {
			t.Fatal(err)
		}
		said := walk(t, session)
		last := said[len(said)-1].messages
		if want := fmt.Sprintf("%d word", i%trees); !strings.HasPrefix(last[0].Content, want) || last[len(last)-1].Content != fmt.Sprintf("fork %d", i%trees) {
			t.Errorf("session %d says %.20q and %.20q", i, last[0].Content, last[len(last)-1].Content)
		}
	}
	if took := heap() - before; took > int64(size)/2 {
		t.Errorf("a file of %d MiB takes %d MiB", size>>20, took>>20)
	}
	runtime.KeepAlive(source)
}

func TestFaultsBetweenSessionsAreToldUpToTwenty(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, `{"session_id": "%d", "turns": [{"messages": [{"role": "user", "content": "x"}], "forks": ["none"]}]}`+"\n", i)
	}
	_, err := dagOf(t, "agents.jsonl", text.String())
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "agents.jsonl: 39 more faults") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadDAG(f *testing.F) {
	f.Add(lines(agents))
	f.Add(`{"session_id": "a", "turns": [{"messages": [{"role": "user", "content": []}], "forks": ["a"], "spawns": [null]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		dag, err := dagOf(t, "fuzz.jsonl", text)
		if err != nil {
			return
		}
		source, err := NewDAG(dag, chatSpec("isolated"), Seed{}, Calibration{})
		if err != nil {
			return
		}
		session, err := source.Session(measure.Measured, 0)
		if err != nil {
			return
		}
		walk(t, session)
	})
}
