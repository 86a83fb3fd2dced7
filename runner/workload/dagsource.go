package workload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sweetspot/schema"
)

// NewDAG gives a source of the session trees of a file; spec.Workload is not looked at. Session i replays the file's tree i, over and over; those
// before and after the measured phase begin at the other end of the file.
//
// A turn sends the conversation so far, with the live answers, and its own messages; its model, max_tokens, tools, extra and extra_body stand
// before those of spec. Without max_tokens it asks for no length, and is taken to have been answered in 256 tokens where it is not sent. An isolated nonce stands in front of each conversation's first message; a spawn
// begins a conversation. cal is for the context probe, and for answers to turns that are not sent. The sessions of pre_session_spawns start with their parent, and a turn's delay follows the answer before it.
//
// It is an error if the requests are not for the chat API.
func NewDAG(dag *DAG, spec schema.Spec, seed Seed, cal Calibration) (*Source, error) {
	if spec.Request.API == "completions" {
		return nil, errors.New("making requests: session trees of messages need the chat API")
	}
	w, err := newWriter(spec, seed, wholeNonce)
	if err != nil {
		return nil, err
	}
	scale := cal.Words.orEstimate(shuffledWords{}, w)
	replayed := &dagSessions{dag: dag, spec: spec, writer: w, scale: scale}
	return &Source{sessions: replayed, writer: w, probe: scale}, nil
}

// dagRequest is what a turn of a file sends, as far as it is known before the answers.
type dagRequest struct {
	encoder  *Encoder
	messages string    // as a list without brackets
	opening  [2]string // the same, around a nonce
	limit    int64     // of the answer's tokens; 0 where there is none
}

func newDAGRequest(turn *dagTurn, spec schema.Spec) (*dagRequest, error) {
	request, model := spec.Request, spec.Model
	if turn.Model != nil {
		model = *turn.Model
	}
	request = requestWith(request, turn.Extra, turn.ExtraBody)
	if len(turn.Tools) > 0 {
		request.ExtraBody["tools"] = turn.Tools
	}
	encoder, err := NewEncoder(model, request)
	if err != nil {
		return nil, err
	}
	messages := make([]string, len(turn.Messages))
	for i, message := range turn.Messages {
		messages[i] = string(message)
	}
	r := &dagRequest{encoder: encoder, messages: strings.Join(messages, ",")}
	if turn.MaxTokens != nil {
		r.limit = *turn.MaxTokens
	}
	before, after, err := openMessage(turn.Messages[0])
	r.opening = [2]string{before, strings.Join(append([]string{after}, messages[1:]...), ",")}
	return r, err
}

// openMessage cuts a message where a nonce goes: in front of its text.
func openMessage(message json.RawMessage) (before, after string, err error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(message, &fields); err != nil {
		return "", "", fmt.Errorf("parsing a message: %w", err)
	}
	content := strings.TrimSpace(string(fields["content"]))
	delete(fields, "content")
	rest, err := json.Marshal(fields)
	if err != nil {
		return "", "", fmt.Errorf("encoding a message: %w", err)
	}
	before = strings.TrimSuffix(string(rest), "}") + `,"content":`
	switch {
	case strings.HasPrefix(content, `"`):
		return before + `"`, content[1:] + "}", nil
	case strings.HasPrefix(content, "["):
		parts := strings.TrimSpace(content[1:])
		if parts != "]" {
			parts = "," + parts
		}
		return before + `[{"type":"text","text":"`, `"}` + parts + "}", nil
	}
	return before + `"`, `"}`, nil // no content, or null
}

type dagSessions struct {
	dag    *DAG
	spec   schema.Spec
	writer *writer
	scale  Scale
}

func (d *dagSessions) session(at place) (*Session, error) {
	root, err := d.dag.book.At(d.dag.roots[turned(at, int64(len(d.dag.roots)))])
	if err != nil {
		return nil, err
	}
	session, err := (&replay{dagSessions: d, at: at}).session(root, nil)
	if err != nil {
		return nil, fmt.Errorf("making session %d: %w", at>>phaseBits, err)
	}
	return session, nil
}

// replay is the making of one session tree of a file.
type replay struct {
	*dagSessions
	at    place
	turns int
}

// dagSaid is a turn of a conversation: what it says, nil where it says nothing, and the nonce before it, of the first one alone.
type dagSaid struct {
	request *dagRequest
	nonce   []byte
}

