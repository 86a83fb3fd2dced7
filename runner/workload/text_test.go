package workload

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func storyOf(words, fillers int64) string {
	return string(newStory(Seed{Load: 1}, 1000).append(nil, length{words, fillers}, nil))
}

// wordsOf are the words of a text written for a JSON string.
func wordsOf(text string) []string { return strings.Fields(strings.ReplaceAll(text, `\n`, "\n")) }

func shuffledOf(words, fillers int64, at place) string {
	return string(shuffledWords{}.append(nil, length{words, fillers}, newKey("test").stream(at)))
}

// A periodic prompt lets a prefix cache or a model's own repetition make it cheaper than its length says.
func TestNoWindowOfALongPromptIsMetTwice(t *testing.T) {
	const window = 64
	for name, text := range map[string]string{"story": storyOf(100_000, 0), "words": shuffledOf(100_000, 0, 1)} {
		words := wordsOf(text)
		if len(words) < 100_000 {
			t.Fatalf("%s has %d words", name, len(words))
		}
		seed, seen := maphash.MakeSeed(), map[uint64]int{}
		for i := range len(words) - window {
			sum := maphash.String(seed, strings.Join(words[i:i+window], " "))
			if first, ok := seen[sum]; ok {
				t.Fatalf("%s: the %d words at %d stand at %d too: %s", name, window, i, first, strings.Join(words[i:i+window], " "))
			}
			seen[sum] = i
		}
	}
}

func TestLengthsAreCountedInWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, fillers := rapid.Int64Range(1, 3000).Draw(rt, "words"), rapid.Int64Range(0, 40).Draw(rt, "fillers")
		base := len(wordsOf(storyOf(1, 0)))
		if got := len(wordsOf(storyOf(n, fillers))); int64(got-base) != n-1+fillers {
			rt.Errorf("a story of %d words and %d fillers has %d words, one of 1 and 0 has %d", n, fillers, got, base)
		}
		if got := len(strings.Fields(shuffledOf(n, fillers, 3))); int64(got) != 1+n+fillers {
			rt.Errorf("a text of %d words and %d fillers has %d words", n, fillers, got)
		}
	})
}

func TestCuttingAStoryKeepsItsFrame(t *testing.T) {
	for _, promptTokens := range []int64{briefBelow - 1, briefBelow} {
		kind := newStory(Seed{}, promptTokens)
		long := string(kind.append(nil, length{words: 400}, nil))
		short := string(kind.append(nil, length{words: 123, fillers: 2}, nil))
		for _, text := range []string{long, short} {
			if !strings.HasPrefix(text, kind.frame.opening+`\n`) || !strings.HasSuffix(text, kind.frame.closing) {
				t.Errorf("the frame is broken: %s", text)
			}
		}
		notes, _, _ := strings.Cut(short, " ...")
		if !strings.HasPrefix(long, notes+" ") && !strings.HasPrefix(long, notes+`\n`) {
			t.Errorf("the shorter story is not the beginning of the longer one:\n%s\n%s", short, long)
		}
	}
}

func TestAStoryHoldsEveryKindOfNote(t *testing.T) {
	text := storyOf(400, 0)
	for _, block := range storyBlocks {
		if !strings.Contains(text, `\n`+block.label+": ") {
			t.Errorf("no %s among the first 400 words", block.label)
		}
	}
}

func TestAllTextsOfOneLengthHoldTheSameWords(t *testing.T) {
	for _, n := range []int64{5, 100, 512, 513, 2000} {
		a, b := strings.Fields(shuffledOf(n, 0, 1)), strings.Fields(shuffledOf(n, 0, 2))
		if slices.Equal(a, b) {
			t.Errorf("%d words: two places have the same text", n)
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%d words: two places have other words", n)
		}
	}
}

// Texts are put between the quotes of a JSON string as they are.
func TestWordsAndPhrasesAreSafeInJSON(t *testing.T) {
	check := func(text string) {
		t.Helper()
		if safe := jsonSafe(text); safe != text || strings.ContainsAny(text, "<>&") {
			t.Errorf("%q is written %q in JSON", text, safe)
		}
	}
	for _, list := range [][]string{plainWords, nonceWords, fillerWords, storyFirst, storyLast, storyPlaces} {
		for _, text := range list {
			check(text)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(list)))) != len(list) {
			t.Errorf("a list that begins with %q has doubles", list[0])
		}
	}
	if len(plainWords) != deckWords {
		t.Errorf("there are %d plain words, a deck has %d", len(plainWords), deckWords)
	}
	for _, word := range plainWords {
		if len(word)+2 > len(card{}) {
			t.Errorf("%s is too long for a card", word)
		}
	}
	for slot, phrases := range storyPhrases {
		if len(phrases) < 24 || len(slices.Compact(slices.Sorted(slices.Values(phrases)))) != len(phrases) {
			t.Errorf("%s has %d phrases, or doubles", slot, len(phrases))
		}
		for _, text := range phrases {
			check(text)
		}
	}
	var decoded string
	if err := json.Unmarshal([]byte(`"`+storyOf(300, 20)+`"`), &decoded); err != nil {
		t.Error(err)
	}
}

func TestEverySlotOfASentenceHasPhrases(t *testing.T) {
	for _, block := range storyBlocks {
		for _, sentence := range block.sentences {
			for rest := sentence; ; {
				_, after, found := strings.Cut(rest, "{")
				if !found {
					break
				}
				slot, behind, closed := strings.Cut(after, "}")
				if _, ok := storyPhrases[slot]; !closed || !ok && slot != "A" && slot != "B" && slot != "P" {
					t.Errorf("%s: no phrases for {%s} in %q", block.label, slot, sentence)
				}
				rest = behind
			}
		}
	}
}

func TestPermuteMapsOneToOne(t *testing.T) {
	for _, size := range []uint64{1, 2, 624, 3120, 65_536, 100_003} {
		seen := make([]bool, size)
		for x := range size {
			y := permute(newKey("test"), x, size)
			if y >= size || seen[y] {
				t.Fatalf("size %d: %d maps to %d, which is too high or was met", size, x, y)
			}
			seen[y] = true
		}
	}
}
