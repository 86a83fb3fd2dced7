package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dlclark/regexp2/v2"
)

// The ways to cut that have no pattern in the file: GPT-2's, and at digits.
var (
	byteLevel = regexp2.MustCompile(`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, limitless)
	eachDigit = regexp2.MustCompile(`\p{N}`, limitless)
	digits    = regexp2.MustCompile(`\p{N}+`, limitless)
)

// limitless lets a match go back over a text of any length.
var limitless = regexp2.OptionMaxBacktrackingStackSize(-1)

// contractions is the one part without regard to case that patterns have. It is written out, as the original takes ſ (U+017F) for an s too.
const contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`

const contractionsSpelt = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`

// known has the patterns in which each part means the same to the original's engine (Oniguruma) and to regexp2: literals, classes of listed characters and
// general categories, blanks, alternatives, groups, looking ahead, and simple repetition. They differ in \w, \b, ^, $, nested classes and a second quantifier.
var known = sync.OnceValue(func() *regexp.Regexp {
	const (
		escape   = `\\(?:[rntsS]|[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)\}|[^A-Za-z0-9])`
		literal  = `[^\\\[\](){}?*+|.^$]`
		class    = `\[\^?(?:&?(?:` + escape + `|[^\\\[\]&^]|\^))+\]`
		quantity = `(?:[?*+]\??|\{[0-9]+(?:,[0-9]*)?\})?`
		open     = `\((?:\?[:=!])?`
	)
	return regexp.MustCompile(`^(?:(?:` + literal + `|` + escape + `|` + class + `|\))` + quantity + `|\||` + open + `)+$`)
})

// compile reads a pattern of a file.
func compile(pattern string) (*regexp2.Regexp, error) {
	pattern = strings.ReplaceAll(pattern, contractions, contractionsSpelt)
	if !known().MatchString(pattern) {
		return nil, errors.New("it has parts that can't be counted as the original does")
	}
	return regexp2.Compile(pattern, limitless)
}

// step is one way in which a text is cut further.
type step struct {
	cut    *regexp2.Regexp // the matches are pieces; nil: nothing is cut
	only   bool            // and what lies between them is left out
	prefix bool            // a piece that does not begin with a blank is given one
}

// pieces cuts each of the pieces of a text.
func (s step) pieces(of []string) ([]string, error) {
	if s.prefix {
		of = slices.Clone(of)
		for i, piece := range of {
			if !strings.HasPrefix(piece, " ") {
				of[i] = " " + piece
			}
		}
	}
	if s.cut == nil {
		return of, nil
	}
	var all []string
	for _, piece := range of {
		matches, err := s.cut.FindAllStringIndex(piece, -1)
		if err != nil {
			return nil, fmt.Errorf("cutting a text: %w", err)
		}
		end := 0
		for _, m := range matches {
			if m[0] == m[1] {
				return nil, fmt.Errorf("the pattern %q matches nothing at all in a place", s.cut)
			}
			if m[0] > end && !s.only {
				all = append(all, piece[end:m[0]])
			}
			all = append(all, piece[m[0]:m[1]])
			end = m[1]
		}
		if end < len(piece) && !s.only {
			all = append(all, piece[end:])
		}
	}
	return all, nil
}
