package workload

import (
	"cmp"
	"errors"
	"slices"
)

// search seeks the size of a text whose prompt has a wanted number of tokens. It asks for the count of a few sizes and takes counts to be sums:
// what so many words count, plus what so many fillers count. Where they are not quite, the sizes that it predicts are counted and put right.
type search struct {
	count  func(length) (int64, error)
	deck   int64
	counts map[length]int64
	order  []length        // of counts
	words  map[int64]int64 // words → count without fillers
	fills  map[int64]int64 // fillers → what they add
	left   int             // counts that may still be asked for, for one target
}

const (
	maxCounts   = 12  // for one target
	leastWords  = 8   // of the first text counted
	sampleWords = 128 // of the second
	fillRange   = 16  // how many tokens are made up by fillers
	decksToSkip = 3   // a text of more decks than this isn't counted whole
	aimedShort  = 6   // tokens that the fillers shall have to make up
	caution     = 16  // a step aims short by this part of its length, so as not to go past what the service takes
)

var errNotGrowing = errors.New("the service counts no more tokens in a longer prompt: its usage can't be relied on")

func newSearch(deck int64, count func(length) (int64, error)) *search {
	return &search{
		count: count, deck: deck,
		counts: map[length]int64{}, words: map[int64]int64{}, fills: map[int64]int64{0: 0},
	}
}

// fit finds the best text for a prompt of target tokens.
func (s *search) fit(target int64) (Fit, error) {
	s.left = maxCounts
	if err := s.sample(target); err != nil {
		return Fit{}, err
	}
	skipped, err := s.skip(target)
	if err != nil {
		return Fit{}, err
	}
	decks := skipped / max(s.deck, 1)
	rest := target - decks*s.deckTokens()
	if err := s.close(rest); err != nil {
		return Fit{}, err
	}
	best := s.best(rest)
	counted := s.counts[best] + target - rest
	return Fit{PromptTokens: target, Counted: counted, Words: best.words + skipped, Fillers: best.fillers}, nil
}

// sample counts two short texts, for a first idea of the rate.
func (s *search) sample(target int64) error {
	if err := s.ask(length{words: leastWords}); err != nil {
		return err
	}
	room := (target - s.words[leastWords]) * 1000 / estimatedRate // words, about
	if room <= leastWords {
		return nil
	}
	if err := s.ask(length{words: leastWords + min(sampleWords, (room+3)/4)}); err != nil {
		return err
	}
	if _, rate := s.line(); rate <= 0 {
		return errNotGrowing
	}
	return nil
}

// skip says how many words, whole decks, of a text for target tokens need not be counted. It counts a deck if there are any.
func (s *search) skip(target int64) (int64, error) {
	overhead, rate := s.line()
	if s.deck == 0 || (target-overhead)*1000 < rate*s.deck*decksToSkip {
		return 0, nil
	}
	if err := s.ask(length{words: leastWords + s.deck}); err != nil {
		return 0, err
	}
	if s.deckTokens() <= 0 {
		return 0, errNotGrowing
	}
	return max(0, (target-s.words[leastWords])/s.deckTokens()-1) * s.deck, nil
}

// deckTokens is the count of a deck; 0 where none was counted.
func (s *search) deckTokens() int64 {
	whole, ok := s.words[leastWords+s.deck]
	if s.deck == 0 || !ok {
		return 0
	}
	return whole - s.words[leastWords]
}

// close asks for counts until one is target, or no more may be asked for.
func (s *search) close(target int64) error {
	for s.left > 0 && s.counts[s.best(target)] != target {
		next, ok := s.next(target)
		if !ok {
			return nil
		}
		if err := s.ask(next); err != nil {
			return err
		}
	}
	return nil
}

