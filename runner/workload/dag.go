package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// DAG is a file of session trees in AIPerf's DAG JSONL form: one session a line, whose turns name the sessions that they fork or spawn.
//
// A fork inherits the conversation, a spawn starts afresh and may be started from several places. Sessions that no other names are roots.
type DAG struct {
	file     string
	sessions map[string]*dagSession
	roots    []*dagSession // in the order of the file
}

// Roots is the number of session trees in the file.
func (d *DAG) Roots() int { return len(d.roots) }

type dagSession struct {
	line int

	ID        string    `json:"session_id"`
	Turns     []dagTurn `json:"turns"`
	PreSpawns []string  `json:"pre_session_spawns"`
}

type dagTurn struct {
	Messages  []json.RawMessage `json:"messages"`
	Model     *string           `json:"model"`
	MaxTokens *int64            `json:"max_tokens"`
	Tools     json.RawMessage   `json:"tools"`
	Extra     map[string]any    `json:"extra"`
	ExtraBody map[string]any    `json:"extra_body"`
	Delay     float64           `json:"delay"` // milliseconds
	Forks     []dagFork         `json:"forks"`
	Spawns    []dagSpawn        `json:"spawns"`
}

// dagFork is a fork: a session's id alone, or an object. A fork that is not in the background ends its parent, so it stands in the last turn.
type dagFork struct {
	Child      string `json:"child"`
	Background bool   `json:"background"`
}

// UnmarshalJSON reads both forms.
func (f *dagFork) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &f.Child) == nil {
		return nil
	}
	type object dagFork
	return strictly(text, (*object)(f))
}

// dagSpawn is spawned sessions and the turn that waits for them: a session's id alone, or an object. Without JoinAt it is the next turn; where there
// is none, nobody waits.
type dagSpawn struct {
	Children []string `json:"children"`
	JoinAt   *int     `json:"join_at"`
}

// UnmarshalJSON reads both forms.
func (s *dagSpawn) UnmarshalJSON(text []byte) error {
	var child string
	if json.Unmarshal(text, &child) == nil {
		s.Children = []string{child}
		return nil
	}
	type object dagSpawn
	return strictly(text, (*object)(s))
}

// strictly reads one JSON value without fields that into lacks.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// ReadDAG reads a file of session trees; file names it in errors. All that is wrong with it comes in one error, a line each: `file:line: what`.
// Empty lines are passed over.
func ReadDAG(file string, r io.Reader) (*DAG, error) {
	d := &DAG{file: file, sessions: map[string]*dagSession{}}
	var problems []error
	read := bufio.NewReader(r)
	for line, more := 1, true; more; line++ {
		text, err := read.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		more = err == nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := d.add(line, text); err != nil {
				problems = append(problems, fmt.Errorf("%s:%d: %w", file, line, err))
			}
		}
	}
	if len(problems) == 0 {
		problems = d.link()
	}
	if len(problems) == 0 && len(d.roots) == 0 {
		problems = append(problems, fmt.Errorf("%s:1: there is no session that no other names", file))
	}
	return d, errors.Join(problems...)
}

func (d *DAG) add(line int, text []byte) error {
	s := &dagSession{line: line}
	if err := strictly(text, s); err != nil {
		return fmt.Errorf("parsing a session: %w", err)
	}
	if err := s.check(); err != nil {
		return err
	}
	if first, ok := d.sessions[s.ID]; ok {
		return fmt.Errorf("session %q stands in line %d already", s.ID, first.line)
	}
	d.sessions[s.ID] = s
	d.roots = append(d.roots, s)
	return nil
}

func (s *dagSession) check() error {
	if s.ID == "" || len(s.Turns) == 0 {
		return errors.New("a session needs a session_id and at least one turn")
	}
	for i := range s.Turns {
		if err := s.Turns[i].check(i, len(s.Turns)); err != nil {
			return fmt.Errorf("turn %d of session %q: %w", i, s.ID, err)
		}
	}
	return nil
}

func (t *dagTurn) check(index, turns int) error {
	for _, message := range t.Messages {
		var fields struct {
			Role string `json:"role"`
		}
		if err := json.Unmarshal(message, &fields); err != nil || fields.Role == "" {
			return errors.New("each message must be an object with a role")
		}
	}
	switch {
	case len(t.Messages) == 0:
		return errors.New("messages must not be empty")
	case t.MaxTokens != nil && *t.MaxTokens < 1:
		return errors.New("max_tokens must be at least 1")
	case !(t.Delay >= 0) || t.Delay > float64(longestDelay/time.Millisecond):
		return fmt.Errorf("delay must be from 0 to %d milliseconds", longestDelay/time.Millisecond)
	}
	for _, fork := range t.Forks {
		if !fork.Background && index+1 < turns {
			return fmt.Errorf("the fork to %q must be in the background or in the last turn", fork.Child)
		}
	}
	for _, spawn := range t.Spawns {
		if len(spawn.Children) == 0 {
			return errors.New("a spawn needs children")
		}
		if spawn.JoinAt != nil && (*spawn.JoinAt <= index || *spawn.JoinAt >= turns) {
			return fmt.Errorf("join_at is %d: it must be a later turn of the session", *spawn.JoinAt)
		}
	}
	return nil
}

const longestDelay = 365 * 24 * time.Hour

// forked lists the sessions that t forks.
func (t *dagTurn) forked() []string {
	var ids []string
	for _, fork := range t.Forks {
		ids = append(ids, fork.Child)
	}
	return ids
}

// spawned lists the sessions that t spawns.
func (t *dagTurn) spawned() []string {
	var ids []string
	for _, spawn := range t.Spawns {
		ids = append(ids, spawn.Children...)
	}
	return ids
}

// joins is the turn that waits for a spawn of turn index; 0 where none does.
func (s dagSpawn) joins(index, turns int) int {
	switch {
	case s.JoinAt != nil:
		return *s.JoinAt
	case index+1 < turns:
		return index + 1
	}
	return 0
}
