package report

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode"
)

// escaped is any escape in JSON text.
var escaped = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|[^u])`)

// printable is JSON text without the control characters, but for tabs and ends of lines, and without what turns the order of reading: a page shows what other
// people's runs hold.
func printable(text []byte) []byte {
	text = escaped.ReplaceAllFunc(text, func(escape []byte) []byte {
		switch escape[1] {
		case 'b', 'f':
			return nil
		case 'u':
			if n, err := strconv.ParseUint(string(escape[2:]), 16, 16); err == nil && unseen(rune(n)) {
				return nil
			}
		}
		return escape
	})
	return bytes.Map(func(r rune) rune {
		if unseen(r) && r != '\n' {
			return -1
		}
		return r
	}, text)
}

func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
