package workload

import (
	"bytes"
	"cmp"
	"slices"
)

// blockWords are the words that tell blocks apart: the 256 shortest of plainWords, which about any tokenizer has one token for. Eight of them have one
// order for each number of 64 bits.
var blockWords = shortest(256)

const wordsOfID = 8

func shortest(count int) []string {
	sorted := slices.Clone(plainWords)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return sorted[:count]
}

// blockText is the text of blocks of one size. A block begins with the eight words of its number, so that no two are equal; then come the first words of
// the list in an order of its own, so that all blocks count about the same; then fillers.
type blockText struct {
	size     length
	measured int64 // thousandths of tokens of a block, by the service's count
}

// fitOf is the text of blocks of so many tokens where nothing was measured: by the rate of words.
func fitOf(tokens, rate int64) blockText {
	return blockText{size: length{words: max(1, (tokens-wordsOfID)*1000/rate)}, measured: tokens * 1000}
}

// words is the number of all words of a block.
func (t blockText) words() int64 { return wordsOfID + t.size.words + t.size.fillers }

// wordsOf is how many words at the beginning of a block make so many thousandths of tokens: one each of the words of its number, and an even share of the
// others.
func (t blockText) wordsOf(measured int64) int64 {
	const number = wordsOfID * 1000
	if measured <= number || t.measured <= number {
		return min((measured+500)/1000, t.words())
	}
	return wordsOfID + ((measured-number)*(t.words()-wordsOfID)+(t.measured-number)/2)/(t.measured-number)
}

// append writes a block's text: number is drawn from what names the block.
func (t blockText) append(b []byte, number uint64) []byte {
	for shift := 0; shift < 64; shift += 8 {
		b = append(append(b, ' '), blockWords[number>>shift&0xff]...)
	}
	random := key{number, ^number}.stream(0)
	for left := t.size.words; left > 0; left -= deckWords {
		b = appendDeck(b, int(min(left, deckWords)), random)
	}
	return appendFillers(b, t.size.fillers)
}

// cut writes the first words of a block's text alone.
func (t blockText) cut(b []byte, number uint64, words int64) []byte {
	start := len(b)
	b = t.append(b, number)
	for at := start; at < len(b); at++ {
		next := bytes.IndexByte(b[at:], ' ')
		if next < 0 {
			return b
		}
		if at += next; words == 0 {
			return b[:at]
		}
		words--
	}
	return b
}

// sampleBlocks is a text of blocks with numbers drawn at random, for counting them. Its words are blocks.
type sampleBlocks struct{ of blockText }

func (sampleBlocks) constantWords() int64 { return 1 }

func (sampleBlocks) deck() int64 { return 0 }

func (s sampleBlocks) append(b []byte, size length, random *stream) []byte {
	b = append(b, "Words"...)
	for range size.words {
		b = s.of.append(b, random.pcg.Uint64())
	}
	return b
}
