package schema

import (
	"regexp"
	"strings"
)

const (
	blanks = "\t\n\f\r " // those of \s
	quotes = `"'\`
)

// secretPattern finds a kind of secret. Nearly all of a text is passed over without trying the pattern: it is tried only between two bytes that no
// match has, and there only where a word that each match has stands before a byte that each match has behind it.
type secretPattern struct {
	pattern *regexp.Regexp
	replace func(match string) string // what takes the place of a match; nil: with
	with    string
	words   []string // any of these, in capitals or not
	flag    bool     // the word, with the letters, digits, '-' and '_' before it, begins with '-'
	next    string   // and any of these bytes
	ends    string   // bytes that no match has
}

var (
	secretTexts = []secretPattern{
		{pattern: userinfoPattern, with: "${1}" + Redacted + "@", words: []string{":"}, next: "/", ends: blanks + quotes + "<>?#"},
		{
			pattern: regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}`),
			with:    "${1}" + Redacted, words: []string{"bearer"}, next: blanks, ends: quotes + ",:;(){}[]<>",
		},
		{pattern: basicPattern, replace: redactBasic, words: []string{"basic"}, next: blanks, ends: quotes + ",:;(){}[]<>"},
		{
			pattern: regexp.MustCompile(`(?i)((?:authorization|api[-_]?key|secret|passw(?:or)?d|[-_]token|cookie)` +
				`["']?[ \t]*[:=][ \t]*["']?)[^\s"'\\,{}\[\]]{6,}`),
			with:  "${1}" + Redacted,
			words: []string{"authorization", "apikey", "api-key", "api_key", "secret", "passwd", "password", "-token", "_token", "cookie"},
			next:  "\"' \t:=", ends: "\n\f\r\\,{}[]",
		},
	}
	secretArguments = []secretPattern{
		// A flag whose value is a secret. The name of a variable, $NAME, is none.
		{
			pattern: regexp.MustCompile(`(?i)((?:^|[\s"'\\\[,])--?(?:[a-z0-9_-]*[-_])?(?:api[-_]?key|token|password|passwd|secret)` +
				`\\?["']?(?:,\s*|\s*=\s*|\s+)\\?["']?)[^\s"'\\,\]}=$-][^\s"'\\,\]}]*`),
			with:  "${1}" + Redacted,
			words: []string{"apikey", "api-key", "api_key", "token", "password", "passwd", "secret"}, flag: true,
			next: blanks + quotes + ",=", ends: "]}",
		},
		// A variable of the environment whose value is one.
		{
			pattern: regexp.MustCompile(`\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|PASSWORD|SECRET)=)[^\s"'\\]+`),
			with:    "${1}" + Redacted,
			words:   []string{"key", "token", "password", "secret"}, next: "=", ends: blanks + quotes,
		},
	}
)

// redact is s without what the pattern finds.
func (p secretPattern) redact(s string) string {
	if strings.Contains(s, "\u017f") || strings.Contains(s, "\u212a") {
		return p.all(s) // an s and a K to a pattern that takes capitals and small letters alike
	}
	var out strings.Builder
	done := 0
	for at := 0; at < len(s); at++ {
		next := strings.IndexAny(s[at:], p.next)
		if next < 0 {
			break
		}
		at += next
		if !p.saidBy(s[done:at]) {
			continue
		}
		from := done + max(strings.LastIndexAny(s[done:at], p.ends), 0)
		to := len(s)
		if end := strings.IndexAny(s[at:], p.ends); end >= 0 {
			to = at + end
		}
		out.WriteString(s[done:from])
		out.WriteString(p.all(s[from:to]))
		done, at = to, to-1
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// saidBy reports whether the text ends with one of the words.
func (p secretPattern) saidBy(text string) bool {
	for _, word := range p.words {
		if at := len(text) - len(word); at >= 0 && strings.EqualFold(text[at:], word) {
			return !p.flag || strings.HasPrefix(text[wordStart(text):], "-")
		}
	}
	return false
}

// all replaces all matches in s.
func (p secretPattern) all(s string) string {
	if p.replace != nil {
		return p.pattern.ReplaceAllStringFunc(s, p.replace)
	}
	return p.pattern.ReplaceAllString(s, p.with)
}

// keyPattern is what the keys of services look like, keyStarts how they begin and shortestKey the length of the shortest.
var (
	keyPattern = regexp.MustCompile(`\b(?:sk|pk|rk|hf|ghp|gho|ghs|glpat|xox[abprs]|nvapi|gsk|AKIA|AIza)[-_A-Za-z0-9]{16,}`)
	keyStarts  = []string{"sk", "pk", "rk", "hf", "gh", "glpat", "xox", "nvapi", "AKIA", "AIza"}
)

const shortestKey = 18

// redactKeys is s without keys: only words that are long enough and hold how a key begins are looked at.
func redactKeys(s string) string {
	var out strings.Builder
	done, length := 0, 0
	for at := range len(s) + 1 {
		if at < len(s) && ofWord(s[at]) {
			length++
			continue
		}
		if word := s[at-length : at]; length >= shortestKey && holdsAny(word, keyStarts) {
			out.WriteString(s[done : at-length])
			out.WriteString(keyPattern.ReplaceAllString(word, Redacted))
			done = at
		}
		length = 0
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// wordStart is where the word that a text ends with begins.
func wordStart(text string) int {
	start := len(text)
	for start > 0 && ofWord(text[start-1]) {
		start--
	}
	return start
}

func ofWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
