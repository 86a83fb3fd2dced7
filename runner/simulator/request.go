package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/cespare/xxhash/v2"
)

// mostBody bounds the body of a request: a million tokens of prose take 6 MB.
const mostBody = 32 << 20

// withoutMax is how many tokens answer a request that does not say how many it wants. The service then ends the answer, as a model would.
const withoutMax = 256

// api is which of the two APIs a request uses.
type api int

const (
	apiChat api = iota
	apiCompletions
)

// request is a completion request, checked.
type request struct {
	prompt          []uint32
	salt            uint64
	maxTokens       int
	named           bool // the request said how many tokens
	stream          bool
	includeUsage    bool
	continuousUsage bool
}

// apiError is an error as vLLM writes it.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

func badRequest(param, format string, args ...any) *apiError {
	e := &apiError{Message: fmt.Sprintf(format, args...), Type: "BadRequestError", Code: http.StatusBadRequest}
	if param != "" {
		e.Param = &param
	}
	return e
}

// wireRequest is what the service reads of a request's body. Unknown fields are passed over, as vLLM does.
type wireRequest struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	Tools               rawText   `json:"tools"`
	Prompt              prompt    `json:"prompt"`
	MaxTokens           *int64    `json:"max_tokens"`
	MaxCompletionTokens *int64    `json:"max_completion_tokens"`
	Stream              bool      `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	N                   *int64   `json:"n"`
	Temperature         *float64 `json:"temperature"`
	CacheSalt           *string  `json:"cache_salt"`
	AddGenerationPrompt *bool    `json:"add_generation_prompt"`
}

type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	ToolCalls rawText `json:"tool_calls"`
}

// rawText is JSON that counts as text, as templates write it into the prompt. Null is none.
type rawText string

func (t *rawText) UnmarshalJSON(data []byte) error {
	if string(data) != "null" {
		*t = rawText(data)
	}
	return nil
}

// content is a message's text: a string, null, or parts of type text.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content of type %q is not served: only text is", p.Type)
		}
		*c += content(p.Text)
	}
	return nil
}

// prompt is the prompt of a plain completion: a string, a list of token ids, or a list of one of these.
type prompt struct {
	text   string
	tokens []uint32
}

func (p *prompt) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, &p.text)
	}
	var ids []uint32
	if json.Unmarshal(data, &ids) == nil {
		p.tokens = ids
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	if len(items) != 1 {
		return fmt.Errorf("a list of %d prompts is not served: only of one", len(items))
	}
	if items[0][0] != '[' {
		return json.Unmarshal(items[0], &p.text)
	}
	return json.Unmarshal(items[0], &p.tokens)
}

// decodeRequest reads the body of a completion request. Its error is an [apiError].
func decodeRequest(body []byte, kind api, model string, maxModelLen int) (*request, *apiError) {
	wire, bad := decodeWire(body, model)
	if bad != nil {
		return nil, bad
	}
	tokens, bad := wire.tokens(kind)
	if bad != nil {
		return nil, bad
	}
	r := &request{prompt: tokens, stream: wire.Stream, salt: xxhash.Sum64String("")}
	if wire.CacheSalt != nil {
		r.salt = xxhash.Sum64String(*wire.CacheSalt)
	}
	if o := wire.StreamOptions; o != nil {
		if !wire.Stream {
			return nil, badRequest("stream_options", "Stream options can only be defined when `stream=True`. (parameter=stream_options)")
		}
		r.includeUsage, r.continuousUsage = o.IncludeUsage, o.IncludeUsage && o.ContinuousUsageStats
	}
	if bad := wire.checkSampling(); bad != nil {
		return nil, bad
	}
	return r, r.limit(wire, maxModelLen)
}

func decodeWire(body []byte, model string) (*wireRequest, *apiError) {
	wire := &wireRequest{}
	if err := json.Unmarshal(body, wire); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) && mismatch.Field != "" {
			return nil, badRequest("body."+mismatch.Field, "wrong type for %s: %s", mismatch.Field, mismatch.Value)
		}
		return nil, badRequest("body", "parsing the request's body: %v", err)
	}
	if wire.Model != "" && wire.Model != model {
		bad := badRequest("model", "The model `%s` does not exist. Valid aliases: %s.", wire.Model, model)
		bad.Type, bad.Code = "NotFoundError", http.StatusNotFound
		return nil, bad
	}
	return wire, nil
}

// tokens is the prompt as the model sees it, after the chat template.
func (w *wireRequest) tokens(kind api) ([]uint32, *apiError) {
	if kind == apiChat {
		return w.chatTokens()
	}
	tokens := append([]uint32{tokenBegin}, w.Prompt.tokens...)
	tokens = appendTokens(tokens, w.Prompt.text)
	if len(tokens) == 1 {
		return nil, badRequest("prompt", "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)")
	}
	return tokens, nil
}

// chatTokens is one token for the whole, the tools, then for each message one token at its start, its role, its text, its tool calls and one
// token at its end, and at last the start of the assistant's message.
func (w *wireRequest) chatTokens() ([]uint32, *apiError) {
	if len(w.Messages) == 0 {
		return nil, badRequest("messages", "Cannot apply chat template to an empty conversation. Provide at least one message.")
	}
	tokens := appendTokens([]uint32{tokenBegin}, string(w.Tools))
	for i, m := range w.Messages {
		if m.Role == "" {
			return nil, badRequest("messages", "messages[%d].role must be given", i)
		}
		tokens = append(tokens, tokenStart, tokenID(m.Role))
		tokens = appendTokens(tokens, string(m.Content))
		tokens = appendTokens(tokens, string(m.ToolCalls))
		tokens = append(tokens, tokenEnd)
	}
	if w.AddGenerationPrompt == nil || *w.AddGenerationPrompt {
		tokens = append(tokens, tokenStart, tokenID("assistant"))
	}
	return tokens, nil
}

func (w *wireRequest) checkSampling() *apiError {
	if w.N != nil && *w.N != 1 {
		return badRequest("n", "n must be 1, got %d. (parameter=n, value=%d)", *w.N, *w.N)
	}
	if t := w.Temperature; t != nil && (*t < 0 || math.IsNaN(*t)) {
		return badRequest("temperature", "temperature must be non-negative, got %v. (parameter=temperature, value=%v)", *t, *t)
	}
	return nil
}

// limit sets how many tokens are to be generated and checks that they fit.
func (r *request) limit(wire *wireRequest, maxModelLen int) *apiError {
	left := maxModelLen - len(r.prompt)
	if left < 1 {
		return badRequest("messages", "This model's maximum context length is %d tokens. However, your request has %d input tokens. "+
			"Please reduce the length of the input messages.", maxModelLen, len(r.prompt))
	}
	name, want := "max_tokens", wire.MaxTokens
	if wire.MaxCompletionTokens != nil {
		name, want = "max_completion_tokens", wire.MaxCompletionTokens
	}
	if want == nil {
		r.maxTokens = min(withoutMax, left)
		return nil
	}
	if *want < 1 {
		return badRequest(name, "%s must be at least 1, got %d. (parameter=%s, value=%d)", name, *want, name, *want)
	}
	if *want > int64(left) {
		return badRequest(name, "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt "+
			"contains %d input tokens. Please reduce the length of the input or the number of requested output tokens. (parameter=%s, value=%d)",
			maxModelLen, *want, len(r.prompt), name, *want)
	}
	r.maxTokens, r.named = int(*want), true
	return nil
}
