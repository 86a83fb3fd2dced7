package tokenizer

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func small(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The counts that the library tokenizers 0.23 gives with this file: Llama 3's way to cut, NFC, tokens of both kinds added, 320 tokens in all.
func TestCountsWithAFile(t *testing.T) {
	made, err := Parse([]byte(small(t)))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{
		"":                               0,
		"the":                            2,
		"The service counts the tokens.": 6,
		"the prompt and the prompts":     5,
		"cafe\u0301's café":              5,
		"It'S it'ſ":                      9,
		"<s><|user|>the first token<s>":  7,
		"  \n\n  the   answer ":          10,
		"1234567":                        7,
		"日本語 😀":                          14,
	} {
		if got, err := made.Count(text); err != nil || got != want {
			t.Errorf("%d tokens in %q, want %d, %v", got, text, want, err)
		}
	}
}

// What might be counted otherwise than by the original is not counted.
func TestFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"version"`, `"version"`, "it is no tokenizer.json: "},
		{`"type":"BPE"`, `"type":"Unigram"`, `model.type is "Unigram", and only BPE can be counted as the original does`},
		{`"dropout":null`, `"dropout":0.1`, "model.dropout must be null: it makes counts of chance"},
		{`"dropout":null`, `"dropin":null`, `it has what is not known here: `},
		{`"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`, `model.continuing_subword_prefix is "##", and only none can`},
		{`"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`, `model.end_of_word_suffix is "</w>", and only none can`},
		{`"!":`, `"!!!!":`, `model.vocab has no token '!', for the byte 33: only byte-level BPE`},
		{`"merges":[`, `"merges":[["t","q"],`, `model.merges joins "t" and "q", and model.vocab has not both and what they make`},
		{`"merges":[`, `"merges":["t h e",`, `"t h e" must be two tokens with a blank between them`},
		{`"truncation":null`, `"truncation":{"max_length":8}`, "truncation must be null"},
		{`{"type":"NFC"}`, `{"type":"NFKC"}`, `normalizer.type is "NFKC", and only NFC, Sequence can be counted as the original does`},
		{`{"type":"NFC"}`, `{"type":"Sequence","normalizers":[{"type":"Lowercase"}]}`, `normalizer.type is "Lowercase", and only`},
		{`"behavior":"Isolated"`, `"behavior":"MergedWithNext"`, `pre_tokenizer.behavior is "MergedWithNext", and only Isolated, Removed with invert: true can`},
		{`"type":"Split"`, `"type":"Metaspace"`, `pre_tokenizer.type is "Metaspace", and only`},
		{`"Regex":`, `"String":`, "pre_tokenizer.pattern must be a Regex"},
		{`"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false`, `"type":"Digits"`, "pre_tokenizer must end in ByteLevel"},
	} {
		text := small(t)
		if !strings.Contains(text, c.old) {
			t.Fatalf("the file has no %s", c.old)
		}
		if _, err := Parse([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s the file gives %v, want %s", c.new, err, c.want)
		}
	}
}

func TestTextsThatAreRefused(t *testing.T) {
	text := strings.Replace(small(t), `"content":"<s>","single_word":false,"lstrip":false`, `"content":"<s>","single_word":false,"lstrip":true`, 1)
	made, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a <s> b":                          `it has the token "<s>", which takes in what stands beside it`,
		"\U0003fffd":                       "it has U+3FFFD, which is no character of Unicode",
		"e" + strings.Repeat("\u0301", 31): "it has more than 30 marks on one letter",
	} {
		if n, err := made.Count(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %d, %v, want %s", text, n, err, want)
		}
	}
}

// Patterns are taken where both engines read each part alike.
func TestPatterns(t *testing.T) {
	for _, pattern := range []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, `[^\r\n\p{L}]?\p{L}+`, `\s+(?!\S)`, `(a|b)*?c`, `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_{|}~]`, o200k, deepseek} {
		if _, err := compile(pattern); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{
		`\w+`, `\bthe`, `^a`, `a$`, `a++`, `a{2}?`, `a{,2}`, `(?i:'S)`, `(?<=a)b`, `[a[bc]]`, `[\p{L}&&[^a]]`, `[[:alpha:]]`, `\p{Han}+`, `\h`, `.`, `(?>a)`, `a\1`, `(`,
	} {
		if _, err := compile(pattern); err == nil {
			t.Errorf("%s is taken", pattern)
		}
	}
	for pattern, want := range map[string][]string{contractions + `|\p{L}+`: {"it", "'ſ", "a", "1", "'LL"}, `x*`: nil} {
		cut, err := compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (step{cut: cut}).pieces([]string{"it'ſa1'LL"})
		if !slices.Equal(got, want) || (err == nil) != (want != nil) { // a match of nothing at all is an error
			t.Errorf("%s makes %q, %v, want %q", pattern, got, err, want)
		}
	}
}
