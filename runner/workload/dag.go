package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"sweetspot/schema"
)

// dagSession is a line of a file of session trees.
type dagSession struct {
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
	Spawns    dagSpawns         `json:"spawns"`
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

// dagSpawns are a list, or one spawn by itself.
type dagSpawns []dagSpawn

// UnmarshalJSON reads both forms.
func (s *dagSpawns) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		*s = make(dagSpawns, 1)
		return strictly(text, &(*s)[0])
	}
	return strictly(text, (*[]dagSpawn)(s))
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

func (s *dagSession) check() error {
	if s.ID == "" || len(s.Turns) == 0 {
		return errors.New("a session needs a session_id and at least one turn")
	}
	for i := range s.Turns {
		turn := &s.Turns[i]
		err := turn.check(i, len(s.Turns))
		if err == nil {
			_, err = newDAGRequest(turn, schema.Spec{}) // what a turn must not set hangs on no preset
		}
		if err != nil {
			return fmt.Errorf("turn %d of session %q: %w", i, s.ID, err)
		}
		for _, ids := range [][]string{turn.forked(), turn.spawned()} {
			if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
				return fmt.Errorf("session %q starts a session twice in turn %d", s.ID, i)
			}
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
	case t.MaxTokens != nil && (*t.MaxTokens < 1 || *t.MaxTokens > mostTokens):
		return fmt.Errorf("max_tokens must be a whole number from 1 to %d, not %d", mostTokens, *t.MaxTokens)
	case !(t.Delay >= 0) || t.Delay > float64(longestDelay/time.Millisecond):
		return fmt.Errorf("delay must be from 0 to %d milliseconds", longestDelay/time.Millisecond)
	}
	for _, fork := range t.Forks {
		if !fork.Background && index+1 < turns {
			return fmt.Errorf("the fork to %q must be in the background or in the last turn: write {\"child\": %[1]q, \"background\": true}", fork.Child)
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

// children are all sessions that s starts.
func (s *dagSession) children() []string {
	ids := slices.Clone(s.PreSpawns)
	for i := range s.Turns {
		ids = append(append(ids, s.Turns[i].forked()...), s.Turns[i].spawned()...)
	}
	return ids
}
