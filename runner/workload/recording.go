package workload

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"sweetspot/runner/workload/input"
	"sweetspot/runner/workload/trace"
	"sweetspot/schema"
)

// Recording is a trace that was read whole once and is read again as it is replayed. It takes the same memory however long the file is.
type Recording struct {
	book    *input.Book[*trace.Session]
	context contextLimit
	found   findings
	marks   []int64 // the entry at which each 64th session begins; nil where each entry is a session
}

// contextLimit is what is to become of requests that are too long.
type contextLimit struct {
	tokens int64 // prompt and output together; 0: no limit
	cut    bool
}

// prompt is the prompt's length within the limit.
func (l contextLimit) prompt(turn *trace.Turn) int64 {
	if l.tokens == 0 {
		return turn.PromptTokens
	}
	return min(turn.PromptTokens, max(1, l.tokens-turn.OutputTokens))
}

// findings are what the first reading found.
type findings struct {
	sessions, requests, cut int64
	untimed                 bool // a session doesn't say when it began
	first, last             time.Duration
	longest                 int64   // prompt and output, of prompts whose text is made
	blocks                  []int64 // sizes
	api                     string
	grouped                 bool // a session has several entries
}

const (
	sessionsApart  = 64
	mostNamed      = 1_000_000 // sessions with a name
	mostBlockSizes = 4
)

// formatOf is the form of the file that a workload names.
func formatOf(w schema.Workload) (trace.Format, contextLimit, error) {
	limit := func(most *int64, over string) contextLimit {
		if most == nil {
			return contextLimit{}
		}
		return contextLimit{*most, over == "cut"}
	}
	if w.Weka != nil {
		return trace.Weka(time.Duration(w.Weka.MaxThinkTime)), limit(w.Weka.MaxContext, w.Weka.OverMaxContext), nil
	}
	t := w.Trace
	size := func(usual int64) int64 {
		if t.BlockSize != nil {
			return *t.BlockSize
		}
		return usual
	}
	within := limit(t.MaxContext, t.OverMaxContext)
	switch t.Format {
	case "mooncake":
		return trace.Mooncake(size(512)), within, nil
	case "bailian":
		return trace.Bailian(size(16)), within, nil
	case "burstgpt":
		return trace.BurstGPT(), within, nil
	case "batch":
		return trace.Batch(), within, nil
	}
	return trace.Format{}, within, fmt.Errorf("no form of trace is called %q", t.Format)
}

// readRecording reads a trace whole.
func readRecording(w schema.Workload, open func() (input.File, error)) (*Recording, error) {
	name, _ := w.File()
	format, limit, err := formatOf(w)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	first := &firstReading{context: limit, names: map[uint64]bool{}, hash: maphash.MakeSeed()}
	over := false
	book, err := input.Read(name, open, format.Entries, func(e input.Entry) (*trace.Session, error) {
		session, err := format.Parse(e)
		if err == nil && !over {
			err = first.look(session)
		}
		return session, err
	})
	if err != nil {
		return nil, err
	}
	over = true
	r := &Recording{book: book, context: limit, found: first.findings}
	if first.grouped {
		r.marks = first.marks
	}
	return r, nil
}

// firstReading finds what can only be seen of a trace as a whole.
type firstReading struct {
	findings
	context contextLimit
	marks   []int64
	entries int64
	names   map[uint64]bool // of sessions, hashed
	hash    maphash.Seed
	last    *trace.Session // the entry before
	turns   int            // of the session so far
}

func (f *firstReading) look(s *trace.Session) error {
	defer func() { f.entries, f.last = f.entries+1, s }()
	if f.last != nil && s.Key != "" && s.Key == f.last.Key {
		f.grouped = true
		if err := f.goesOn(s); err != nil {
			return err
		}
	} else if err := f.begins(s); err != nil {
		return err
	}
	return f.walk(s)
}

// begins looks at the first entry of a session.
func (f *firstReading) begins(s *trace.Session) error {
	f.turns = 0
	if f.sessions%sessionsApart == 0 {
		f.marks = append(f.marks, f.entries)
	}
	f.sessions++
	if s.Key != "" {
		name := maphash.String(f.hash, s.Key)
		switch {
		case f.names[name]:
			return fmt.Errorf("session_id %q was there before, and another session since: the lines of a session must follow one another", s.Key)
		case len(f.names) == mostNamed:
			return fmt.Errorf("there are more than %d sessions with a session_id", mostNamed)
		}
		f.names[name] = true
	}
	switch {
	case s.At == nil:
		f.untimed = true
		return nil
	case f.sessions == 1:
		f.first = *s.At
	case *s.At < f.findings.last:
		return errors.New("its time is before that of the session before: a trace must be in the order of time")
	}
	f.findings.last = *s.At
	return nil
}

// goesOn looks at a later entry of a session.
func (f *firstReading) goesOn(s *trace.Session) error {
	if s.Turns[0].Delta != f.last.Turns[0].Delta {
		return errors.New("message_mode must be the same in all lines of a session")
	}
	if s.At != nil && f.last.At != nil && *s.At < *f.last.At {
		return errors.New("its time is before that of the turn before")
	}
	return nil
}

