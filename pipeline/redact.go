package pipeline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"sweetspot/schema"
)

// textOf redacts what can be missing.
func textOf(redact func(string) string, s *string) *string {
	if s == nil {
		return nil
	}
	text := redact(*s)
	return &text
}

// redactPreset is a copy of p without its secrets.
func redactPreset(p *schema.Preset, redact func(string) string) (*schema.Preset, error) {
	whole, err := tree(p)
	if err != nil {
		return nil, fmt.Errorf("redacting preset %s: %w", p.Name, err)
	}
	text, err := json.Marshal(redactTree(whole, redact))
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
func redactTree(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		for i := range v {
			v[i] = redactTree(v[i], redact)
		}
	case map[string]any:
		for name := range v {
			if _, text := v[name].(string); text && secretName.MatchString(name) && name != "api_key_env" {
				v[name] = schema.Redacted
				continue
			}
			v[name] = redactTree(v[name], redact)
		}
	}
	return v
}

// Environment lists the environment variables that a preset reads, by name, each once: those that are sent with requests, and those that are only passed
// to the commands of its services.
func Environment(preset *schema.Preset) (sent, passed []string) {
	for _, trial := range preset.Trials {
		if name := trial.Spec.Service.APIKeyEnv(); name != "" {
			sent = append(sent, name)
		}
		for _, header := range trial.Spec.Request.Headers {
			if header.Env != "" {
				sent = append(sent, header.Env)
			}
		}
		if p := trial.Spec.Service.Process; p != nil {
			for _, variable := range p.Env {
				if variable.Env != "" {
					passed = append(passed, variable.Env)
				}
			}
		}
	}
	slices.Sort(sent)
	sent = slices.Compact(sent)
	passed = slices.DeleteFunc(passed, func(name string) bool { return slices.Contains(sent, name) })
	slices.Sort(passed)
	return sent, slices.Compact(passed)
}

// StartsCommands reports whether a preset has a service that commands start.
func StartsCommands(preset *schema.Preset) bool {
	return slices.ContainsFunc(preset.Trials, func(t schema.Trial) bool { return t.Spec.Service.Process != nil })
}
