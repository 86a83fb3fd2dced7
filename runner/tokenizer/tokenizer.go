// Package tokenizer counts the tokens of texts on this machine, for services that do not say how many they counted.
//
// It counts with a vocabulary that is part of the program, or with a Hugging Face tokenizer.json that is byte-level BPE; nothing is fetched. It knows no chat
// template, so that what a service puts around a prompt is not in its counts. A file that it would not count with as the original does is refused, with
// what it does not know, and so is a text: a count that is wrong in silence is worse than none. Counting takes time and is done after a measurement, never
// inside one: package target does that.
package tokenizer

import (
	"fmt"

	"github.com/tiktoken-go/tokenizer"
)

// Tokenizer counts by one vocabulary. It is safe for several goroutines.
type Tokenizer struct{ codec counter }

type counter interface {
	Count(text string) (int, error)
}

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

// Parse gives the tokenizer of a tokenizer.json. What the file puts around a text (its post_processor) is not counted, as no template is.
func Parse(text []byte) (*Tokenizer, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{parsed}, nil
}

// Count is how many tokens a text has. With a name of a vocabulary, text that looks like a special token counts as the text that it is; with a
// tokenizer.json as one token, as the original has it.
func (t *Tokenizer) Count(text string) (int64, error) {
	n, err := t.codec.Count(text)
	if err != nil {
		return 0, fmt.Errorf("counting the tokens of a text: %w", err)
	}
	return int64(n), nil
}
