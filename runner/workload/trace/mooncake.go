package trace

import (
	"encoding/json"
	"errors"
	"time"

	"sweetspot/runner/workload/input"
)

// Mooncake is the trace that came with Mooncake, one request a line, and its variants: conversations by session_id, requests whose messages or text
// are known. Times are in milliseconds. blockTokens is what one of hash_ids stands for; there it is 512.
func Mooncake(blockTokens int64) Format {
	return Format{Name: "mooncake", Entries: input.JSONL{}, Parse: func(entry input.Entry) (*Session, error) {
		var line mooncake
		if err := decode(entry.Text, &line); err != nil {
			return nil, err
		}
		return line.session(blockTokens)
	}}
}

type mooncake struct {
	Timestamp    *number           `json:"timestamp"` // milliseconds
	InputLength  *number           `json:"input_length"`
	OutputLength *number           `json:"output_length"`
	HashIDs      blocks            `json:"hash_ids"`
	SessionID    label             `json:"session_id"`
	Delay        *number           `json:"delay"` // milliseconds
	TextInput    *string           `json:"text_input"`
	Messages     []json.RawMessage `json:"messages"`
	MessageMode  string            `json:"message_mode"`
	Tools        json.RawMessage   `json:"tools"`
	Extra        map[string]any    `json:"extra"`
}

func (m *mooncake) session(blockTokens int64) (*Session, error) {
	turn, err := m.turn(blockTokens)
	if err != nil {
		return nil, err
	}
	s := &Session{Key: string(m.SessionID), Turns: []Turn{*turn}}
	if m.Timestamp != nil {
		at, err := m.Timestamp.duration("timestamp", time.Millisecond, latest)
		if err != nil {
			return nil, err
		}
		s.At = &at
	}
	return s, nil
}

func (m *mooncake) turn(blockTokens int64) (*Turn, error) {
	turn := &Turn{BlockTokens: blockTokens, Text: m.TextInput, Messages: m.Messages, Fields: m.Extra, Delta: m.MessageMode == "delta"}
	asked := 0
	for _, is := range []bool{m.InputLength != nil, m.TextInput != nil, len(m.Messages) > 0} {
		if is {
			asked++
		}
	}
	switch {
	case asked != 1:
		return nil, errors.New("a line needs one of input_length, text_input and messages, and no other of them")
	case m.MessageMode != "" && m.MessageMode != "delta" && m.MessageMode != "history":
		return nil, errors.New(`message_mode must be "history" or "delta"`)
	case turn.Delta && m.SessionID == "", m.MessageMode != "" && len(m.Messages) == 0:
		return nil, errors.New("message_mode is for the messages of a session: it needs messages, and delta a session_id")
	case len(m.Tools) > 0 && len(m.Messages) == 0:
		return nil, errors.New("tools go with messages only")
	case len(m.HashIDs) > 0 && m.InputLength == nil:
		return nil, errors.New("hash_ids go with input_length only: text that is known shares what it shares")
	case m.Delay != nil && m.SessionID == "":
		return nil, errors.New("delay is for the turns of a session: it needs a session_id")
	}
	if len(m.Messages) > 0 {
		turn.API = "chat"
	}
	if len(m.Tools) > 0 {
		turn.Fields = with(m.Extra, "tools", m.Tools)
	}
	if err := m.lengths(turn); err != nil {
		return nil, err
	}
	return turn, conversation(m.Messages)
}

// lengths reads what is counted and timed.
func (m *mooncake) lengths(turn *Turn) (err error) {
	if m.Delay != nil {
		if turn.Delay, err = m.Delay.duration("delay", time.Millisecond, mostDelay); err != nil {
			return err
		}
	}
	if m.OutputLength != nil || m.InputLength != nil {
		if turn.OutputTokens, err = m.OutputLength.count("output_length", 1); err != nil {
			return err
		}
	}
	if m.InputLength == nil {
		return nil
	}
	if turn.PromptTokens, err = m.InputLength.count("input_length", 1); err != nil {
		return err
	}
	turn.Blocks = m.HashIDs
	return fits(m.HashIDs, turn.PromptTokens, turn.BlockTokens)
}

// with is fields and one more.
func with(fields map[string]any, name string, value any) map[string]any {
	all := map[string]any{name: value}
	for name, value := range fields {
		all[name] = value
	}
	return all
}
