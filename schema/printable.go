package schema

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes are a terminal's control sequences: colours, the cursor, the title.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])`)

// Printable is a line of somebody else's without what would move a terminal's cursor, begin a line of its own, or turn the order of what is read: neither
// a log nor a run of another store may write over what stands beside it. Blanks at its ends are cut off.
func Printable(line string) string {
	line = escapes.ReplaceAllString(line, "")
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	return strings.TrimSpace(line)
}

// PrintableLines is [Printable] of each line of a text, which keeps its indent.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " ")
		lines[i] = line[:len(line)-len(body)] + Printable(body)
	}
	return strings.Join(lines, "\n")
}
