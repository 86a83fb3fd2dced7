package workload

// Calibration says how many words make a prompt of a number of tokens, at one service. [Calibrate] measures it; a Scale of zero is an estimate.
//
// It holds for the specification's model, request and workload, and for prompts with the nonces of the run it was measured in.
type Calibration struct {
	Story Scale `json:"story"` // the text of fixed
	Words Scale `json:"words"` // the text of random and of generated trees, and of the context probe of every workload

	PrefixWords int64      `json:"prefix_words,omitempty"` // of the prefix that random prompts share
	Blocks      []BlockFit `json:"blocks,omitempty"`       // of a trace
}

// Scale is how a kind of text becomes tokens.
type Scale struct {
	// Overhead is the prompt's tokens beside those of its words: the chat template, the nonce, the constant parts of the text.
	Overhead int64 `json:"overhead_tokens"`
	// Rate is the number of tokens of 1,000 words.
	Rate int64 `json:"tokens_per_1000_words"`
	// Fits are the prompt lengths that were sought one by one.
	Fits []Fit `json:"fits,omitempty"`
	// Knots are texts of rising length that were counted, and Deck the tokens of a whole deck of words: lengths between are in proportion. Empty where
	// no length varies.
	Knots []Knot `json:"knots,omitempty"`
	Deck  int64  `json:"tokens_per_deck,omitempty"`
}

// Knot is the number of tokens of a prompt with so many words.
type Knot struct {
	Words  int64 `json:"words"`
	Tokens int64 `json:"tokens"`
}

// Fit is a text found for a number of prompt tokens.
type Fit struct {
	PromptTokens int64 `json:"prompt_tokens"` // sought
	Counted      int64 `json:"counted"`       // by the service; equal to PromptTokens where the text allows
	Words        int64 `json:"words"`
	Fillers      int64 `json:"fillers"` // short words added to meet the count
}

// Estimates where nothing was measured: English takes 1.3 tokens a word with today's vocabularies, and a chat template about 10.
const (
	estimatedRate     = 1300
	estimatedTemplate = 10
)

// orEstimate is s, or where s was not measured the estimate for prompts of w with a kind of text.
func (s Scale) orEstimate(kind text, w *writer) Scale {
	if s.Rate != 0 {
		return s
	}
	constant := kind.constantWords()
	if w.nonces != nil {
		constant += w.nonces.constantWords()
	}
	return Scale{Overhead: estimatedTemplate + constant*estimatedRate/1000, Rate: estimatedRate}
}

// lengthOf is the size of a text for a prompt of promptTokens: the fit for it, else the nearest by rate. It has at least one word.
func (s Scale) lengthOf(promptTokens int64) length {
	for _, fit := range s.Fits {
		if fit.PromptTokens == promptTokens {
			return length{fit.Words, fit.Fillers}
		}
	}
	if len(s.Knots) > 0 {
		return length{words: max(1, s.byKnots(promptTokens))}
	}
	return length{words: max(1, ((promptTokens-s.Overhead)*1000+s.Rate/2)/s.Rate)}
}

// byKnots is the number of words by the knots: whole decks, and what is left in proportion between two knots.
func (s Scale) byKnots(promptTokens int64) int64 {
	first, last := s.Knots[0], s.Knots[len(s.Knots)-1]
	var decks int64
	if s.Deck > 0 {
		decks = max(0, (promptTokens-first.Tokens)/s.Deck)
	}
	rest := promptTokens - decks*s.Deck
	from, to := last, Knot{last.Words + 1000, last.Tokens + s.Rate}
	for i := len(s.Knots) - 1; i >= 0 && s.Knots[i].Tokens > rest; i-- {
		from, to = Knot{s.Knots[i].Words - 1000, s.Knots[i].Tokens - s.Rate}, s.Knots[i]
		if i > 0 {
			from = s.Knots[i-1]
		}
	}
	gap := max(to.Tokens-from.Tokens, 1)
	return decks*deckWords + from.Words + ((rest-from.Tokens)*(to.Words-from.Words)+gap/2)/gap
}

// wordsOf is how many words add about so many tokens to a text, at least one.
func (s Scale) wordsOf(tokens int64) int64 { return max(1, tokens*1000/s.Rate) }
