package workload

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload/trace"
	"sweetspot/schema"
)

// newReplay gives a source of the sessions of a trace, in the order of its file, over and over. Those before and after the measured phase begin at the
// other end.
//
// What a trace names by blocks is made of words: equal blocks have equal text throughout a source, and different ones different text. A prompt has the
// length that the trace says, by cal; what the chat template and the nonce take is left out at its end. Isolated prompts that share their first block, or
// whose text is known, have a nonce in common, so that what the trace shares stays shared, until the file begins again; others have their own.
func newReplay(r *Recording, spec schema.Spec, seed Seed, cal Calibration) (*Source, error) {
	w, err := newWriter(spec, seed, wholeNonce)
	if err != nil {
		return nil, err
	}
	scale := cal.Words.orEstimate(shuffledWords{}, w)
	made := &recorded{recording: r, spec: spec, writer: w, scale: scale, blocks: map[int64]blockText{}, speed: 1}
	for _, tokens := range r.found.blocks {
		made.blocks[tokens] = fitOf(tokens, scale.Rate)
	}
	for _, fit := range cal.Blocks {
		made.blocks[fit.Tokens] = blockText{length{fit.Words, fit.Fillers}, fit.Counted}
	}
	return &Source{sessions: made, writer: w, probe: scale}, nil
}

// recorded makes the sessions of a trace.
type recorded struct {
	recording *Recording
	spec      schema.Spec
	writer    *writer
	scale     Scale
	blocks    map[int64]blockText // by their tokens
	speed     float64
}

// SetSpeed makes the sessions of a trace start, and their turns follow one another, so many times as fast as they were recorded. It must be called before
// the first session is made; of other workloads nothing is changed.
func (s *Source) SetSpeed(speed float64) {
	if r, ok := s.sessions.(*recorded); ok {
		r.speed = speed
	}
}

// Due gives when the sessions of a phase are due since its start, from an index on, at the speed that was set. It ends where the trace can't be read, or says
// nothing of times.
func (s *Source) Due(phase measure.Phase, from int64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		r, ok := s.sessions.(*recorded)
		if !ok || r.recording.found.untimed {
			return
		}
		for i := from; ; i++ {
			at, err := placeOf(phase, i)
			if err != nil {
				return
			}
			due, err := r.recording.due(at, r.speed)
			if err != nil || !yield(due) {
				return
			}
		}
	}
}

func (r *recorded) session(at place) (*Session, error) {
	n := r.recording.found.sessions
	i := turned(at, n)
	whole, err := r.recording.session(i)
	if err != nil {
		return nil, err
	}
	made := &remade{recorded: r, at: at, lap: r.lap(at)}
	if whole.Local {
		made.local = mix(uint64(i) + 1)
	}
	session, err := made.session(whole)
	if err != nil {
		return nil, fmt.Errorf("session %d of %s: %w", i, r.recording.book.Name(), err)
	}
	if !r.recording.found.untimed {
		session.Due, err = r.recording.due(at, r.speed)
	}
	return session, err
}

// lap is the place of a whole replay of the file: which it is, and in which phase.
func (r *recorded) lap(at place) place {
	return place(int64(at>>phaseBits)/r.recording.found.sessions)<<phaseBits | at%(1<<phaseBits)
}

// remade is the making of one session, with its forks.
type remade struct {
	*recorded
	at    place
	lap   place  // which time the file is replayed, and in which phase
	local uint64 // makes blocks those of this session alone; 0 where they are of the whole file
	turns uint64
}

func (m *remade) session(of *trace.Session) (*Session, error) {
	session := &Session{}
	var said []dagSaid
	for i := range of.Turns {
		turn := &of.Turns[i]
		m.turns++
		made := Turn{Delay: m.timed(turn.Delay), NotBefore: m.timed(turn.NotBefore)}
		var err error
		switch {
		case len(turn.Messages) > 0:
			said, err = m.messages(said, turn)
			made.Build = buildDAG(said, turn.OutputTokens, i+1 < len(of.Turns) && turn.Delta)
		case turn.Text != nil:
			made.Build, err = m.text(turn)
		case turn.PromptTokens > 0:
			made.Build = m.synthesised(turn, turn.OutputTokens)
			made.Replay = &Replay{Prefill: m.synthesised(turn, 1)}
		}
		if err != nil {
			return nil, err
		}
		for _, fork := range turn.Forks {
			sub, err := m.session(fork.Session)
			if err != nil {
				return nil, err
			}
			made.Forks = append(made.Forks, Fork{Session: sub, JoinAt: fork.JoinAt})
		}
		session.Turns = append(session.Turns, made)
	}
	return session, nil
}

