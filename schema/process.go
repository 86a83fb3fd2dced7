package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Process is a service that is started and ended: by Command, which serves in the foreground, or by Start, which returns, and Stop.Command.
type Process struct {
	Command    []string          `json:"command,omitempty"`
	Start      []string          `json:"start,omitempty"`
	Args       Args              `json:"args,omitempty"`
	Env        map[string]Header `json:"env,omitempty"`
	Port       *int64            `json:"port,omitempty"`        // nil: a free one
	URL        string            `json:"url,omitempty"`         // see [Process.Base]
	URLPattern string            `json:"url_pattern,omitempty"` // regular expression of Start's output
	APIKeyEnv  string            `json:"api_key_env,omitempty"`
	VerifyTLS  bool              `json:"verify_tls"`
	Ready      Ready             `json:"ready"`
	Stop       Stop              `json:"stop"`
	Log        []string          `json:"log,omitempty"`
	Restart    string            `json:"restart"` // "never", "trial", "repeat" or "point"
	Hardware
	GPUMetrics *GPUMetrics `json:"gpu_metrics,omitempty"`
}

// Ready says when a service that was started can be driven.
type Ready struct {
	Path    string   `json:"path"`
	Timeout Duration `json:"timeout"`
}

// Stop says how a service that was started is ended.
type Stop struct {
	Signal  string   `json:"signal"` // "TERM", "INT", "QUIT", "HUP" or "KILL"
	Grace   Duration `json:"grace"`
	Command []string `json:"command,omitempty"`
}

// Args are flags by their names. A value is text, a [json.Number], a bool, nil, or a list of texts and numbers.
type Args map[string]any

// UnmarshalJSON reads a JSON object.
func (a *Args) UnmarshalJSON(src []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	var flags map[string]any
	err := decoder.Decode(&flags)
	*a = flags
	return err
}

// Words are the flags as words of a command line, in the order of their names: {"b": 64, "a": true, "c": ["x", "y"], "d": false} is
// --a --b 64 --c x --c y.
func (a Args) Words() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		flag := name
		if !strings.HasPrefix(name, "-") {
			flag = "--" + name
		}
		switch value := a[name].(type) {
		case nil:
		case bool:
			if value {
				words = append(words, flag)
			}
		case []any:
			for _, one := range value {
				words = append(words, flag, fmt.Sprint(one))
			}
		default:
			words = append(words, flag, fmt.Sprint(value))
		}
	}
	return words
}

// What stands for what is known only when a service is started.
const (
	PortPlace   = "${PORT}"   // the port it is to listen at
	MatchPlace  = "${MATCH}"  // in url: what url_pattern found
	OutputPlace = "${OUTPUT}" // in the commands that stop and log: the last line that start wrote
	argsPlace   = "${ARGS}"   // a word of a command: the flags
)

// Line is the command line that is started, flags and all, with [PortPlace] for the port: the one in the foreground, or the one that returns.
func (p *Process) Line() []string {
	line := p.Command
	if line == nil {
		line = p.Start
	}
	flags := p.Args.Words()
	if at := slices.Index(line, argsPlace); at >= 0 {
		line = slices.Concat(line[:at], flags, line[at+1:])
	} else {
		line = slices.Concat(line, flags)
	}
	if p.Command != nil && !p.namesPort(line) {
		line = append(line, "--port", PortPlace)
	}
	return line
}

// namesPort reports whether the command learns its port by itself.
func (p *Process) namesPort(line []string) bool {
	has := func(s string) bool { return strings.Contains(s, PortPlace) }
	for _, variable := range p.Env {
		if has(variable.Value) {
			return true
		}
	}
	return slices.ContainsFunc(line, has)
}

// Base is the base of the service's API, with [PortPlace] and [MatchPlace] for what is not known yet.
func (p *Process) Base() string {
	switch {
	case p.URL != "":
		return p.URL
	case p.URLPattern != "":
		return MatchPlace
	}
	return "http://127.0.0.1:" + PortPlace + "/v1"
}

// Commands are all command lines that the service may start, secrets redacted.
func (p *Process) Commands() []string {
	var all []string
	for _, line := range [][]string{p.Line(), p.Log, p.Stop.Command} {
		if len(line) > 0 {
			all = append(all, RedactText(shellWords(line)))
		}
	}
	return all
}

// EnvWords are the environment variables of the commands as a shell would be given them before one, in the order of their names, secrets redacted:
// NAME=value, and NAME="$OTHER" for the value of another.
func (p *Process) EnvWords() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		word := name + `="$` + p.Env[name].Env + `"` // a name is no secret
		if p.Env[name].Env == "" {
			word = RedactText(name + "=" + shellWords([]string{p.Env[name].Value}))
		}
		words = append(words, word)
	}
	return words
}

// shellWords is a command line as a shell would be given it.
func shellWords(line []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	words := make([]string, len(line))
	for i, word := range line {
		words[i] = word
		known := strings.NewReplacer(PortPlace, "", OutputPlace, "").Replace(word) // these are no shell's
		if word == "" || strings.Trim(known, plain) != "" {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// APIKeyEnv is the name of the environment variable that holds the bearer token of the service; empty where it has none.
func (s Service) APIKeyEnv() string {
	switch {
	case s.Endpoint != nil:
		return s.Endpoint.APIKeyEnv
	case s.Process != nil:
		return s.Process.APIKeyEnv
	}
	return ""
}

// VerifyTLS reports whether the certificate of an https service is checked.
func (s Service) VerifyTLS() bool {
	return (s.Endpoint == nil || s.Endpoint.VerifyTLS) && (s.Process == nil || s.Process.VerifyTLS)
}

// GPUMetrics says how the GPUs below the service are watched; nil where the preset does not say.
func (s Service) GPUMetrics() *GPUMetrics {
	switch {
	case s.Endpoint != nil:
		return s.Endpoint.GPUMetrics
	case s.Process != nil:
		return s.Process.GPUMetrics
	}
	return nil
}
