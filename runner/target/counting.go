package target

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"sweetspot/runner"
	"sweetspot/runner/measure"
	"sweetspot/runner/tokenizer"
	"sweetspot/runner/workload"
)

// counting sends requests and keeps what those asked and answered that ended well without a count of either, so that it can be counted afterwards.
type counting struct {
	sender runner.Sender
	tokens *tokenizer.Tokenizer

	mu   sync.Mutex
	kept map[int64]exchanged // by the request's index
	held int                 // bytes
}

// exchanged is what was asked and answered.
type exchanged struct {
	body           []byte
	answer         string
	prompt, output *int64 // once they are counted
}

// mostHeld is how many bytes are kept before they are counted at once: counting uses the processor that measuring needs.
const mostHeld = 256 << 20

// Send sends a request as the sender does.
func (c *counting) Send(ctx context.Context, request workload.Request, r *measure.Record, firstToken func()) workload.Answer {
	wanted := request.WantText
	request.WantText = true
	answer := c.sender.Send(ctx, request, r, firstToken)
	if r.Status == measure.OK && (r.OutputTokens == nil || r.PromptTokens == nil) {
		kept := exchanged{body: request.Body, answer: answer.Text}
		if answer.Hidden || r.OutputTokens != nil {
			kept.answer = "" // not all of the output is known, or its count is
		}
		c.keep(r, kept)
	}
	if !wanted {
		return workload.Answer{}
	}
	return answer
}

func (c *counting) keep(r *measure.Record, e exchanged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held += len(e.body) + len(e.answer); c.held > mostHeld {
		e = c.counted(e)
	}
	c.kept[r.Index] = e
}

// counted is e with its counts in the place of its texts. A text that can't be counted has none.
func (c *counting) counted(e exchanged) exchanged {
	if prompt, err := promptTokens(c.tokens, e.body); err == nil {
		e.prompt = &prompt
	}
	if n, err := c.tokens.Count(e.answer); err == nil && e.answer != "" {
		e.output = &n
	}
	return exchanged{prompt: e.prompt, output: e.output}
}

// fill puts the counts into the records of requests that lacked them. What the service counted keeps its count.
func (c *counting) fill(records []measure.Record) {
	for i := range records {
		r := &records[i]
		e, kept := c.kept[r.Index]
		if !kept {
			continue
		}
		if e.body != nil {
			e = c.counted(e)
		}
		var source measure.TokenSource
		switch {
		case r.PromptTokens == nil && r.OutputTokens == nil:
			r.PromptTokens, r.OutputTokens, source = e.prompt, e.output, measure.FromTokenizer
		case r.OutputTokens == nil && e.output != nil:
			r.OutputTokens, source = e.output, measure.FromServerAndTokenizer
		case r.PromptTokens == nil && e.prompt != nil:
			r.PromptTokens, source = e.prompt, measure.FromTokenizerAndServer
		default:
			continue
		}
		r.TokenSource = &source
	}
}

// promptTokens counts the texts of a request's messages, or its prompt. What is no text, and what a chat template adds, is not counted.
func promptTokens(tokens *tokenizer.Tokenizer, body []byte) (int64, error) {
	var asked struct {
		Prompt   string `json:"prompt"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return 0, fmt.Errorf("counting a prompt: %w", err)
	}
	sum, err := tokens.Count(asked.Prompt)
	for _, m := range asked.Messages {
		n, fault := tokens.Count(textOf(m.Content))
		if fault != nil {
			err = fault
		}
		sum += n
	}
	return sum, err
}

// textOf is the text of a message: its content, or that of its parts.
func textOf(content json.RawMessage) string {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	return b.String()
}
