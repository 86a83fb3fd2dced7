package workload

import "time"

// Request is one request, ready to be sent.
type Request struct {
	Body         []byte // JSON of the whole body; not changed after it was made
	PromptTokens int64  // asked for; 0 where no length was asked for
	OutputTokens int64  // asked for; 0 where no length was asked for
	WantText     bool   // the answer's text is needed by a later turn
}

// Answer is what a turn's request gave, for the turns after it.
type Answer struct {
	Text   string // the visible output; empty unless the request wanted it
	Hidden bool   // there was output beside it: reasoning, or a tool call
}

// Session is a session tree: turns that follow each other, each of which may fork further sessions. The tree holds one session slot from its
// first turn until every turn of every fork has ended.
type Session struct {
	// Due is when the session shall start since its phase's start, where the load replays a trace at a speed; else nobody looks at it.
	Due   time.Duration
	Turns []Turn
}

// Turn is one step of a session: it waits for the forks that join it, thinks, sends, and forks.
type Turn struct {
	// Delay is the think time between the end of the turn before (and of the forks that join this one), or the start of the session, and this
	// turn's being ready.
	Delay time.Duration
	// NotBefore is how long after its session was due the turn is ready at the earliest.
	NotBefore time.Duration
	// Build makes the turn's request from the answers of the turns before it in its session, those of the session it was forked from first: one for
	// each turn, empty for a virtual one. The first turn's of a root is called with none, by another goroutine than the others'.
	// It runs before the turn is scheduled, never inside a measured interval. Nil: a virtual turn that sends nothing and takes no slot.
	Build func(answers []Answer) (Request, error)
	// Replay stands for the turn where a session is started behind it; nil where that can't be done.
	Replay *Replay
	// Forks start when the turn has ended. A fork that inherits is given the answers so far; a fresh one none.
	Forks []Fork
}

// Replay stands for a turn where a session is started behind it: nothing before was sent, so no answer of the service is there.
type Replay struct {
	// Prefill makes the turn's request as Build does, for one output token.
	Prefill func(answers []Answer) (Request, error)
	// Answer is what the turn is taken to have been answered: the same whenever it is asked, of the length that the turn asks for. Nil: an empty one,
	// where no later request hangs on it.
	Answer func() Answer
}

// Fork is a session started by a turn of another.
type Fork struct {
	Session  *Session
	Inherits bool
	// JoinAt is the turn of the session that forked, by its index, that waits until the fork has ended: one behind the turn that forked. 0: no turn
	// does, and the fork runs in the background.
	JoinAt int
}