func (m *remade) timed(d time.Duration) time.Duration { return time.Duration(float64(d) / m.speed) }

// nonce is the nonce of a prompt that shares its beginning with those of the same number in this lap.
func (m *remade) nonce(number uint64) []byte {
	return m.writer.nonces.append(nil, place(mix(mix(uint64(m.lap)+1)+number)))
}

// messages are all that is said by a turn of messages, after said.
func (m *remade) messages(said []dagSaid, turn *trace.Turn) ([]dagSaid, error) {
	asks := dagTurn{Messages: turn.Messages, Extra: turn.Fields}
	if turn.OutputTokens > 0 {
		asks.MaxTokens = &turn.OutputTokens
	}
	request, err := newDAGRequest(&asks, m.spec)
	if err != nil {
		return nil, err
	}
	if !turn.Delta {
		said = nil
	}
	now := dagSaid{request: request}
	if len(said) == 0 {
		now.nonce = m.nonce(0)
	}
	return append(said[:len(said):len(said)], now), nil
}

// text asks with a text that is known.
func (m *remade) text(turn *trace.Turn) (func([]Answer) (Request, error), error) {
	encoder := m.writer.encoder
	if len(turn.Fields) > 0 {
		own, err := NewEncoder(m.spec.Model, requestWith(m.spec.Request, turn.Fields))
		if err != nil {
			return nil, err
		}
		encoder = own
	}
	return func([]Answer) (Request, error) {
		text := jsonSafe(*turn.Text)
		b := encoder.begin(make([]byte, 0, len(text)+512))
		b = append(append(b, m.nonce(0)...), text...)
		return Request{Body: encoder.end(b, turn.OutputTokens), OutputTokens: turn.OutputTokens}, nil
	}, nil
}

// synthesised asks for so many tokens with a text of the recorded length, made of the recorded blocks.
func (m *remade) synthesised(turn *trace.Turn, output int64) func([]Answer) (Request, error) {
	own := place(mix(uint64(m.at)+1) + m.turns) // of this turn alone, as good as surely
	number := uint64(own)
	if len(turn.Blocks) > 0 {
		number = m.number(turn.Blocks[0])
	}
	prompt := m.recording.context.prompt(turn)
	return func([]Answer) (Request, error) {
		return m.writer.request(func(b []byte) []byte {
			return m.prompt(append(b, m.nonce(number)...), turn, prompt, own)
		}, prompt*bytesPerWord, tokens{prompt, output}), nil
	}
}

// number is that of a block's text.
func (m *remade) number(block uint64) uint64 { return m.writer.text.hash(block ^ m.local) }

// prompt writes a prompt of so many tokens, template and nonce included: its blocks, the last of them in part, and behind them words of its own.
func (m *remade) prompt(b []byte, turn *trace.Turn, prompt int64, own place) []byte {
	b = append(b, "Words"...)
	left := max(1000, (prompt-m.scale.Overhead)*1000) // thousandths of tokens
	text := m.blocks[turn.BlockTokens]
	for _, block := range turn.Blocks {
		if left < text.measured {
			return text.cut(b, m.number(block), max(1, text.wordsOf(left)))
		}
		b = text.append(b, m.number(block))
		if left -= text.measured; left < 500 {
			return b
		}
	}
	random := m.writer.text.stream(own)
	for words := m.scale.lengthOf((left+500)/1000 + m.scale.Overhead).words; words > 0; words -= deckWords {
		b = appendDeck(b, int(min(words, deckWords)), random)
	}
	return b
}

// requestWith is request with further fields of the body, two of which are fields of a preset of their own.
func requestWith(request schema.Request, all ...map[string]any) schema.Request {
	extra := schema.Body{}
	for _, fields := range append([]map[string]any{request.ExtraBody}, all...) {
		for name, value := range fields {
			extra[name] = value
		}
	}
	if temperature, ok := floatOf(extra["temperature"]); ok {
		request.Temperature = temperature
		delete(extra, "temperature")
	}
	if ignore, ok := extra["ignore_eos"].(bool); ok {
		request.IgnoreEOS = ignore
		delete(extra, "ignore_eos")
	}
	request.ExtraBody = extra
	return request
}

func floatOf(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}
