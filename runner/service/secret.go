package service

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

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
	values  []string
	pattern *regexp.Regexp // of all their forms; nil where there are none
}

// leastSecret is the length in bytes below which a text is not replaced: it would garble all others.
const leastSecret = 4

// NewSecrets reads the variables that are named: those whose values are sent as headers, and those that are passed to a service's commands. All that
// are not set, or are empty, are named in one error, and so are those sent that no header may hold.
func NewSecrets(sent, passed []string, lookup func(string) (string, bool)) (Secrets, error) {
	var s Secrets
	var missing, unfit []string
	for i, name := range slices.Concat(sent, passed) {
		value, _ := lookup(name)
		if value == "" {
			missing = append(missing, name)
			continue
		}
		if i < len(sent) && unfitForHeader(value) {
			unfit = append(unfit, name)
		}
		s.values = append(s.values, value)
	}
	var faults []error
	if missing != nil {
		faults = append(faults, fmt.Errorf("environment variables that the preset names are not set: %s", strings.Join(missing, ", ")))
	}
	if unfit != nil {
		faults = append(faults, fmt.Errorf("environment variables hold a line break, another control character or what is not UTF-8, which no header may: %s",
			strings.Join(unfit, ", ")))
	}
	if faults != nil {
		return Secrets{}, errors.Join(faults...)
	}
	s.pattern = pattern(s.values)
	return s, nil
}

// Inheriting are s and the secrets in an environment, NAME=VALUE, that a service's commands inherit: the values of variables that are named like
// one.
func (s Secrets) Inheriting(environ []string) Secrets {
	all := Secrets{values: slices.Clone(s.values)}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if namesSecret(name) && len(value) >= leastInherited {
			all.values = append(all.values, value)
		}
	}
	all.pattern = pattern(all.values)
	return all
}

// secretName is the name of a variable whose value is taken for a secret; harmlessName is one that only looks like it: a program that asks for a password, a
// desktop's kind, a switch. PWD and OLDPWD are folders, and MYSQL_PWD is none.
var (
	secretName = regexp.MustCompile(`(?i)(^|_)(key|token|auth|credentials?|pat|bearer|jwt|netrc|cookies?|session|access_key_id)$|` +
		`_pwd$|pass(phrase)?$|api_?key|secret|passw`)
	harmlessName = regexp.MustCompile(`(?i)(^|_)(bypass|compass|desktop_session)$|askpass$`)
)

// namesSecret reports whether the value of a variable of that name is taken for a secret.
func namesSecret(name string) bool {
	return secretName.MatchString(name) && !harmlessName.MatchString(name)
}

// leastInherited is the length in bytes below which the value of such a variable is taken for something else, such as a switch.
const leastInherited = 8

// Values are the values, in the order of their names.
func (s Secrets) Values() []string { return slices.Clone(s.values) }

// unfitForHeader reports whether an HTTP header can't carry a value, or carries bytes that are no text.
func unfitForHeader(value string) bool {
	return !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
