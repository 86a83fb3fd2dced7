package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func chatSpec(cache string) schema.Spec {
	return schema.Spec{Model: "m", Request: schema.Request{API: "chat", Cache: cache}}
}

func plainShape() TreeShape {
	return TreeShape{
		Turns: constant(2), PromptTokens: constant(100), OutputTokens: constant(16), ThinkTime: constant(1500), ForkWidth: constant(0),
	}
}

func treeAt(t testing.TB, shape TreeShape, seed Seed, index int64) *Session {
	t.Helper()
	source, err := NewTree(shape, chatSpec("isolated"), seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := source.Session(measure.Measured, index)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestLaterTurnsCarryTheConversation(t *testing.T) {
	shape := plainShape()
	shape.Turns = constant(3)
	requests := walk(t, treeAt(t, shape, Seed{Run: "a"}, 3))
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	first, second, third := requests[0], requests[1], requests[2]
	if len(first.messages) != 1 || len(second.messages) != 3 || len(third.messages) != 5 {
		t.Fatalf("%d, %d and %d messages", len(first.messages), len(second.messages), len(third.messages))
	}
	want := []message{
		first.messages[0], {"assistant", `answer to "0"`}, second.messages[2], {"assistant", `answer to "1"`}, {"user", third.messages[4].Content},
	}
	if diff := cmp.Diff(want, third.messages); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	said := []string{second.messages[2].Content, third.messages[4].Content}
	if !strings.HasPrefix(said[0], "Words ") || !strings.HasPrefix(said[1], "Words ") || said[0] == said[1] {
		t.Errorf("the later turns say %q", said)
	}
	if first.turn.Delay != 0 || second.turn.Delay != 1500*time.Millisecond {
		t.Errorf("delays %v and %v", first.turn.Delay, second.turn.Delay)
	}
	if first.request.PromptTokens != 100 || second.request.PromptTokens != 0 || second.request.OutputTokens != 16 || third.request.WantText {
		t.Errorf("requests %+v, %+v and %+v", first.request, second.request, third.request)
	}
}

func TestCompletionsCarryTheConversationAsOnePrompt(t *testing.T) {
	spec := chatSpec("shared")
	spec.Request.API = "completions"
	source, err := NewTree(plainShape(), spec, Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := source.Session(measure.Measured, 0)
	if err != nil {
		t.Fatal(err)
	}
	requests := walk(t, session)
	before, rest := requests[0].body["prompt"].(string), requests[1].body["prompt"].(string)
	if !strings.HasPrefix(rest, before+"\n\nanswer to \"0\"\n\nWords ") {
		t.Errorf("the second prompt is %q", rest)
	}
}

func TestForksInheritOrStartAfresh(t *testing.T) {
	shape := plainShape()
	shape.Depth, shape.ForkWidth, shape.InheritShare = 1, constant(2), 100
	requests := map[string]sent{}
	for _, r := range walk(t, treeAt(t, shape, Seed{Run: "a"}, 0)) {
		requests[r.path] = r
	}
	if len(requests) != 2+2*2*2 {
		t.Fatalf("%d requests", len(requests))
	}
	want := append(requests["0"].messages, message{"assistant", `answer to "0"`})
	if diff := cmp.Diff(want, requests["0.1:0"].messages[:2]); diff != "" {
		t.Errorf("a fork that inherits (-want +got):\n%s", diff)
	}
	if a, b := requests["0.0:0"].messages[2], requests["0.1:0"].messages[2]; a == b {
		t.Errorf("two forks say the same: %+v", a)
	}
	if !requests["1"].request.WantText {
		t.Error("the last turn's answer is inherited and not kept")
	}
	shape.InheritShare = 0
	for _, r := range walk(t, treeAt(t, shape, Seed{Run: "a"}, 0)) {
		if r.path == "0.0:0" && (len(r.messages) != 1 || !strings.Contains(r.messages[0].Content, " file a.\n\n")) {
			t.Errorf("a fork that starts afresh sends %+v", r.messages)
		}
		if r.path == "1" && r.request.WantText {
			t.Error("the last turn's answer is kept for nobody")
		}
	}
}

func TestForksJoinTheNextTurnThatWaits(t *testing.T) {
	shape := plainShape()
	shape.Turns, shape.Depth, shape.ForkWidth, shape.JoinShare = constant(4), 1, constant(2), 100
	for i, turn := range treeAt(t, shape, Seed{}, 0).Turns {
		for _, fork := range turn.Forks {
			if want := (i + 1) % 4; fork.JoinAt != want {
				t.Errorf("turn %d waits for a fork of turn %d, want %d", fork.JoinAt, i, want)
			}
		}
	}
	shape.JoinShare = 0
	for i, turn := range treeAt(t, shape, Seed{}, 0).Turns {
		for _, fork := range turn.Forks {
			if fork.JoinAt != 0 {
				t.Errorf("turn %d waits for a fork of turn %d, and none should", fork.JoinAt, i)
			}
		}
	}
	shape.JoinShare = 50
	waits, runsOn := 0, 0 // forks that the next turn waits for, and that a later one does
	for index := range int64(50) {
		for i, turn := range treeAt(t, shape, Seed{}, index).Turns {
			switch at := turn.Forks[0].JoinAt; {
			case at == i+1:
				waits++
			case at > i+1:
				runsOn++
			case at != 0:
				t.Errorf("turn %d waits for a fork of turn %d", at, i)
			}
		}
	}
	if waits < 50 || runsOn < 20 {
		t.Errorf("of 150 turns that forked before another, %d joined the next and %d a later one", waits, runsOn)
	}
}

// outline is the shape of a tree, without its text.
func outline(s *Session) any {
	type turn struct {
		Delay  time.Duration
		Output int64
		Forks  []any
	}
	var turns []turn
	for _, x := range s.Turns {
		request, _ := x.Build(make([]Answer, 1000))
		one := turn{Delay: x.Delay, Output: request.OutputTokens}
		for _, fork := range x.Forks {
			one.Forks = append(one.Forks, fork.Inherits, fork.JoinAt, outline(fork.Session))
		}
		turns = append(turns, one)
	}
	return turns
}

func TestShapesAreEqualAcrossTrialsAndTextIsNot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shape := TreeShape{
			Turns: uniform(1, 4), PromptTokens: uniform(20, 60), OutputTokens: uniform(1, 9), ThinkTime: uniform(0, 3000),
			Depth: rapid.Int64Range(0, 3).Draw(rt, "depth"), ForkWidth: uniform(0, 2), InheritShare: 50, JoinShare: 50,
		}
		index := rapid.Int64Range(0, 1000).Draw(rt, "index")
		a := treeAt(t, shape, Seed{Load: 1, Trial: "a", Run: "x"}, index)
		b := treeAt(t, shape, Seed{Load: 1, Trial: "b", Run: "y"}, index)
		if diff := cmp.Diff(outline(a), outline(b), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("two trials have other trees:\n%s", diff)
		}
		first, second := walk(t, a), walk(t, b)
		seen := map[string]bool{}
		for i := range first {
			said := first[i].messages[len(first[i].messages)-1].Content
			if said == second[i].messages[len(second[i].messages)-1].Content {
				rt.Errorf("request %s is the same in two trials: %s", first[i].path, said)
			}
			if len(first[i].messages) > 1 {
				continue
			}
			nonce := strings.Join(strings.Fields(said)[:8], " ")
			if seen[nonce] {
				rt.Errorf("two conversations of a tree begin with %q", nonce)
			}
			seen[nonce] = true
		}
		if depthOf(a) > int(shape.Depth) {
			rt.Errorf("the tree is %d levels deep", depthOf(a))
		}
	})
}

func depthOf(s *Session) int {
	deepest := 0
	for _, turn := range s.Turns {
		for _, fork := range turn.Forks {
			deepest = max(deepest, 1+depthOf(fork.Session))
		}
	}
	return deepest
}

func TestATreeThatGrowsWithoutBoundIsAnError(t *testing.T) {
	shape := plainShape()
	shape.Depth, shape.ForkWidth = 1000, constant(10)
	source, err := NewTree(shape, chatSpec("isolated"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Session(measure.Measured, 4); err == nil || !strings.Contains(err.Error(), "session 4: its tree has more than 10000 turns") {
		t.Errorf("got %v", err)
	}
}

func TestBadShapesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*TreeShape){
		"tree: turns: exactly one": func(s *TreeShape) { s.Turns = Distribution{} },
		"tree: think_time:":        func(s *TreeShape) { s.ThinkTime = uniform(2, 1) },
		"join_share from 0 to 100": func(s *TreeShape) { s.JoinShare = 101 },
		"depth must be at least 0": func(s *TreeShape) { s.Depth = -1 },
	} {
		shape := plainShape()
		change(&shape)
		if _, err := NewTree(shape, chatSpec("isolated"), Seed{}, Calibration{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
