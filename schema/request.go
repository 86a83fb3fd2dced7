package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Request says how each request is made.
type Request struct {
	API             string            `json:"api"` // "chat" or "completions"
	Temperature     float64           `json:"temperature"`
	IgnoreEOS       bool              `json:"ignore_eos"`
	ContinuousUsage bool              `json:"continuous_usage,omitempty"` // usage is asked for in each event; left out where not, so that ids stay
	MaxTokensField  string            `json:"max_tokens_field"`           // "max_tokens" or "max_completion_tokens"
	Cache           string            `json:"cache"`                      // "isolated" or "shared"
	CacheSalt       bool              `json:"cache_salt,omitempty"`       // isolated by the field cache_salt and not by a nonce
	ResetCache      ResetPath         `json:"reset_prefix_cache,omitempty"`
	Tokenizer       string            `json:"tokenizer,omitempty"`        // counts where the service does not, a name or a file; empty: nothing does
	TokenizerSHA256 string            `json:"tokenizer_sha256,omitempty"` // of the file's content, in hexadecimal; empty where nobody has looked at it
	Timeout         Duration          `json:"timeout"`                    // for a whole request
	IdleTimeout     Duration          `json:"idle_timeout"`               // an idle connection is closed after it
	HTTP            string            `json:"http"`                       // "1.1" or "2"
	SkipChecks      []string          `json:"skip_checks,omitempty"`      // by the names of package client
	Headers         map[string]Header `json:"headers,omitempty"`
	ExtraBody       Body              `json:"extra_body,omitempty"` // top-level fields added to each request's body
}

// TokenizerFile is the path of a tokenizer.json, from the folder of the preset; empty where r names none.
func (r Request) TokenizerFile() string {
	if strings.HasSuffix(r.Tokenizer, ".json") {
		return r.Tokenizer
	}
	return ""
}

// ResetPath is the path of a service's hook that empties its prefix cache; empty where it is not emptied. A preset may say true or false as well.
type ResetPath string

// UnmarshalJSON reads a path, true for vLLM's, or false.
func (p *ResetPath) UnmarshalJSON(src []byte) error {
	switch string(src) {
	case "true":
		*p = "/reset_prefix_cache"
	case "false":
		*p = ""
	default:
		return json.Unmarshal(src, (*string)(p))
	}
	return nil
}

// Body is a part of a JSON object. Its numbers are [json.Number], so that they are written as they were read.
type Body map[string]any

// UnmarshalJSON reads a JSON object.
func (b *Body) UnmarshalJSON(src []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	var fields map[string]any
	err := decoder.Decode(&fields)
	*b = fields
	return err
}

// Header is a header's value: a literal, or the name of the environment variable that holds it. In JSON, as in a preset, it is text or {"env": NAME}.
type Header struct {
	Value string // where Env is empty
	Env   string
}

type headerEnv struct {
	Env string `json:"env"`
}

// MarshalJSON writes h as a preset does.
func (h Header) MarshalJSON() ([]byte, error) {
	if h.Env != "" {
		return json.Marshal(headerEnv{h.Env})
	}
	return json.Marshal(h.Value)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Header) UnmarshalJSON(src []byte) error {
	*h = Header{}
	if bytes.HasPrefix(src, []byte{'"'}) {
		return json.Unmarshal(src, &h.Value)
	}
	var env headerEnv
	err := json.Unmarshal(src, &env)
	h.Env = env.Env
	return err
}
