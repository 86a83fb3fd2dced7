package workload

// length is the size of a text in its own units.
type length struct {
	words   int64
	fillers int64 // short words that bring the text to an exact number of tokens
}

// text is a kind of text that can be had at any length.
type text interface {
	// append writes a text, safe inside a JSON string. With the same random numbers, one word or filler more adds to the same text.
	append(b []byte, size length, random *stream) []byte
	// constantWords is about how many words a text has beside those of its length.
	constantWords() int64
	// deck is the number of words after which the tokens of a text grow anew by the same amount; 0 where they never do.
	deck() int64
}

// paragraph ends a paragraph inside a JSON string.
const paragraph = `\n\n`

// bytesPerWord is a little more than what a word takes, for making room ahead.
const bytesPerWord = 7

// shuffledWords is text of plain words in random order, behind one that is always the same.
//
// The words come as from decks of cards: each deck is the whole list, shuffled; the last, incomplete one is the first words of the list,
// shuffled. So all texts of one length hold the same words in another order, and to a tokenizer that cuts text into words first they all have
// the same number of tokens. Texts of less than a dozen words have few orders, and may meet again. The constant first word keeps a word without a blank before it, which may count otherwise, out of the shuffling.
type shuffledWords struct{}

func (shuffledWords) constantWords() int64 { return 1 }

func (shuffledWords) deck() int64 { return deckWords }

func (shuffledWords) append(b []byte, size length, random *stream) []byte {
	b = append(b, "Words"...)
	for left := size.words; left > 0; left -= deckWords {
		b = appendDeck(b, int(min(left, deckWords)), random)
	}
	return appendFillers(b, size.fillers)
}

// deckWords is the number of plainWords.
const deckWords = 512

// card is a word behind a blank, padded; its last byte is the length. Copying whole cards is what makes long prompts cheap.
type card [16]byte

var cards = newCards()

func newCards() *[deckWords]card {
	var made [deckWords]card
	for i, word := range plainWords {
		text := " " + word
		copy(made[i][:], text)
		made[i][len(card{})-1] = byte(len(text))
	}
	return &made
}

// appendDeck writes the first count words of the list, shuffled.
func appendDeck(b []byte, count int, random *stream) []byte {
	var text [(deckWords + 1) * len(card{})]byte
	at := 0
	var order [deckWords]uint16
	for i := range count {
		order[i] = uint16(i)
	}
	var numbers uint64
	for i := range count {
		if i%2 == 0 {
			numbers = random.pcg.Uint64()
		}
		j := i + int(numbers&0xffffffff*uint64(count-i)>>32)
		numbers >>= 32
		order[i], order[j] = order[j], order[i]
		word := &cards[order[i]%deckWords]
		copy(text[at:at+len(card{})], word[:])
		at += int(word[len(card{})-1])
	}
	return append(b, text[:at]...)
}

func appendFillers(b []byte, count int64) []byte {
	for i := range count {
		b = append(append(b, ' '), fillerWords[i%int64(len(fillerWords))]...)
	}
	return b
}
