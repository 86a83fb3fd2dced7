package trace

import (
	"encoding/json"
	"time"

	"sweetspot/runner/workload/input"
)

// Format is one form of file.
type Format struct {
	Name    string
	Entries input.Format // how the file is cut into entries
	// Parse reads an entry. What is wrong with it comes as one error, which names the field; it keeps no part of the entry.
	Parse func(input.Entry) (*Session, error)
}

// Session is what was recorded of one session: requests that follow one another.
type Session struct {
	// Key is equal in entries that stand one after the other and make one session together; empty where an entry is a session by itself.
	Key string
	// At is when the session began, on the file's own clock; nil where it doesn't say.
	At    *time.Duration
	Turns []Turn // at least one
	// Local says that blocks mean something within the session alone: in another, the same number is another block.
	Local bool
}

// Turn is one recorded request. What it asked is either Text, or Messages, or unknown but for its length: PromptTokens.
type Turn struct {
	Delay        time.Duration // since the end of the turn before, or since the session began
	NotBefore    time.Duration // since the session began; 0 where nothing is said
	PromptTokens int64
	// Blocks name the blocks of BlockTokens each that the prompt begins with: equal ones have equal text. They reach no further than PromptTokens.
	Blocks      []uint64
	BlockTokens int64
	Text        *string
	Messages    []json.RawMessage // each an object with a role
	// Delta says that Messages go on with those of the turns before and the service's answers to them; else they are all that is asked.
	Delta        bool
	API          string         // that Text or Messages are for, "chat" or "completions"; empty where either will do
	OutputTokens int64          // most of the answer; 0 where it says nothing
	Fields       map[string]any // other fields of the body
	Forks        []Fork         // start when the turn has ended
}

// Fork is a session that a turn of another started.
type Fork struct {
	Session *Session
	// JoinAt is the turn of the other that waits until this session has ended, by its index. 0: none does.
	JoinAt int
}

// MostTokens bounds the length of a prompt and of an answer.
const MostTokens = 10_000_000

// mostDelay bounds the time between turns.
const mostDelay = 365 * 24 * time.Hour
