package tokenizer

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bytePairs is byte-level BPE: a text is normalised and cut into pieces, and of the bytes of a piece the pair that was merged first in training is merged,
// again and again. Only its counts are wanted, so it keeps no text of tokens that are not looked for whole.
type bytePairs struct {
	raw, normalized specials
	forms           []norm.Form
	steps           []step
	bytes           [256]int32
	merges          map[[2]int32]merge
	whole           map[string]struct{} // pieces that are one token whatever the merges say; nil where there are none
}

// merge is what becomes of a pair.
type merge struct {
	rank int   // the lowest is merged first
	into int32 // the token
}

// letters are the characters that stand for bytes in a vocabulary: those that can be printed for themselves, and from U+0100 the others.
func letters() (all [256]rune) {
	others := rune(0x100)
	for b := range all {
		all[b] = rune(b)
		if printed := b >= '!' && b <= '~' || b >= 0xa1 && b != 0xad; !printed {
			all[b] = others
			others++
		}
	}
	return all
}

// bytePairs makes a counter of the model, without what stands before it.
func (m *model) bytePairs() (*bytePairs, error) {
	switch {
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, errors.New("model.dropout must be null: it makes counts of chance")
	case m.ContinuingSubwordPrefix != "":
		return nil, unknown("model.continuing_subword_prefix", m.ContinuingSubwordPrefix, "none")
	case m.EndOfWordSuffix != "":
		return nil, unknown("model.end_of_word_suffix", m.EndOfWordSuffix, "none")
	}
	made := &bytePairs{merges: make(map[[2]int32]merge, len(m.Merges))}
	names := letters()
	for b, r := range names {
		id, there := m.Vocab[string(r)]
		if !there {
			return nil, fmt.Errorf("model.vocab has no token %q, for the byte %d: only byte-level BPE can be counted as the original does", r, b)
		}
		made.bytes[b] = id
	}
	for rank, p := range m.Merges {
		left, thereLeft := m.Vocab[p[0]]
		right, thereRight := m.Vocab[p[1]]
		into, there := m.Vocab[p[0]+p[1]]
		if !thereLeft || !thereRight || !there {
			return nil, fmt.Errorf("model.merges joins %q and %q, and model.vocab has not both and what they make", p[0], p[1])
		}
		made.merges[[2]int32{left, right}] = merge{rank, into}
	}
	if m.IgnoreMerges {
		made.whole = wholes(m.Vocab, names)
	}
	return made, nil
}

// wholes are the tokens of a vocabulary as the bytes that they stand for.
func wholes(vocab map[string]int32, names [256]rune) map[string]struct{} {
	byName := map[rune]byte{}
	for b, r := range names {
		byName[r] = byte(b)
	}
	all := make(map[string]struct{}, len(vocab))
	for token := range vocab {
		var text []byte
		for _, r := range token {
			b, there := byName[r]
			if !there {
				text = nil // it stands for no text
				break
			}
			text = append(text, b)
		}
		all[string(text)] = struct{}{}
	}
	return all
}

// Count is how many tokens a text has.
func (b *bytePairs) Count(text string) (int, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, r := range text {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Cn, r) {
			return 0, fmt.Errorf("it has %U, which is no character of Unicode %s: whether it is a letter is not known", r, unicode.Version)
		}
	}
	counted := counting{bytePairs: b, known: map[string]int{}}
	err := b.raw.apart(text, &counted.sum, func(part string) error {
		part, err := b.normalize(part)
		if err != nil {
			return err
		}
		return b.normalized.apart(part, &counted.sum, counted.add)
	})
	return counted.sum, err
}

// normalize gives a text in the file's forms. Those are stable, but that golang.org/x/text breaks long runs of marks, and the original does not.
func (b *bytePairs) normalize(text string) (string, error) {
	const joiner = "\u034f"
	for _, form := range b.forms {
		before := strings.Count(text, joiner)
		text = form.String(text)
		if strings.Count(text, joiner) != before {
			return "", errors.New("it has more than 30 marks on one letter")
		}
	}
	return text, nil
}

// counting counts one text.
type counting struct {
	*bytePairs
	sum   int
	known map[string]int // tokens of the pieces so far: most come again
}

// add counts a part of the text that has no added token.
func (c *counting) add(part string) error {
	pieces := []string{part}
	for _, s := range c.steps {
		var err error
		if pieces, err = s.pieces(pieces); err != nil {
			return err
		}
	}
	for _, piece := range pieces {
		n, there := c.known[piece]
		if !there {
			n = c.tokens(piece)
			c.known[piece] = n
		}
		c.sum += n
	}
	return nil
}

// tokens is how many tokens a piece has.
func (b *bytePairs) tokens(piece string) int {
	if _, there := b.whole[piece]; there {
		return 1
	}
	parts := make([]part, len(piece))
	for i := range parts {
		parts[i] = part{token: b.bytes[piece[i]], before: i - 1, after: i + 1}
	}
	var next candidates
	look := func(at int) { // at a part and the one after it
		if at < 0 || parts[at].after == len(parts) {
			return
		}
		if m, there := b.merges[[2]int32{parts[at].token, parts[parts[at].after].token}]; there {
			heap.Push(&next, candidate{m, at, parts[at].after})
		}
	}
	for i := range parts {
		look(i)
	}
	n := len(parts)
	for next.Len() > 0 {
		c := heap.Pop(&next).(candidate)
		at := &parts[c.at]
		if at.gone || at.after != c.after || b.merges[[2]int32{at.token, parts[c.after].token}] != c.merge {
			continue // one of the two has been merged with another
		}
		parts[c.after].gone = true
		at.token, at.after = c.into, parts[c.after].after
		if at.after < len(parts) {
			parts[at.after].before = c.at
		}
		n--
		look(at.before)
		look(c.at)
	}
	return n
}

// part is a token of a piece on the way, and the places of those beside it.
type part struct {
	token         int32
	before, after int
	gone          bool // into the one before it
}

// candidate is a pair that can be merged.
type candidate struct {
	merge
	at, after int
}

// candidates has the lowest rank, and of equal ones the leftmost, in front.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(c[i].rank, c[j].rank), cmp.Compare(c[i].at, c[j].at)) < 0
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// specials are added tokens by their first byte, the longest first.
type specials [256][]added

func (s *specials) add(token added) {
	if token.Content == "" {
		return
	}
	same := &s[token.Content[0]]
	*same = append(*same, token)
	slices.SortStableFunc(*same, func(a, b added) int { return cmp.Compare(len(b.Content), len(a.Content)) })
}

// apart counts the tokens that stand in a text, and has between look at what stands between them.
func (s *specials) apart(text string, sum *int, between func(string) error) error {
	start := 0
	for at := 0; at < len(text); {
		i := slices.IndexFunc(s[text[at]], func(token added) bool { return strings.HasPrefix(text[at:], token.Content) })
		if i < 0 {
			at++
			continue
		}
		token := s[text[at]][i]
		if token.SingleWord || token.LStrip || token.RStrip {
			return fmt.Errorf("it has the token %q, which takes in what stands beside it", token.Content)
		}
		if at > start {
			if err := between(text[start:at]); err != nil {
				return err
			}
		}
		*sum++
		at += len(token.Content)
		start = at
	}
	if start == len(text) {
		return nil
	}
	return between(text[start:])
}
