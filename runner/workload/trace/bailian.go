package trace

import (
	"errors"
	"time"

	"sweetspot/runner/workload/input"
)

// Bailian is Alibaba's trace of Qwen, one request a line. Times are in seconds. Each line has the whole prompt, that of a later turn of a chat as well, so
// it is a session by itself. blockTokens is what one of hash_ids stands for; there it is 16.
func Bailian(blockTokens int64) Format {
	return Format{Name: "bailian", Entries: input.JSONL{}, Parse: func(entry input.Entry) (*Session, error) {
		var line bailian
		if err := decode(entry.Text, &line); err != nil {
			return nil, err
		}
		return line.session(blockTokens)
	}}
}

type bailian struct {
	Timestamp    *number `json:"timestamp"` // seconds
	InputLength  *number `json:"input_length"`
	OutputLength *number `json:"output_length"`
	HashIDs      blocks  `json:"hash_ids"`

	// Known, and not needed.
	ChatID       label  `json:"chat_id"`
	ParentChatID label  `json:"parent_chat_id"`
	Turn         number `json:"turn"`
	Type         string `json:"type"`
}

func (b *bailian) session(blockTokens int64) (*Session, error) {
	if b.Timestamp == nil {
		return nil, errors.New("timestamp is missing")
	}
	at, err := b.Timestamp.duration("timestamp", time.Second, latest)
	if err != nil {
		return nil, err
	}
	turn := Turn{Blocks: b.HashIDs, BlockTokens: blockTokens}
	if turn.PromptTokens, err = b.InputLength.count("input_length", 1); err != nil {
		return nil, err
	}
	if turn.OutputTokens, err = b.OutputLength.count("output_length", 1); err != nil {
		return nil, err
	}
	return &Session{At: &at, Turns: []Turn{turn}}, fits(b.HashIDs, turn.PromptTokens, blockTokens)
}
