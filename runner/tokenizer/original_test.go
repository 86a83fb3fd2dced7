package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// Ways to cut of public models, as their files have them.
var public = map[string]string{
	"gpt-2":    `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`,
	"prefix":   `{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}`,
	"uncut":    `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}`,
	"digits":   cut(`{"type": "Digits", "individual_digits": true}`, true),
	"numbers":  cut(`{"type": "Digits", "individual_digits": false}`, true),
	"llama-3":  cut(splitAt(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, isolated), false),
	"qwen":     cut(splitAt(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, isolated), false),
	"o200k":    cut(splitAt(o200k, isolated), false),
	"gpt-4o":   cut(splitAt(o200k, `"behavior": "Removed", "invert": true`), false),
	"removed":  cut(splitAt(`\p{L}+|\p{N}+`, `"behavior": "Removed", "invert": true`), false),
	"deepseek": cut(splitAt(`\p{N}{1,3}`, isolated)+","+splitAt(`[一-龥぀-ゟ゠-ヿ]+`, isolated)+","+splitAt(deepseek, isolated), false),
}

const (
	isolated = `"behavior": "Isolated", "invert": false`
	o200k    = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+` +
		`[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

func cut(steps string, useRegex bool) string {
	return fmt.Sprintf(`{"type": "Sequence", "pretokenizers": [%s, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": %t}]}`, steps, useRegex)
}

func splitAt(pattern, behavior string) string {
	quoted, _ := json.Marshal(pattern)
	return fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %s}, %s}`, quoted, behavior)
}

// Every count is that of the library, for texts of many kinds and every character there is.
func TestCountsAreThoseOfTheOriginal(t *testing.T) {
	environment := os.Getenv("SWEETSPOT_VLLM")
	if environment == "" {
		t.Skip("SWEETSPOT_VLLM is not set: `.ci/python vllm` prints it")
	}
	files := variants(t, filepath.Join(environment, "model", "tokenizer.json"))
	if folder := os.Getenv("SWEETSPOT_TOKENIZERS"); folder != "" { // further files, each of which must be one that is not refused
		more, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	texts := everyKind(t)
	asked, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(environment, "bin", "python"), append([]string{"testdata/count.py"}, files...)...)
	command.Stdin, command.Stderr = bytes.NewReader(asked), os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want [][]int64
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		same(t, name, texts, want[i])
	}
}

func same(t *testing.T, name string, texts []string, want []int64) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	differ, refused, sum := 0, 0, int64(0)
	for i, text := range texts {
		got, err := made.Count(text)
		if err != nil {
			refused++
			continue
		}
		sum += got
		if got == want[i] {
			continue
		}
		if differ++; differ <= 5 {
			t.Errorf("%s: %d tokens in %.120q, want %d", filepath.Base(name), got, text, want[i])
		}
	}
	if refused > 5 {
		t.Errorf("%s: %d of %d texts are refused", name, refused, len(texts))
	}
	t.Logf("%s: %d texts, %d tokens, %d refused, %d differ", filepath.Base(name), len(texts), sum, refused, differ)
}

// variants writes the tiny model's file with other ways to cut, to normalise and to merge, and tokens added.
func variants(t *testing.T, tiny string) []string {
	t.Helper()
	src, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	write := func(name string, change func(file map[string]json.RawMessage)) {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(src, &file); err != nil {
			t.Fatal(err)
		}
		change(file)
		out, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(t.TempDir(), name+".json"))
		if err := os.WriteFile(files[len(files)-1], out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, way := range public {
		write(name, func(file map[string]json.RawMessage) { file["pre_tokenizer"] = json.RawMessage(way) })
	}
	for _, form := range []string{`null`, `{"type": "NFC"}`, `{"type": "Sequence", "normalizers": [{"type": "NFC"}]}`} {
		write(fmt.Sprint("form-", len(files)), func(file map[string]json.RawMessage) {
			file["normalizer"] = json.RawMessage(form)
			file["added_tokens"] = json.RawMessage(addedTokens)
		})
	}
	write("whole", func(file map[string]json.RawMessage) {
		file["model"] = json.RawMessage(strings.Replace(string(file["model"]), `"ignore_merges":false`, `"ignore_merges":true`, 1))
	})
	write("as it is", func(map[string]json.RawMessage) {})
	return files
}

// addedTokens are of both kinds, one within another, and one that changes as it is normalised.
const addedTokens = `[
	{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
	{"id": 2048, "content": "<s><s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
	{"id": 2049, "content": "e\u0301t", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
	{"id": 2050, "content": "the", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
	{"id": 2051, "content": "  ", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}
]`

// everyKind are texts: sources, letters of many scripts, blanks, what patterns are about, and every character between others.
func everyKind(t *testing.T) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(6, 7))
	texts := []string{"", " ", "\n", "  \n\n  ", "'", "don't DON'T don'ſ it'S we'LL", "a\u0301e\u0301t", "ﬁ ½ Ⅷ ①", "日本語のテキスト", "<s><s><s>", "a<|user|>b</s>", "\x00\x1f\x7f", "��"}
	sources, err := filepath.Glob("../*/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	for _, name := range sources {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		from := random.IntN(len(src))
		texts = append(texts, strings.ToValidUTF8(string(src[from:min(len(src), from+random.IntN(2000))]), "\uFFFD"))
	}
	scripts := []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Devanagari, unicode.Han, unicode.Hiragana, unicode.Hangul, unicode.Thai, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z}
	for range 2000 {
		texts = append(texts, mixed(random, scripts))
	}
	for first := rune(0); first <= unicode.MaxRune; first += 0x40 { // every character, after a letter, a blank and a digit, but those for private use
		var b strings.Builder
		for r := first; r < first+0x40; r++ {
			if utf := string(r); r < 0xd800 || r > 0xdfff {
				if !unicode.In(r, unicode.Cn, unicode.Co) {
					b.WriteString("a" + utf + " " + utf + "1" + utf + "'")
				}
			}
		}
		if b.Len() > 0 {
			texts = append(texts, b.String())
		}
	}
	return texts
}

// mixed is a random text of the parts that patterns tell apart.
func mixed(random *rand.Rand, scripts []*unicode.RangeTable) string {
	parts := []string{" ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\u0085", "'s", "'T", "'re", "'LL", "'ſ", "don't", "123", "4567", "٣", "Ⅷ", "the", " The", "import", "return", "!=", "...", "//", "/", "<s>", "</s>", "<|user|>", "e\u0301", "et", "😀", "👩‍🚀", "\ufe0f", "\u200d", "\u0300\u0323"}
	var b strings.Builder
	for range 1 + random.IntN(40) {
		if random.IntN(3) > 0 {
			b.WriteString(parts[random.IntN(len(parts))])
			continue
		}
		script := scripts[random.IntN(len(scripts))]
		for range 1 + random.IntN(6) {
			b.WriteRune(within(random, script))
		}
	}
	return b.String()
}

// within is a random character of a table, its ranges equally likely.
func within(random *rand.Rand, table *unicode.RangeTable) rune {
	if i := random.IntN(len(table.R16) + len(table.R32)); i < len(table.R16) {
		r := table.R16[i]
		return rune(r.Lo) + rune(r.Stride)*random.Int32N((int32(r.Hi)-int32(r.Lo))/int32(r.Stride)+1)
	} else {
		r := table.R32[i-len(table.R16)]
		return rune(r.Lo) + rune(r.Stride)*random.Int32N((int32(r.Hi)-int32(r.Lo))/int32(r.Stride)+1)
	}
}
