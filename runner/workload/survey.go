package workload

import (
	"cmp"
	"slices"
)

// surveyStep is how many words lie between the texts that a survey counts.
const surveyStep = 64

// survey counts texts of rising length, until one is as long as wanted or a whole deck of words is counted, which says what follows.
func (s *search) survey(promptTokens int64) error {
	for words := int64(leastWords); ; words += surveyStep {
		if err := s.ask(length{words: words}); err != nil {
			return err
		}
		if s.words[words] >= promptTokens && words > leastWords || words >= leastWords+s.deck {
			break
		}
	}
	if _, rate := s.line(); rate <= 0 {
		return errNotGrowing
	}
	return nil
}

// knots are the texts without fillers that were counted, shortest first.
func (s *search) knots() []Knot {
	var knots []Knot
	for words, counted := range s.words {
		knots = append(knots, Knot{words, counted})
	}
	slices.SortFunc(knots, func(a, b Knot) int { return cmp.Compare(a.Words, b.Words) })
	return knots
}
