package schema

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// Redacted stands in the place of what must not be stored.
const Redacted = "REDACTED"

var (
	userinfoPattern = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)((?:[^/?#\s"'\\<>@]*@)+)`)
	basicPattern    = regexp.MustCompile(`(?i)\b(basic\s+)([A-Za-z0-9+/=_-]{8,})`)
)

// RedactText is s without the user names and passwords of URLs, and without what looks like a key. It runs on the output of requests while a
// point is measured.
func RedactText(s string) string {
	for _, p := range secretTexts {
		s = p.redact(s)
	}
	return redactKeys(s)
}

// RedactCommands is [RedactText] of a text that command lines may stand in: the values of flags and environment variables that are named as secrets
// are replaced too.
func RedactCommands(s string) string {
	s = RedactText(s)
	for _, p := range secretArguments {
		s = p.redact(s)
	}
	return s
}

// redactBasic tells credentials from prose: they are a name, a colon and a password in base64.
func redactBasic(s string) string {
	parts := basicPattern.FindStringSubmatch(s)
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(parts[2], "="))
	if err != nil || !strings.Contains(string(decoded), ":") {
		return s
	}
	return parts[1] + Redacted
}

// Redact is the text of a preset as it may be stored: the user names and passwords of URLs, and in comments as elsewhere what looks like a key, are
// replaced.
//
// A secret that only evaluation puts together, such as a URL added up from parts, does not show in the text. Then the preset's values stand in its
// place, as JSON.
func Redact(filename string, src []byte) []byte {
	redacted := RedactText(string(src))
	before, _ := readTree(filename, src)
	if before == nil {
		return []byte(redacted)
	}
	after, _ := readTree(filename, []byte(redacted))
	if after != nil && len(passwords(after)) == 0 && !holdsAny(redacted, passwords(before)) {
		return []byte(redacted)
	}
	values := RedactText(before.json())
	for _, password := range passwords(before) {
		values = strings.ReplaceAll(values, password, Redacted)
	}
	return []byte(values + "\n")
}

// passwords are those of the URLs in n; the user name where it has no password.
func passwords(n *node) []string {
	var found []string
	if n.kind == text {
		for _, match := range userinfoPattern.FindAllStringSubmatch(n.literal, -1) {
			user, password, _ := strings.Cut(strings.TrimSuffix(match[2], "@"), ":")
			if password == "" {
				password = user
			}
			if password != "" && password != Redacted {
				found = append(found, password)
			}
		}
	}
	for _, item := range n.items {
		found = append(found, passwords(item)...)
	}
	for _, f := range n.fields {
		found = append(found, passwords(f.value)...)
	}
	return found
}

func holdsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
