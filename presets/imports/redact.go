package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"sweetspot/schema"
)

// A field whose value is a secret, whatever it looks like.
var secretField = regexp.MustCompile(`(?i)(api[-_]?key|passw(or)?d|secret|credential|authorization|access[-_]?token|^(hf[-_]?)?token$)`)

// redacted is a copy of a JSON text without its secrets: as it is written where none shows in its values but what can be replaced in place, else written anew.
func redacted(text []byte) []byte {
	inPlace := []byte(schema.RedactCommands(string(text)))
	values, err := decodeAll(inPlace)
	if err != nil {
		return inPlace // no JSON: it was replaced as text
	}
	changed := false
	for i := range values {
		values[i] = redactValue(values[i], &changed)
	}
	if !changed {
		return inPlace
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, value := range values {
		if encoder.Encode(value) != nil {
			return nil // decoded JSON can be written
		}
	}
	return out.Bytes()
}

// decodeAll reads JSON values that follow each other, as in JSON lines.
func decodeAll(text []byte) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values []any
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
}

// redactValue redacts every text of a value in place and tells whether there was anything to redact.
func redactValue(v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		safe := schema.RedactCommands(v)
		*changed = *changed || safe != v
		return safe
	case []any:
		for i := range v {
			v[i] = redactValue(v[i], changed)
		}
	case map[string]any:
		for name := range v {
			if text, is := v[name].(string); is && text != "" && text != schema.Redacted && secretField.MatchString(name) {
				v[name], *changed = schema.Redacted, true
				continue
			}
			v[name] = redactValue(v[name], changed)
		}
	}
	return v
}
