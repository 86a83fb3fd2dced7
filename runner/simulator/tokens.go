package simulator

import (
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Tokens of the chat template.
const (
	tokenBegin = uint32(1) // the prompt
	tokenStart = uint32(2) // a message; its role follows
	tokenEnd   = uint32(3) // a message
)

// The longest pieces that are one token. English prose comes to about 1.3 tokens a word, as with real tokenizers.
const (
	pieceLetters = 6
	pieceDigits  = 3
)

// appendTokens appends the tokens of text: pieces of at most six letters or three digits, each with the one blank before it; every other
// character, with the one blank before it; runs of blanks; runs of line ends. What is not ASCII is one token a character. A token is a hash of
// its piece, so that equal texts have equal tokens and no vocabulary is needed.
func appendTokens(ids []uint32, text string) []uint32 {
	for len(text) > 0 {
		n := piece(text)
		ids = append(ids, tokenID(text[:n]))
		text = text[n:]
	}
	return ids
}

func tokenID(piece string) uint32 { return uint32(xxhash.Sum64String(piece)) | 4 } // never one of the template's

// piece is the length in bytes of the first token of text, which is not empty.
func piece(text string) int {
	blanks := run(text, len(text), func(c byte) bool { return c == ' ' })
	if blanks == len(text) {
		return blanks
	}
	if blanks > 1 {
		return blanks - 1 // the last one belongs to what follows it
	}
	rest := text[blanks:]
	switch c := rest[0]; {
	case isLetter(c):
		return blanks + run(rest, pieceLetters, isLetter)
	case isDigit(c):
		return blanks + run(rest, pieceDigits, isDigit)
	case isLineEnd(c):
		return blanks + run(rest, len(rest), isLineEnd)
	default:
		_, size := utf8.DecodeRuneInString(rest)
		return blanks + size
	}
}

func run(text string, most int, in func(byte) bool) int {
	n := 0
	for n < len(text) && n < most && in(text[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool  { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool   { return '0' <= c && c <= '9' }
func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }
