// Package tokenizer counts the tokens of texts on this machine, for services that do not say how many they counted.
//
// Its vocabularies are parts of the program: nothing is fetched. It knows no chat template, so that what a service puts around a prompt is not in its
// counts. Counting takes time and is done after a measurement, never inside one: package target does that.
package tokenizer

import (
	"fmt"

	"github.com/tiktoken-go/tokenizer"
)

// Tokenizer counts by one vocabulary. It is safe for several goroutines.
type Tokenizer struct{ codec tokenizer.Codec }

// New gives the tokenizer of a name in a preset: cl100k_base or o200k_base.
func New(name string) (*Tokenizer, error) {
	switch encoding := tokenizer.Encoding(name); encoding {
	case tokenizer.Cl100kBase, tokenizer.O200kBase:
		codec, err := tokenizer.Get(encoding)
		if err != nil {
			return nil, fmt.Errorf("making the tokenizer %s: %w", name, err)
		}
		return &Tokenizer{codec}, nil
	}
	return nil, fmt.Errorf("no tokenizer is called %q: there are cl100k_base and o200k_base", name)
}

// Count is how many tokens a text has. Text that looks like a special token counts as the text that it is.
func (t *Tokenizer) Count(text string) (int64, error) {
	n, err := t.codec.Count(text)
	if err != nil {
		return 0, fmt.Errorf("counting the tokens of a text: %w", err)
	}
	return int64(n), nil
}
