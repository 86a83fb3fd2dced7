package service

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sweetspot/schema"
)

// Secret is a value that must not be printed: every way of formatting it gives a placeholder. Its zero value is no secret.
type Secret struct {
	value *string // behind a pointer: where a Secret is a field that is not exported, package fmt prints its insides
}

// NewSecret hides a value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal is the value itself, for the one place that sends it; empty where there is none.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String is a placeholder.
func (s Secret) String() string {
	if s.Reveal() == "" {
		return ""
	}
	return schema.Redacted
}

// GoString is a placeholder.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText is a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Secrets are the values of environment variables that must not reach a text. The zero value has none.
type Secrets struct {
	values   []string
	replacer *strings.Replacer
}

// leastSecret is the length in bytes below which a text is not replaced: it would garble all others.
const leastSecret = 4

// NewSecrets reads the variables that are named. All that are not set, or are empty, are named in one error.
func NewSecrets(names []string, lookup func(string) (string, bool)) (Secrets, error) {
	var s Secrets
	var missing []string
	for _, name := range names {
		value, _ := lookup(name)
		if value == "" {
			missing = append(missing, name)
			continue
		}
		s.values = append(s.values, value)
	}
	if missing != nil {
		return Secrets{}, fmt.Errorf("environment variables that the preset names are not set: %s", strings.Join(missing, ", "))
	}
	var pairs []string
	for _, form := range forms(s.values) {
		pairs = append(pairs, form, schema.Redacted)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s, nil
}

// Values are the values, in the order of their names.
func (s Secrets) Values() []string { return slices.Clone(s.values) }

// Redact is text without the secrets, without the user names and passwords of URLs, and without what looks like a key. A secret is found as it
// is, as JSON, Go and URLs write it, and without the word before it where it has several ("Bearer …"). Parts of one are not found.
func (s Secrets) Redact(text string) string {
	if s.replacer != nil {
		text = s.replacer.Replace(text)
	}
	return schema.RedactText(text)
}

// forms are the ways in which values may stand in a text, the longest first, as one may be part of another.
func forms(values []string) []string {
	var all []string
	for _, value := range values {
		for _, part := range append(strings.Fields(value), value) {
			quoted, err := json.Marshal(part)
			if err == nil {
				all = append(all, strings.Trim(string(quoted), `"`))
			}
			goQuoted := fmt.Sprintf("%q", part)
			all = append(all, part, goQuoted[1:len(goQuoted)-1], url.QueryEscape(part), url.PathEscape(part), url.UserPassword("", part).String()[1:])
		}
	}
	all = slices.DeleteFunc(all, func(form string) bool { return len(form) < leastSecret })
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
