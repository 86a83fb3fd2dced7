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
	open  string // up to the text of the first message
	close string // from the end of the last message to the value of the token limit
	tail  string // behind that value
}

// NewEncoder gives the encoder of a trial's requests. It is an error if request.extra_body sets a field that sweetspot sets itself, or holds a
// value that JSON has no form for.
func NewEncoder(model string, request schema.Request) (*Encoder, error) {
	tail, err := bodyTail(request)
	if err != nil {
		return nil, err
	}
	limit := `,"max_tokens":`
	if request.MaxTokensField == "max_completion_tokens" {
		limit = `,"max_completion_tokens":`
	}
	open := `{"model":"` + jsonSafe(model) + `",`
	if request.API == "completions" {
		return &Encoder{open: open + `"prompt":"`, close: `"` + limit, tail: tail}, nil
	}
	return &Encoder{open: open + `"messages":[{"role":"user","content":"`, close: `"}]` + limit, tail: tail}, nil
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
	tail += `,"stream":true,"stream_options":{"include_usage":true}`
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
func (e *Encoder) begin(b []byte) []byte { return append(b, e.open...) }

// end writes what follows the text of the last message.
func (e *Encoder) end(b []byte, outputTokens int64) []byte {
	b = append(b, e.close...)
	b = strconv.AppendInt(b, outputTokens, 10)
	return append(b, e.tail...)
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
