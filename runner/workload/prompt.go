package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sweetspot/runner/workload/input"
)

// prompt is an entry of a file of prompts.
type prompt struct {
	line     int64
	messages []string // each a JSON object
	texts    []string // of the messages, where each is text alone
	output   int64    // tokens of the answer at most; 0: not said
}

// promptFields are the fields of an entry that mean something. Others are labels of the file's own, but for those that would change the request.
type promptFields struct {
	Messages     json.RawMessage `json:"messages"`
	Prompt       *string         `json:"prompt"`
	OutputTokens json.RawMessage `json:"output_tokens"`
}

// changing are fields of a request that a file of prompts must not have: what all requests ask stands in the preset.
var changing = []string{
	"model", "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "stop", "n", "tools", "tool_choice", "response_format", "seed",
	"frequency_penalty", "presence_penalty", "stream", "ignore_eos", "cache_salt",
}

// parsePrompt reads {"messages": [{"role": …, "content": …}], "output_tokens": 64}, or the text alone as "prompt". Messages may be text that holds
// JSON, as in a table, and the number of tokens text that holds a number; an empty one is none.
func parsePrompt(e input.Entry) (prompt, error) {
	made := prompt{line: e.Line}
	var all map[string]json.RawMessage
	var fields promptFields
	if err := json.Unmarshal(e.Text, &all); err != nil {
		return made, fmt.Errorf("parsing a prompt: %w", input.Explained(err))
	}
	for _, name := range changing {
		if value, ok := all[name]; ok && !isNone(value) {
			return made, fmt.Errorf("%s is not read from a file of prompts: set it in the preset (the length of an answer is output_tokens here)", name)
		}
	}
	if err := json.Unmarshal(e.Text, &fields); err != nil {
		return made, fmt.Errorf("parsing a prompt: %w", input.Explained(err))
	}
	output, err := wholeNumber(fields.OutputTokens)
	if err != nil {
		return made, fmt.Errorf("output_tokens: %w", err)
	}
	made.output = output
	switch hasMessages := !isNone(fields.Messages); {
	case hasMessages == (fields.Prompt != nil && *fields.Prompt != ""):
		return made, fmt.Errorf("a prompt needs either messages, a list of {role, content}, or prompt, its text%s", itsFields(all))
	case hasMessages:
		return made, made.setMessages(fields.Messages)
	}
	return made, made.set(plainMessage{"user", *fields.Prompt})
}

// itsFields names what an entry has in the place of what it needs, such as the columns of a table under other names; nothing where it has that.
func itsFields(all map[string]json.RawMessage) string {
	const told = 8
	var names []string
	for name := range all {
		if name == "messages" || name == "prompt" {
			return ""
		}
		names = append(names, fmt.Sprintf("%.40q", name))
	}
	slices.Sort(names)
	if len(names) > told {
		names = append(names[:told], "…")
	}
	if len(names) == 0 {
		return ""
	}
	return ": it has " + strings.Join(names, ", ")
}

// isNone reports whether a field is null or an empty text, as tables have where a cell is empty.
func isNone(value json.RawMessage) bool {
	text := string(bytes.TrimSpace(value))
	return text == "" || text == "null" || text == `""`
}

// wholeNumber is a number, or text that holds one; 0 where there is none.
func wholeNumber(value json.RawMessage) (int64, error) {
	if isNone(value) {
		return 0, nil
	}
	text := strings.Trim(string(bytes.TrimSpace(value)), `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > mostTokens {
		return 0, fmt.Errorf("must be a whole number from 1 to %d, not %s", mostTokens, value)
	}
	return n, nil
}

// mostTokens is the most of one answer, as in a preset.
const mostTokens = 10_000_000

// plainMessage is one of text.
type plainMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (p *prompt) set(m plainMessage) error {
	text, err := json.Marshal(m)
	p.messages, p.texts = append(p.messages, string(text)), append(p.texts, m.Content)
	return err
}

func (p *prompt) setMessages(list json.RawMessage) error {
	var inText string
	if json.Unmarshal(list, &inText) == nil {
		list = json.RawMessage(inText)
		if err := input.Distinct(list); err != nil {
			return fmt.Errorf("messages: %w", err)
		}
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(list, &messages); err != nil {
		return errors.New("messages must be a list of {role, content}")
	}
	if len(messages) == 0 {
		return errors.New("messages must not be empty")
	}
	for i, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.Role == "" {
			return fmt.Errorf("message %d must be an object with a role", i)
		}
		if isNone(m.Content) {
			return fmt.Errorf("message %d has no content", i)
		}
		var content string
		if json.Unmarshal(m.Content, &content) == nil {
			p.texts = append(p.texts, content)
		}
		p.messages = append(p.messages, string(raw))
	}
	if len(p.texts) < len(p.messages) {
		p.texts = nil
	}
	return nil
}

// prompts asks with the entries of a file.
type prompts struct {
	book   *input.Book[prompt]
	writer *writer
	output int64
}

// session reads the entry at once, which may take time, and leaves to the turn only what is quick.
func (p *prompts) session(at place) (*Session, error) {
	entry, err := p.book.At(turned(at, p.book.Len()))
	if err != nil {
		return nil, err
	}
	return &Session{Turns: []Turn{{Build: func([]Answer) (Request, error) { return p.request(at, entry) }}}}, nil
}

func (p *prompts) request(at place, entry prompt) (Request, error) {
	output := p.output
	if entry.output > 0 {
		output = entry.output
	}
	nonce := p.writer.nonces.append(nil, at)
	if !p.writer.encoder.chat {
		if entry.texts == nil {
			return Request{}, fmt.Errorf("%s:%d: a message is not text alone, which only the chat API takes", p.book.Name(), entry.line)
		}
		text := slices.Concat(nonce, []byte(jsonSafe(strings.Join(entry.texts, "\n\n"))))
		return p.writer.request(func(b []byte) []byte { return append(b, text...) }, int64(len(text)), tokens{output: output}), nil
	}
	before, after, err := openMessage(json.RawMessage(entry.messages[0]))
	if err != nil {
		return Request{}, err
	}
	first := entry.messages[0]
	if len(nonce) > 0 {
		first = before + string(nonce) + after
	}
	list := strings.Join(append([]string{first}, entry.messages[1:]...), ",")
	return Request{Body: p.writer.encoder.of([]byte(list), output), OutputTokens: output}, nil
}
