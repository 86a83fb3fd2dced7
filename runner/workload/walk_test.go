package workload

import (
	"encoding/json"
	"fmt"
	"testing"
)

// sent is a request of a session tree, as a service saw it.
type sent struct {
	path     string // "0", "1", "1.0:0": the turn, and above it the turn and number of the fork
	body     map[string]any
	messages []message
	request  Request
	turn     *Turn
}

type message struct{ Role, Content string }

// walk sends a session tree, each fork right after its turn, to a service that answers "answer to PATH".
func walk(t testing.TB, s *Session) []sent {
	t.Helper()
	return walkFrom(t, s, "", nil)
}

func walkFrom(t testing.TB, s *Session, prefix string, answers []Answer) []sent {
	t.Helper()
	var all []sent
	for i := range s.Turns {
		turn := &s.Turns[i]
		path := fmt.Sprintf("%s%d", prefix, i)
		answer := Answer{}
		if turn.Build != nil {
			request, err := turn.Build(answers)
			if err != nil {
				t.Fatal(err)
			}
			one := sent{path: path, request: request, turn: turn}
			if err := json.Unmarshal(request.Body, &one.body); err != nil {
				t.Fatalf("%s: %v in %s", path, err, request.Body)
			}
			var chat struct{ Messages []message }
			if err := json.Unmarshal(request.Body, &chat); err == nil {
				one.messages = chat.Messages
			}
			all = append(all, one)
			if request.WantText {
				answer.Text = "answer to \"" + path + "\""
			}
		}
		answers = append(answers[:len(answers):len(answers)], answer)
		for n, fork := range turn.Forks {
			var inherited []Answer
			if fork.Inherits {
				inherited = answers
			}
			all = append(all, walkFrom(t, fork.Session, fmt.Sprintf("%s.%d:", path, n), inherited)...)
		}
	}
	return all
}
