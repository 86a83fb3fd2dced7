package presets

import (
	"encoding/json"
	"fmt"
	"strings"

	"sweetspot/schema"
)

// Starter is what a preset is begun with.
type Starter struct {
	URL           string // of the service's API
	APIKeyEnv     string // name of the environment variable that holds its key; empty: there is none
	Model         string
	ContextLength int64 // of the model in tokens; 0 where it is not known
}

// starterWidth is where comments are broken.
const starterWidth = 110

// New writes a preset as a CUE file that runs unchanged: each field stands with what the specification says of it, and those that most people change later stand
// there as comments.
func New(s Starter) ([]byte, error) {
	fields, err := schema.Fields()
	if err != nil {
		return nil, err
	}
	w := &starterWriter{docs: map[string]string{}}
	for _, f := range fields {
		w.docs[f.Path] = f.Doc
	}
	prompt, output := s.lengths()
	w.line("// sweetspot run FILE finds how hard to drive this service. Fields that begin with // are examples to take up.")
	w.field("", "model", quoted(s.Model))
	w.group("service", "service: endpoint: {", func() {
		w.field("service.endpoint", "url", quoted(s.URL))
		if s.APIKeyEnv != "" {
			w.field("service.endpoint", "api_key_env", quoted(s.APIKeyEnv))
		} else {
			w.example("service.endpoint", "api_key_env", `"OPENAI_API_KEY"`)
		}
	})
	w.group("workload", "workload: random: {", func() {
		w.field("workload.random", "prompt_tokens", fmt.Sprint(prompt))
		w.field("workload.random", "output_tokens", fmt.Sprint(output))
	})
	w.group("request", "request: {", func() {
		w.field("request", "ignore_eos", "true")
		w.example("request", "cache", `"shared"`)
		w.example("request", "extra_body", "{top_p: 0.9}")
	})
	w.group("load", "load: {", func() {
		w.field("load", "concurrency", `"1..64"`)
		w.example("load", "requests_per_slot", "20")
		w.example("load", "repeats", "3")
	})
	w.group("limits", "limits: {", func() {
		w.field("limits", "max_ttft", `"500ms"`)
		w.example("limits", "ttft_stat", `"p90"`)
		w.example("limits", "max_tpot", `"50ms"`)
	})
	w.group("trials", "// trials: {", func() {
		w.line(`// baseline: {}`)
		w.line(`// second: service: endpoint: url: "http://127.0.0.1:8001/v1"`)
	})
	return []byte(w.String()), nil
}

// lengths are those of a chat, less where the model's context is short.
func (s Starter) lengths() (prompt, output int64) {
	const ordinaryPrompt, ordinaryOutput = 1024, 256
	if s.ContextLength > 0 && s.ContextLength < ordinaryPrompt+ordinaryOutput {
		return max(1, s.ContextLength/2), max(1, s.ContextLength/8)
	}
	return ordinaryPrompt, ordinaryOutput
}

// starterWriter writes fields with their documentation above them.
type starterWriter struct {
	strings.Builder
	docs   map[string]string
	indent string
}

func (w *starterWriter) line(text string) { w.WriteString(w.indent + text + "\n") }

func (w *starterWriter) doc(path string) {
	line := "//"
	for _, word := range strings.Fields(w.docs[path]) {
		if len(w.indent)+len(line)+1+len(word) > starterWidth {
			w.line(line)
			line = "//"
		}
		line += " " + word
	}
	w.line(line)
}

func (w *starterWriter) field(group, name, value string) {
	w.doc(strings.TrimPrefix(group+"."+name, "."))
	w.line(name + ": " + value)
}

// example is a field that is not set.
func (w *starterWriter) example(group, name, value string) {
	w.doc(group + "." + name)
	w.line("// " + name + ": " + value)
}

func (w *starterWriter) group(path, opening string, fields func()) {
	w.WriteString("\n")
	w.doc(path)
	w.line(opening)
	w.indent = "\t"
	fields()
	w.indent = ""
	comment := ""
	if strings.HasPrefix(opening, "//") {
		comment = "// "
	}
	w.line(comment + "}")
}

// quoted is a text as CUE writes it: JSON's strings are CUE's.
func quoted(text string) string {
	written, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has JSON
	}
	return string(written)
}
