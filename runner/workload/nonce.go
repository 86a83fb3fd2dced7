package workload

import "math/bits"

// nonces put a few words in front of each prompt, so that no two share a prefix.
//
// A nonce is a capital letter and the run's words in some order, then the run's id: "K fox elm tea ... file 3f9a1c02." and a blank line. The
// words of a run are always the same, only their order tells prompts apart: a tokenizer that cuts text into words before it cuts words into
// tokens gives every nonce of a run the same number of tokens, and a prompt can have an exact length with a nonce too. Within a source the
// letter and the first seven words already differ for the first 1.5e9 / 8 sessions of each phase; prompts of two sources have the same nonce
// with a chance of one in 5e14.
//
// Prompts too short for that, less than 96 tokens, have capital letters: "K T A R F S 3f9a1c02.". A few words have too few orders, and a block of a
// prefix cache may hold no more than them (16 tokens in vLLM). Letters differ for the first 1.1e8 / 8 sessions of each phase, and are the same in prompts of two
// sources with a chance of one in 1.1e8.
type nonces struct {
	key    key
	words  []string // nil: letters
	tail   string   // safe inside a JSON string
	leads  uint64   // number of different letters and first words
	orders uint64   // of the words behind them
}

const (
	nonceWordCount = 16
	leadWords      = 7
	letters        = 26
	wholeNonce     = 6 * nonceWordCount // least tokens of a prompt with words in its nonce
)

// A nonce of letters, each behind a blank a token of its own even in a small vocabulary.
const (
	shortNonce    = 6
	singleLetters = "ABCDEFGHIKLMNOPRSTUVWZ"
)

// newNonces gives the nonces for prompts of promptTokens or more.
func newNonces(seed Seed, promptTokens int64) *nonces {
	tail := " " + jsonSafe(seed.Run) + "." + paragraph
	if promptTokens < wholeNonce {
		leads := uint64(1)
		for range shortNonce {
			leads *= uint64(len(singleLetters))
		}
		return &nonces{key: seed.nonces(), tail: tail, leads: leads}
	}
	orders := factorial(nonceWordCount - leadWords)
	return &nonces{
		key:    seed.nonces(),
		words:  choose(nonceWords, nonceWordCount, seed.nonceWords().stream(0)),
		tail:   " file" + tail,
		leads:  letters * factorial(nonceWordCount) / orders,
		orders: orders,
	}
}

// choose draws count of list without drawing one twice.
func choose(list []string, count int, random *stream) []string {
	pool := append([]string{}, list...)
	for i := range count {
		j := i + random.below(len(pool)-i)
		pool[i], pool[j] = pool[j], pool[i]
	}
	return pool[:count]
}

func factorial(n int) uint64 {
	product := uint64(1)
	for i := 2; i <= n; i++ {
		product *= uint64(i)
	}
	return product
}

// constantWords is about how many words a nonce's tokens are worth: a run's id takes more than one.
func (n *nonces) constantWords() int64 {
	const tail = 6
	if n.words == nil {
		return shortNonce + tail
	}
	return nonceWordCount + tail
}

// append writes the nonce of a place; nil nonces write nothing.
func (n *nonces) append(b []byte, at place) []byte {
	if n == nil {
		return b
	}
	lead := permute(n.key, uint64(at)%n.leads, n.leads)
	if n.words == nil {
		return append(appendLetters(b, lead), n.tail...)
	}
	order := lead*n.orders + n.key.hash(uint64(at))%n.orders
	left := factorial(len(n.words))
	b = append(b, 'A'+byte(order/left))
	var words [nonceWordCount]string
	rest := words[:copy(words[:], n.words)]
	for len(rest) > 0 {
		order %= left
		left /= uint64(len(rest))
		i := order / left
		b = append(append(b, ' '), rest[i]...)
		rest = append(rest[:i], rest[i+1:]...)
	}
	return append(b, n.tail...)
}

// appendLetters writes a number as letters with blanks between.
func appendLetters(b []byte, number uint64) []byte {
	for i := range shortNonce {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, singleLetters[number%uint64(len(singleLetters))])
		number /= uint64(len(singleLetters))
	}
	return b
}

// permute maps each number below size to a different one below size: a Feistel network over the next even number of bits, walked until it lands
// below size (at most four times on average).
func permute(k key, x, size uint64) uint64 {
	half := (bits.Len64(size) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		for round := range uint64(4) {
			left, right := x>>half, x&mask
			x = right<<half | (left^k.hash(right^round<<62))&mask
		}
		if x < size {
			return x
		}
	}
}