// walk looks at all requests of a session.
func (f *firstReading) walk(s *trace.Session) error {
	for i := range s.Turns {
		turn := &s.Turns[i]
		if f.turns++; f.turns > mostTurns {
			return fmt.Errorf("the session has more than %d turns, all forks together", mostTurns)
		}
		if err := f.turn(turn); err != nil {
			return err
		}
		for _, fork := range turn.Forks {
			if err := f.walk(fork.Session); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *firstReading) turn(turn *trace.Turn) error {
	if sends(turn) {
		f.requests++
	}
	if turn.API != "" {
		if f.api != "" && f.api != turn.API {
			return fmt.Errorf("its request is for the API %s, others of the file are for %s: a file is for one", turn.API, f.api)
		}
		f.api = turn.API
	}
	for name := range turn.Fields {
		if name != "temperature" && name != "ignore_eos" && slices.Contains(reserved, name) {
			return fmt.Errorf("%s can't be set by a trace: sweetspot sets it, or it would change what is measured", name)
		}
	}
	if turn.PromptTokens == 0 {
		return nil
	}
	return f.lengths(turn)
}

// lengths looks at a request whose length is known.
func (f *firstReading) lengths(turn *trace.Turn) error {
	if whole := turn.PromptTokens + turn.OutputTokens; f.context.tokens > 0 && whole > f.context.tokens {
		switch {
		case turn.OutputTokens >= f.context.tokens:
			return fmt.Errorf("the answer of %d tokens leaves no room in a max_context of %d", turn.OutputTokens, f.context.tokens)
		case !f.context.cut:
			return fmt.Errorf("prompt and answer have %d tokens, above max_context, which is %d: over_max_context \"cut\" cuts such prompts", whole, f.context.tokens)
		}
		f.cut++
	}
	f.longest = max(f.longest, f.context.prompt(turn)+turn.OutputTokens)
	if len(turn.Blocks) > 0 && !slices.Contains(f.blocks, turn.BlockTokens) {
		if len(f.blocks) == mostBlockSizes {
			return fmt.Errorf("there are more than %d sizes of blocks", mostBlockSizes)
		}
		f.blocks = append(f.blocks, turn.BlockTokens)
	}
	return nil
}

// sends reports whether a turn has a request.
func sends(turn *trace.Turn) bool {
	return turn.PromptTokens > 0 || turn.Text != nil || len(turn.Messages) > 0
}

// extent is what a preset is held against.
func (r *Recording) extent() schema.Extent {
	return schema.Extent{Requests: r.found.requests, Timed: !r.found.untimed, API: r.found.api}
}

// notes are what a person should know of the file, a sentence each.
func (r *Recording) notes() []string {
	if r.found.cut == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d of %d requests are longer than max_context, %d tokens: the ends of their prompts are left out",
		r.book.Name(), r.found.cut, r.found.requests, r.context.tokens)}
}

// session gives session i of the file, whole. It is the caller's, but for what its turns point at.
func (r *Recording) session(i int64) (*trace.Session, error) {
	from, err := r.entryOf(i)
	if err != nil {
		return nil, err
	}
	first, err := r.book.At(from)
	if err != nil || r.marks == nil || first.Key == "" {
		return first, err
	}
	whole := *first
	whole.Turns = slices.Clone(first.Turns)
	for n := from + 1; n < r.book.Len(); n++ {
		next, err := r.book.At(n)
		if err != nil {
			return nil, err
		}
		if next.Key != first.Key {
			break
		}
		turn := next.Turns[0]
		if next.At != nil && first.At != nil {
			turn.NotBefore = *next.At - *first.At
		}
		whole.Turns = append(whole.Turns, turn)
	}
	return &whole, nil
}

// entryOf is the entry at which session i begins.
func (r *Recording) entryOf(i int64) (int64, error) {
	if r.marks == nil {
		return i, nil
	}
	entry := r.marks[i/sessionsApart]
	for left := i % sessionsApart; left > 0; {
		here, err := r.book.At(entry)
		if err != nil {
			return 0, err
		}
		entry++
		if entry == r.book.Len() {
			return 0, fmt.Errorf("session %d is not in %s", i, r.book.Name())
		}
		next, err := r.book.At(entry)
		if err != nil {
			return 0, err
		}
		if next.Key == "" || next.Key != here.Key {
			left--
		}
	}
	return entry, nil
}

// due is when session i of a phase starts since the phase's start, at a speed. In the measured phase it is the file's own time since its first session; after
// the last session comes the first again, one mean gap later. In warmup sessions are a mean gap apart, at most a second.
func (r *Recording) due(at place, speed float64) (time.Duration, error) {
	n, i := r.found.sessions, int64(at>>phaseBits)
	span := r.found.last - r.found.first
	gap := span / time.Duration(max(1, n-1))
	if at%(1<<phaseBits) != inMeasured {
		return time.Duration(i) * min(time.Second, time.Duration(float64(gap)/speed)), nil
	}
	s, err := r.sessionStart(i % n)
	if err != nil {
		return 0, err
	}
	lap := float64(i/n) * float64(span+cmp.Or(gap, time.Second))
	return time.Duration((lap + float64(s-r.found.first)) / speed), nil
}

// sessionStart is when session i began on the file's own clock.
func (r *Recording) sessionStart(i int64) (time.Duration, error) {
	entry, err := r.entryOf(i)
	if err != nil {
		return 0, err
	}
	s, err := r.book.At(entry)
	if err != nil {
		return 0, err
	}
	if s.At == nil {
		return 0, fmt.Errorf("session %d of %s doesn't say when it began", i, r.book.Name())
	}
	return *s.At, nil
}
