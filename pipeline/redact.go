package pipeline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sweetspot/schema"
)

// Redactor takes secrets out of what is stored and printed: the values of environment variables that a preset reads, user names and passwords in
// URLs, and what has the shape of a key.
type Redactor struct {
	values *strings.Replacer
}

// leastSecret is the length below which a value is no secret worth hiding: replacing it would garble every text.
const leastSecret = 4

// NewRedactor hides the given secrets, and all that has the shape of one.
func NewRedactor(secrets []string) *Redactor {
	var pairs []string
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // a secret may be part of another
	for _, secret := range secrets {
		if len(secret) >= leastSecret {
			pairs = append(pairs, secret, schema.Redacted)
		}
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

// Text is s without its secrets.
func (r *Redactor) Text(s string) string {
	return schema.RedactText(r.values.Replace(s))
}

// textOf redacts what can be missing.
func (r *Redactor) textOf(s *string) *string {
	if s == nil {
		return nil
	}
	text := r.Text(*s)
	return &text
}

// Preset is a copy of p without its secrets.
func (r *Redactor) Preset(p *schema.Preset) (*schema.Preset, error) {
	whole, err := tree(p)
	if err != nil {
		return nil, fmt.Errorf("redacting preset %s: %w", p.Name, err)
	}
	text, err := json.Marshal(redactTree(whole, r))
	if err != nil {
		return nil, fmt.Errorf("redacting preset %s: %w", p.Name, err)
	}
	var safe schema.Preset
	if err := json.Unmarshal(text, &safe); err != nil {
		return nil, fmt.Errorf("redacting preset %s: %w", p.Name, err)
	}
	return &safe, nil
}

// secretName is a field of a request's body whose value is a secret, whatever its shape.
var secretName = regexp.MustCompile(`(?i)(api[-_]?key|passw(or)?d|secret|credential|authorization|access[-_]?token|^token$)`)

// redactTree redacts every text of a JSON value in place, and returns it.
func redactTree(v any, r *Redactor) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = redactTree(v[i], r)
		}
	case map[string]any:
		for name := range v {
			if _, text := v[name].(string); text && secretName.MatchString(name) && name != "api_key_env" {
				v[name] = schema.Redacted
				continue
			}
			v[name] = redactTree(v[name], r)
		}
	}
	return v
}

// Environment lists the environment variables that a preset reads, by name, each once.
func Environment(preset *schema.Preset) []string {
	var names []string
	for _, trial := range preset.Trials {
		if e := trial.Spec.Service.Endpoint; e != nil && e.APIKeyEnv != "" {
			names = append(names, e.APIKeyEnv)
		}
		for _, header := range trial.Spec.Request.Headers {
			if header.Env != "" {
				names = append(names, header.Env)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
