package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sweetspot/runner/workload/input"
)

// Batch is OpenAI's batch file, one request a line, in the order of the file.
//
// The model of the bodies is left out, as the preset says which is measured, and so is how they are streamed. What else they have is asked.
func Batch() Format {
	return Format{Name: "batch", Entries: input.JSONL{}, Parse: func(entry input.Entry) (*Session, error) {
		var line batch
		if err := decode(entry.Text, &line); err != nil {
			return nil, err
		}
		turn, err := line.turn()
		if err != nil {
			return nil, err
		}
		return &Session{Turns: []Turn{*turn}}, nil
	}}
}

type batch struct {
	CustomID label                      `json:"custom_id"`
	Method   string                     `json:"method"`
	URL      string                     `json:"url"`
	Body     map[string]json.RawMessage `json:"body"`
}

func (b *batch) turn() (*Turn, error) {
	turn := &Turn{API: "chat", Fields: map[string]any{}}
	asks, other := "messages", "prompt"
	switch b.URL {
	case "/v1/chat/completions":
	case "/v1/completions":
		turn.API, asks, other = "completions", other, asks
	default:
		return nil, fmt.Errorf("url must be /v1/chat/completions or /v1/completions, not %q", short(b.URL))
	}
	switch {
	case b.Method != "POST":
		return nil, fmt.Errorf("method must be POST, not %q", short(b.Method))
	case b.Body[asks] == nil:
		return nil, fmt.Errorf("body.%s is missing", asks)
	case b.Body[other] != nil:
		return nil, fmt.Errorf("body.%s has no place in a request to %s", other, b.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Body)) {
		if err := turn.take(name, b.Body[name]); err != nil {
			return nil, fmt.Errorf("body.%s %w", name, err)
		}
	}
	if turn.API == "chat" && len(turn.Messages) == 0 || turn.API == "completions" && turn.Text == nil {
		return nil, fmt.Errorf("body.%s is empty", asks)
	}
	return turn, conversation(turn.Messages)
}

// take takes up a field of a body.
func (t *Turn) take(name string, value json.RawMessage) error {
	read := func(into any, as string) error {
		if json.Unmarshal(value, into) != nil {
			return fmt.Errorf("must be %s, not %s", as, short(string(value)))
		}
		return nil
	}
	switch name {
	case "model", "stream", "stream_options":
		return nil
	case "messages":
		return read(&t.Messages, "a list of messages")
	case "prompt":
		return read(&t.Text, "text: lists of prompts and of tokens can't be replayed")
	case "max_tokens", "max_completion_tokens":
		var most *number
		if err := read(&most, "a number"); err != nil || most == nil {
			return err
		}
		var err error
		if t.OutputTokens, err = most.count("it", 1); err != nil {
			return fmt.Errorf("can't be honoured: %w", err)
		}
		return nil
	case "n":
		var n int64
		if err := read(&n, "1"); err != nil || n != 1 {
			return fmt.Errorf("must be 1: several answers in one stream can't be told apart")
		}
		return nil
	}
	var other any
	err := read(&other, "JSON")
	t.Fields[name] = other
	return err
}