// session makes the session of a line that goes on with h.
func (r *replay) session(s *dagSession, h []dagSaid) (*Session, error) {
	session := &Session{}
	opens := len(h) == 0
	h = slices.Clip(h) // from here on it is this session's own, and its turns share it
	before := 0        // turns that the line does not have
	if len(s.PreSpawns) > 0 {
		forks, err := r.fork(s.PreSpawns, nil, 0)
		if err != nil {
			return nil, err
		}
		session.Turns = append(session.Turns, Turn{Forks: forks})
		h = append(h, dagSaid{})
		before = 1
	}
	for i := range s.Turns {
		if r.turns++; r.turns > mostTurns {
			return nil, fmt.Errorf("its tree has more than %d turns", mostTurns)
		}
		request, err := newDAGRequest(&s.Turns[i], r.spec)
		if err != nil {
			return nil, fmt.Errorf("turn %d of session %q: %w", i, s.ID, err)
		}
		said, at := dagSaid{request: request}, place(mix(uint64(r.at)+1)+uint64(r.turns))
		if opens && i == 0 {
			said.nonce = r.writer.nonces.append(nil, at)
		}
		h = append(h, said)
		forks, err := r.forks(s, i, h, before)
		if err != nil {
			return nil, err
		}
		turn := r.turn(h, at, i+1 < len(s.Turns) || len(s.Turns[i].Forks) > 0)
		turn.Delay, turn.Forks = time.Duration(s.Turns[i].Delay*float64(time.Millisecond)), forks
		session.Turns = append(session.Turns, turn)
	}
	return session, nil
}

// turn is the one that ends h.
func (r *replay) turn(h []dagSaid, at place, wantText bool) Turn {
	limit := h[len(h)-1].request.limit
	return Turn{
		Build: buildDAG(h, limit, wantText),
		Replay: &Replay{
			Prefill: buildDAG(h, 1, false),
			Answer:  func() Answer { return r.writer.madeUpAnswer(at, r.scale.wordsOf(cmp.Or(limit, assumedTokens))) },
		},
	}
}

// forks makes what turn i of s starts, where so many turns stand before the line's own.
func (r *replay) forks(s *dagSession, i int, h []dagSaid, before int) ([]Fork, error) {
	turn := &s.Turns[i]
	forks, err := r.fork(turn.forked(), h, 0)
	if err != nil {
		return nil, err
	}
	for _, spawn := range turn.Spawns {
		joins := spawn.joins(i, len(s.Turns))
		if joins > 0 {
			joins += before
		}
		spawned, err := r.fork(spawn.Children, nil, joins)
		if err != nil {
			return nil, err
		}
		forks = append(forks, spawned...)
	}
	return forks, nil
}

// fork makes the sessions of lines; with h they inherit it. The turn with the index joinAt waits for them, where it is above 0.
func (r *replay) fork(ids []string, h []dagSaid, joinAt int) ([]Fork, error) {
	var forks []Fork
	for _, id := range ids {
		line, err := r.dag.session(id)
		if err != nil {
			return nil, err
		}
		session, err := r.session(line, h)
		if err != nil {
			return nil, err
		}
		forks = append(forks, Fork{Session: session, Inherits: h != nil, JoinAt: joinAt})
	}
	return forks, nil
}

// assumedTokens is the length of an assumed answer to a turn that asks for no length.
const assumedTokens = 256

// buildDAG gives the Build of the turn that ends h, which asks for at most limit tokens; 0 is no length.
func buildDAG(h []dagSaid, limit int64, wantText bool) func([]Answer) (Request, error) {
	return func(answers []Answer) (Request, error) {
		var messages []byte
		for i, said := range h {
			if said.request == nil {
				continue
			}
			if len(messages) > 0 {
				messages = append(messages, ',')
			}
			messages = said.append(messages)
			if i+1 < len(h) {
				messages = append(messages, `,{"role":"assistant","content":"`...)
				messages = append(append(messages, jsonSafe(answers[i].Text)...), `"}`...)
			}
		}
		r := h[len(h)-1].request
		return Request{Body: r.encoder.of(messages, limit), OutputTokens: limit, WantText: wantText}, nil
	}
}

// append writes the messages of a turn, without brackets.
func (s dagSaid) append(b []byte) []byte {
	if len(s.nonce) == 0 {
		return append(b, s.request.messages...)
	}
	b = append(b, s.request.opening[0]...)
	b = append(b, s.nonce...)
	return append(b, s.request.opening[1]...)
}
