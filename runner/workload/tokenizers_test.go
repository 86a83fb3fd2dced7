package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tokenizer counts the tokens of a text as some kind of service would.
type tokenizer struct {
	name  string
	count func(text string) int64
	// exact says that counts are sums over words, so that every prompt of a source can have the exact length.
	exact bool
}

// pieces cuts text as most tokenizers do first: runs of letters, of digits or of other signs, each with the blank before it; runs of white space.
func pieces(text string) []string {
	kind := func(c byte) int {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			return 1
		case c >= '0' && c <= '9':
			return 2
		case c == ' ' || c == '\n':
			return 3
		}
		return 4
	}
	found := make([]string, 0, len(text)/5)
	for start, end := 0, 0; start < len(text); start = end {
		end = start + 1
		first := kind(text[start])
		if text[start] == ' ' && end < len(text) && kind(text[end]) != 3 {
			first = kind(text[end])
		}
		for end < len(text) && kind(text[end]) == first {
			end++
		}
		found = append(found, text[start:end])
	}
	return found
}

func tokenizers(t testing.TB) []tokenizer {
	bpe := readBPE(t)
	return []tokenizer{
		{"words", func(text string) int64 { return int64(len(strings.Fields(text))) }, true},
		{"pieces", func(text string) int64 { return int64(len(pieces(text))) }, true},
		{"four bytes", func(text string) int64 { return int64(len(text)+3) / 4 }, false},
		{"bytes", func(text string) int64 { return int64(len(text)) }, false},
		{"bpe of a small vocabulary", bpe.count, true},
		{"irregular", func(text string) int64 { return perPiece(text, 3) }, false},
		{"very irregular", func(text string) int64 { return perPiece(text, 5) }, false},
	}
}

// perPiece counts each piece as 1 to most tokens, by its hash.
func perPiece(text string, most uint32) int64 {
	var n int64
	for _, piece := range pieces(text) {
		h := fnv.New32a()
		h.Write([]byte(piece))
		n += int64(1 + h.Sum32()%most)
	}
	return n
}

// service counts the prompt of a request as a service with a chat template does.
func (k tokenizer) service(request Request) (int64, error) {
	text, err := promptOf(request.Body)
	return k.count("<s>user\n" + text + "\nassistant\n"), err
}

// counter is service as a [Count] that also counts the requests it is sent.
func (k tokenizer) counter(sent *int) Count {
	return func(_ context.Context, request Request) (int64, error) {
		*sent++
		return k.service(request)
	}
}

// promptOf is the text of a body's first message, or its prompt.
func promptOf(body []byte) (string, error) {
	var decoded struct {
		Prompt   string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &decoded); err != nil {
		return "", fmt.Errorf("parsing a body: %w", err)
	}
	if len(decoded.Messages) > 0 {
		return decoded.Messages[0].Content, nil
	}
	return decoded.Prompt, nil
}

// bpe is the byte-level byte-pair tokenizer of the end-to-end tests, trained on the sources of Python's standard library (.ci/tiny_model.py): an
// English word takes 2 to 4 tokens.
type bpe struct {
	ranks map[[2]string]int
	known map[string]int64
}

func readBPE(t testing.TB) *bpe {
	t.Helper()
	merges, err := os.ReadFile(filepath.Join("testdata", "bpe2048.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bpe{ranks: map[[2]string]int{}, known: map[string]int64{}}
	for line := range strings.Lines(string(merges)) {
		left, right, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		b.ranks[[2]string{left, right}] = len(b.ranks)
	}
	return b
}

func (b *bpe) count(text string) int64 {
	var n int64
	for _, piece := range pieces(text) {
		tokens, ok := b.known[piece]
		if !ok {
			tokens = int64(len(b.encode(piece)))
			b.known[piece] = tokens
		}
		n += tokens
	}
	return n
}

// visible writes blanks as byte-level vocabularies do.
var visible = strings.NewReplacer(" ", "\u0120", "\n", "\u010a")

func (b *bpe) encode(piece string) []string {
	parts := strings.Split(visible.Replace(piece), "")
	for {
		best, at := len(b.ranks), -1
		for i := range len(parts) - 1 {
			if rank, ok := b.ranks[[2]string{parts[i], parts[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}
