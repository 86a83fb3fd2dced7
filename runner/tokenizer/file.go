package tokenizer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// file is a tokenizer.json. A member that stands in none of these types is refused.
type file struct {
	Version      string         `json:"version"`
	Truncation   jsontext.Value `json:"truncation"`
	Padding      jsontext.Value `json:"padding"`
	AddedTokens  []added        `json:"added_tokens"`
	Normalizer   *normalizer    `json:"normalizer"`
	PreTokenizer *preTokenizer  `json:"pre_tokenizer"`
	Model        model          `json:"model"`

	PostProcessor jsontext.Value `json:"post_processor"` // adds what stands around a text: not counted
	Decoder       jsontext.Value `json:"decoder"`        // makes text of tokens: not asked for
}

// added is a token that is found in a text before the text is cut.
type added struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"` // found in the normalised text, else in the text as it is
	Special    bool   `json:"special"`
}

type normalizer struct {
	Type        string       `json:"type"`
	Normalizers []normalizer `json:"normalizers"`
}

type preTokenizer struct {
	Type             string         `json:"type"`
	PreTokenizers    []preTokenizer `json:"pretokenizers"`
	Pattern          *pattern       `json:"pattern"`
	Behavior         string         `json:"behavior"`
	Invert           bool           `json:"invert"`
	IndividualDigits bool           `json:"individual_digits"`
	AddPrefixSpace   bool           `json:"add_prefix_space"`
	UseRegex         *bool          `json:"use_regex"`
	TrimOffsets      bool           `json:"trim_offsets"` // moves where a token stands in a text, not what it is
}

type pattern struct {
	Regex  string `json:"Regex"`
	String string `json:"String"`
}

type model struct {
	Type                    string           `json:"type"`
	Dropout                 *float64         `json:"dropout"`
	ContinuingSubwordPrefix string           `json:"continuing_subword_prefix"`
	EndOfWordSuffix         string           `json:"end_of_word_suffix"`
	IgnoreMerges            bool             `json:"ignore_merges"`
	Vocab                   map[string]int32 `json:"vocab"`
	Merges                  []pair           `json:"merges"`

	// Of characters that no token has, of which there are none where every byte has one.
	UnkToken     string `json:"unk_token"`
	FuseUnk      bool   `json:"fuse_unk"`
	ByteFallback bool   `json:"byte_fallback"`
}

// pair is two tokens that become one: ["a", "b"], in older files "a b".
type pair [2]string

func (p *pair) UnmarshalJSON(src []byte) error {
	if src[0] == '[' {
		return json.Unmarshal(src, (*[2]string)(p))
	}
	var text string
	if err := json.Unmarshal(src, &text); err != nil {
		return err
	}
	left, right, found := strings.Cut(text, " ")
	if !found || strings.Contains(right, " ") {
		return fmt.Errorf("%q must be two tokens with a blank between them", text)
	}
	*p = pair{left, right}
	return nil
}

// parse reads a tokenizer.json, and refuses what it says that bytePairs does not do as the original.
func parse(text []byte) (*bytePairs, error) {
	var f file
	// The type first: files of other kinds have members of their own, and a person is told what they are.
	var kind struct {
		Model struct {
			Type string `json:"type"`
		} `json:"model"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("it is no tokenizer.json: %w", err)
	}
	if kind.Model.Type != "BPE" {
		return nil, unknown("model.type", kind.Model.Type, "BPE")
	}
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("it has what is not known here: %w", err)
	}
	made, err := f.Model.bytePairs()
	if err == nil {
		err = f.whole()
	}
	if err == nil {
		made.forms, err = f.Normalizer.forms()
	}
	if err == nil {
		made.steps, err = f.PreTokenizer.steps()
	}
	if err != nil {
		return nil, err
	}
	for _, token := range f.AddedTokens {
		if token.Normalized {
			token.Content, err = made.normalize(token.Content)
			made.normalized.add(token)
		} else {
			made.raw.add(token)
		}
		if err != nil {
			return nil, fmt.Errorf("added_tokens: %w", err)
		}
	}
	return made, nil
}

// whole is an error if texts would be cut or filled up.
func (f *file) whole() error {
	for name, value := range map[string]jsontext.Value{"truncation": f.Truncation, "padding": f.Padding} {
		if value != nil && value.Kind() != 'n' {
			return fmt.Errorf("%s must be null: all of a text is counted, and nothing else", name)
		}
	}
	return nil
}

// unknown is an error of a file that asks for something else than is known.
func unknown(where, got string, known ...string) error {
	return fmt.Errorf("%s is %q, and only %s can be counted as the original does", where, got, strings.Join(known, ", "))
}

// forms are the normalisations of Unicode that n asks for, in order.
func (n *normalizer) forms() ([]norm.Form, error) {
	if n == nil {
		return nil, nil
	}
	switch n.Type {
	case "NFC":
		return []norm.Form{norm.NFC}, nil
	case "Sequence":
		var all []norm.Form
		for _, part := range n.Normalizers {
			forms, err := part.forms()
			if err != nil {
				return nil, err
			}
			all = append(all, forms...)
		}
		return all, nil
	}
	return nil, unknown("normalizer.type", n.Type, "NFC", "Sequence")
}

// steps are the ways in which p cuts a text, in order; the last must be ByteLevel, which is what makes tokens of bytes.
func (p *preTokenizer) steps() ([]step, error) {
	if p == nil {
		return nil, errors.New("pre_tokenizer is missing: only byte-level BPE can be counted as the original does")
	}
	parts := []preTokenizer{*p}
	if p.Type == "Sequence" {
		parts = p.PreTokenizers
	}
	var steps []step
	for i, part := range parts {
		if last := i == len(parts)-1; last != (part.Type == "ByteLevel") {
			return nil, fmt.Errorf("pre_tokenizer must end in ByteLevel, and have it once: only byte-level BPE can be counted as the original does")
		}
		made, err := part.step()
		if err != nil {
			return nil, err
		}
		steps = append(steps, made)
	}
	if len(steps) == 0 {
		return nil, errors.New("pre_tokenizer is empty: only byte-level BPE can be counted as the original does")
	}
	return steps, nil
}

func (p *preTokenizer) step() (step, error) {
	switch p.Type {
	case "ByteLevel":
		made := step{prefix: p.AddPrefixSpace}
		if p.UseRegex == nil || *p.UseRegex {
			made.cut = byteLevel
		}
		return made, nil
	case "Digits":
		if p.IndividualDigits {
			return step{cut: eachDigit}, nil
		}
		return step{cut: digits}, nil
	case "Split":
		return p.split()
	}
	return step{}, unknown("pre_tokenizer.type", p.Type, "ByteLevel", "Digits", "Split", "Sequence")
}

func (p *preTokenizer) split() (step, error) {
	if p.Pattern == nil || p.Pattern.Regex == "" {
		return step{}, errors.New("pre_tokenizer.pattern must be a Regex: others can't be counted as the original does")
	}
	cut, err := compile(p.Pattern.Regex)
	if err != nil {
		return step{}, fmt.Errorf("pre_tokenizer.pattern %q: %w", p.Pattern.Regex, err)
	}
	switch {
	case p.Behavior == "Isolated":
		return step{cut: cut}, nil
	case p.Behavior == "Removed" && p.Invert: // what lies between the matches is removed
		return step{cut: cut, only: true}, nil
	}
	return step{}, unknown("pre_tokenizer.behavior", p.Behavior, "Isolated", "Removed with invert: true")
}
