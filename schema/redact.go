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
	bearerPattern   = regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}`)
	basicPattern    = regexp.MustCompile(`(?i)\b(basic\s+)([A-Za-z0-9+/=_-]{8,})`)
	keyPattern      = regexp.MustCompile(`\b(?:sk|pk|rk|hf|ghp|gho|ghs|glpat|xox[abprs]|nvapi|gsk|AKIA|AIza)[-_A-Za-z0-9]{16,}`)
	assignedPattern = regexp.MustCompile(`(?i)((?:authorization|api[-_]?key|secret|passw(?:or)?d|[-_]token|cookie)` +
		`["']?[ \t]*[:=][ \t]*["']?)[^\s"'\\,{}\[\]]{6,}`)
)

// RedactText is s without the user names and passwords of URLs, and without what looks like a key. It runs on the output of requests while a
// point is measured: patterns are tried only on text that has what every match of theirs has.
func RedactText(s string) string {
	if strings.Contains(s, "://") {
		s = userinfoPattern.ReplaceAllString(s, "${1}"+Redacted+"@")
	}
	if low := strings.ToLower(s); strings.Contains(low, "bearer") || strings.Contains(low, "basic") {
		s = bearerPattern.ReplaceAllString(s, "${1}"+Redacted)
		s = basicPattern.ReplaceAllStringFunc(s, redactBasic)
	}
	if strings.ContainsAny(s, ":=") {
		s = assignedPattern.ReplaceAllString(s, "${1}"+Redacted)
	}
	if hasLongWord(s, shortestKey) {
		s = keyPattern.ReplaceAllString(s, Redacted)
	}
	return s
}

// shortestKey is the length of the shortest text that keyPattern matches.
const shortestKey = 18

// hasLongWord reports whether s has so many letters, digits, '-' and '_' in a row.
func hasLongWord(s string, length int) bool {
	run := 0
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			if run++; run == length {
				return true
			}
		default:
			run = 0
		}
	}
	return false
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