// ask counts a text, once.
func (s *search) ask(size length) error {
	if s.asked(size) {
		return nil
	}
	counted, err := s.count(size)
	if err != nil {
		return err
	}
	s.left--
	s.counts[size] = counted
	s.order = append(s.order, size)
	if size.fillers == 0 {
		s.words[size.words] = counted
	} else if base, ok := s.words[size.words]; ok {
		s.fills[size.fillers] = counted - base
	}
	return nil
}

// best is the counted text that comes nearest to target, the first of equals.
func (s *search) best(target int64) length {
	best := s.order[0]
	for _, size := range s.order {
		if distance(s.counts[size], target) < distance(s.counts[best], target) {
			best = size
		}
	}
	return best
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// next is the text to count next; false if nothing is left to try.
func (s *search) next(target int64) (length, bool) {
	if size, ok := s.sum(target); ok {
		return size, true
	}
	below := s.below(target)
	if len(below) == 0 {
		return s.step(target)
	}
	for _, words := range below {
		if fillers, ok := s.nextFillers(target - s.words[words]); ok {
			if size := (length{words, fillers}); !s.asked(size) {
				return size, true
			}
		}
	}
	return s.neighbour(below[0])
}

func (s *search) asked(size length) bool {
	_, ok := s.counts[size]
	return ok
}

// sum is a text not counted yet whose words and fillers were counted apart and add up to target.
func (s *search) sum(target int64) (length, bool) {
	for _, base := range s.order {
		if base.fillers != 0 {
			continue
		}
		for _, filled := range s.order {
			size := length{base.words, filled.fillers}
			if fill, ok := s.fills[size.fillers]; ok && s.words[size.words]+fill == target && !s.asked(size) {
				return size, true
			}
		}
	}
	return length{}, false
}

// below lists the numbers of words of the texts without fillers that fall short of target by no more than fillers can make up, longest first.
func (s *search) below(target int64) []int64 {
	var found []int64
	for _, size := range s.order {
		if short := target - s.counts[size]; size.fillers == 0 && short >= 0 && short <= fillRange {
			found = append(found, size.words)
		}
	}
	slices.SortFunc(found, func(a, b int64) int { return cmp.Compare(b, a) })
	return found
}

// step goes from the counted number of words nearest to target to one that should fall a little short of it.
func (s *search) step(target int64) (length, bool) {
	_, rate := s.line()
	from := int64(leastWords)
	for _, size := range s.order {
		if size.fillers == 0 && distance(s.counts[size], target) < distance(s.words[from], target) {
			from = size.words
		}
	}
	gap := target - s.words[from]
	aim := gap - max(gap/caution, aimedShort)
	return s.neighbour(max(1, from+aim*1000/max(rate, 1)))
}

// neighbour is the text nearest to a number of words, at or below it, that was not counted yet.
func (s *search) neighbour(words int64) (length, bool) {
	for words > 0 && s.asked(length{words: words}) {
		words--
	}
	return length{words: words}, words > 0
}

// nextFillers is a number of fillers, not among those counted, that may add gap tokens; false if there is none.
func (s *search) nextFillers(gap int64) (int64, bool) {
	low, high := int64(0), int64(-1)
	for fillers, fill := range s.fills {
		if fill <= gap && fillers > low {
			low = fillers
		}
		if fill > gap && (high < 0 || fillers < high) {
			high = fillers
		}
	}
	missing := gap - s.fills[low]
	if high < 0 {
		return low + missing, missing > 0
	}
	between := missing * (high - low) / (s.fills[high] - s.fills[low])
	return low + max(1, between), missing > 0 && high-low > 1
}

// line is the straight line through the counts of the shortest and the longest text without fillers: the count of no words, and of 1,000.
func (s *search) line() (overhead, rate int64) {
	short, long := int64(leastWords), int64(leastWords)
	for words := range s.words {
		short, long = min(short, words), max(long, words)
	}
	if long == short {
		return s.words[short] - short*estimatedRate/1000, estimatedRate
	}
	rate = (s.words[long] - s.words[short]) * 1000 / (long - short)
	return s.words[short] - short*rate/1000, rate
}
