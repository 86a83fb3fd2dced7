package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sweetspot/schema"
)

// reserved are the fields of a body that an extra_body must not set: sweetspot sets them itself, or the measurement would no longer be of what
// was asked (several choices in one stream, the prompt echoed as output).
var reserved = []string{
	"model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "ignore_eos",
	"cache_salt", "n", "best_of", "echo",
}

// Encoder writes the bodies of requests. It is safe for several goroutines.
type Encoder struct {
	head  string // up to the prompt or the list of messages
	first string // up to the text of the first message
	last  string // behind the text of the last message
	limit string // up to the value of the token limit
	tail  string // behind that value
	short string // the same, where the answer is to have one token: without a least number of them
	chat  bool
}

// NewEncoder gives the encoder of a trial's requests. It is an error if request.extra_body sets a field that sweetspot sets itself, or holds a
// value that JSON has no form for.
func NewEncoder(model string, request schema.Request) (*Encoder, error) {
	tail, err := bodyTail(request)
	if err != nil {
		return nil, err
	}
	request.ExtraBody = maps.Clone(request.ExtraBody)
	for _, least := range []string{"min_tokens", "min_new_tokens"} {
		delete(request.ExtraBody, least)
	}
	short, err := bodyTail(request)
	if err != nil {
		return nil, err
	}
	e := &Encoder{head: `{"model":"` + jsonSafe(model) + `",`, limit: `,"max_tokens":`, tail: tail, short: short, chat: request.API != "completions"}
	if request.MaxTokensField == "max_completion_tokens" {
		e.limit = `,"max_completion_tokens":`
	}
	if e.chat {
		e.head, e.first, e.last = e.head+`"messages":[`, `{"role":"user","content":"`, `"}]`
	} else {
		e.head, e.last = e.head+`"prompt":"`, `"`
	}
	return e, nil
}

// bodyTail is what follows the token limit: all that is equal in every request.
func bodyTail(request schema.Request) (string, error) {
	temperature, err := json.Marshal(request.Temperature)
	if err != nil {
		return "", fmt.Errorf("encoding temperature: %w", err)
	}
	tail := `,"temperature":` + string(temperature)
	if request.IgnoreEOS {
		tail += `,"ignore_eos":true`
	}
	tail += `,"stream":true,"stream_options":{"include_usage":true`
	if request.ContinuousUsage {
		tail += `,"continuous_usage_stats":true`
	}
	tail += `}`
	for _, name := range slices.Sorted(maps.Keys(request.ExtraBody)) {
		if slices.Contains(reserved, name) {
			return "", fmt.Errorf("extra_body must not set %s: sweetspot sets it, or it would change what is measured", name)
		}
		value, err := json.Marshal(request.ExtraBody[name])
		if err != nil {
			return "", fmt.Errorf("encoding extra_body.%s: %w", name, err)
		}
		tail += `,"` + jsonSafe(name) + `":` + string(value)
	}
	return tail + `}`, nil
}

// Body is the body of a request for one message of a user, with any text.
func (e *Encoder) Body(text string, outputTokens int64) []byte {
	return e.end(append(e.begin(make([]byte, 0, len(text)+512)), jsonSafe(text)...), outputTokens)
}

// begin writes up to the text of the first message, which is the user's. The caller appends the text, safe inside a JSON string.
func (e *Encoder) begin(b []byte) []byte { return append(append(b, e.head...), e.first...) }

// next ends a message and begins the next of a conversation. Where there are no messages, the texts are paragraphs of one prompt.
func (e *Encoder) next(b []byte, role string) []byte {
	if !e.chat {
		return append(b, paragraph...)
	}
	b = append(b, `"},{"role":"`...)
	b = append(b, role...)
	return append(b, `","content":"`...)
}

// end writes what follows the text of the last message. A limit of 0 is none.
func (e *Encoder) end(b []byte, outputTokens int64) []byte {
	b = append(b, e.last...)
	if outputTokens > 0 {
		b = strconv.AppendInt(append(b, e.limit...), outputTokens, 10)
	}
	return append(b, e.tailFor(outputTokens)...)
}

// tailFor is what follows the token limit. A service refuses a least number of tokens above it.
func (e *Encoder) tailFor(outputTokens int64) string {
	if outputTokens == 1 {
		return e.short
	}
	return e.tail
}

// of is the body with messages that are written already, as a list without brackets. A limit of 0 is none.
func (e *Encoder) of(messages []byte, outputTokens int64) []byte {
	b := make([]byte, 0, len(e.head)+len(messages)+len(e.tail)+64)
	b = append(append(append(b, e.head...), messages...), ']')
	if outputTokens > 0 {
		b = strconv.AppendInt(append(b, e.limit...), outputTokens, 10)
	}
	return append(b, e.tailFor(outputTokens)...)
}

// jsonSafe is text as it stands between the quotes of a JSON string.
func jsonSafe(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic("workload: encoding a string: " + err.Error()) // a string always has a JSON form
	}
	return string(bytes.TrimSuffix(bytes.TrimPrefix(b.Bytes(), []byte(`"`)), []byte("\"\n")))
}
