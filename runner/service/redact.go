package service

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sweetspot/schema"
)

// Redact is text without the secrets, without the user names and passwords of URLs, and without what looks like a key. A secret is found as it
// is, as JSON, Go, Python, URLs and HTML write it, quoted once or several times over, in any case, in base64 where it has at least 8 characters of it, and
// without the word before it where it has several ("Bearer …"). Parts of one are not found, nor is what it is encoded as otherwise.
func (s Secrets) Redact(text string) string {
	if s.pattern != nil {
		text = s.pattern.ReplaceAllLiteralString(text, schema.Redacted)
	}
	return schema.RedactText(text)
}

// pattern finds values in any form, whatever the case of its letters; nil where there is none.
func pattern(values []string) *regexp.Regexp {
	var alternatives []string
	for _, form := range forms(values) {
		alternatives = append(alternatives, requoted(form))
	}
	for _, part := range longestFirst(allParts(values)) {
		alternatives = append(alternatives, inBase64(part)...)
	}
	if alternatives == nil {
		return nil
	}
	return regexp.MustCompile("(?i)" + strings.Join(alternatives, "|"))
}

// parts are a value, its words, and what basic credentials among them say.
func parts(value string) []string {
	all := append(strings.Fields(value), value)
	for i := range all {
		plain, err := base64.StdEncoding.DecodeString(all[i])
		if user, password, found := strings.Cut(string(plain), ":"); err == nil && found && utf8.Valid(plain) {
			all = append(all, user+":"+password, password)
		}
	}
	return all
}

// forms are the ways in which values may stand in a text, but for base64, the longest first, as one may be part of another.
func forms(values []string) []string {
	var all []string
	for _, part := range allParts(values) {
		all = append(all, written(part)...)
	}
	return longestFirst(slices.DeleteFunc(all, func(form string) bool { return len(form) < leastSecret }))
}

// longestFirst sorts texts so, and leaves out what stands there twice.
func longestFirst(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(texts)
}

func allParts(values []string) []string {
	var all []string
	for _, value := range values {
		all = append(all, parts(value)...)
	}
	return all
}

// written are the ways to write a text: as it is, as JSON, Go and Python quote it, as parts of URLs and in HTML. Quoting that only sets backslashes before
// characters is left to requoted.
func written(value string) []string {
	all := []string{value}
	quoted := []string{fmt.Sprintf("%q", value), fmt.Sprintf("%+q", value)}
	if inJSON, err := json.Marshal(value); err == nil {
		quoted = append(quoted, string(inJSON))
	}
	for _, q := range quoted {
		all = append(all, q[1:len(q)-1])
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r >= utf8.RuneSelf }) {
		all = append(all, inASCII(value)...)
	}
	query := url.QueryEscape(value)
	for _, escaped := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(value), url.UserPassword("", value).String()[1:]} {
		all = append(all, escaped, strings.ReplaceAll(escaped, "%2F", "/"))
	}
	markup := html.EscapeString(value)
	return append(all, markup, strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(markup))
}

// inASCII are the ways to write a text that is not ASCII: as the Latin-1 that servers take headers for, and what JSON and Python make of either.
func inASCII(value string) []string {
	var latin, units, bytes strings.Builder
	for _, b := range []byte(value) {
		latin.WriteRune(rune(b))
		if b < utf8.RuneSelf {
			bytes.WriteByte(b)
		} else {
			fmt.Fprintf(&bytes, `\x%02x`, b)
		}
	}
	escaped := func(into *strings.Builder, text string) {
		for _, unit := range utf16.Encode([]rune(text)) {
			if unit < utf8.RuneSelf {
				into.WriteByte(byte(unit))
			} else {
				fmt.Fprintf(into, `\u%04x`, unit)
			}
		}
	}
	var both strings.Builder
	escaped(&units, value)
	escaped(&both, latin.String())
	return []string{latin.String(), units.String(), bytes.String(), both.String()}
}

// requoted is the pattern of a form as it is and after any more quoting, which sets backslashes before quotes, slashes and other backslashes.
func requoted(form string) string {
	var b strings.Builder
	for i := 0; i < len(form); {
		run := 0
		for i+run < len(form) && form[i+run] == '\\' {
			run++
		}
		switch {
		case run > 0:
			const most = 1000 // that package regexp counts
			fmt.Fprintf(&b, `\\{%d,}`, min(run, most))
			i += run
			continue
		case strings.IndexByte(`"'/`, form[i]) >= 0 && (i == 0 || form[i-1] != '\\'):
			b.WriteString(`\\*`)
		}
		_, size := utf8.DecodeRuneInString(form[i:])
		b.WriteString(regexp.QuoteMeta(form[i : i+size]))
		i += size
	}
	return b.String()
}

// inBase64 are the patterns of a value in base64, alone or within a longer text, such as a user's name and a colon before it: three, as its first byte may
// be any of the three that four characters stand for. A character that also has bits of what stands beside the value is any.
func inBase64(value string) []string {
	const shortest, any = 8, `[A-Za-z0-9+/_-]`
	var all []string
	for before := range 3 {
		whole := append(make([]byte, before), value...)
		text := base64.RawStdEncoding.EncodeToString(whole)
		first, end := (before*8+5)/6, len(whole)*8/6
		if end-first < shortest {
			continue
		}
		inner := regexp.QuoteMeta(text[first:end])
		inner = strings.NewReplacer(`\+`, `[+-]`, `/`, `[/_]`).Replace(inner)
		all = append(all, strings.Repeat(any, first-before*8/6)+inner+strings.Repeat(any+"?", len(text)-end))
	}
	return all
}
