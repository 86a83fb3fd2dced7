package simulator

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pieces splits text as appendTokens does.
func pieces(text string) (out []string) {
	for len(text) > 0 {
		n := piece(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func TestTextIsSplitIntoPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"Hello there":             {"Hello", " there"},
		"understanding":           {"unders", "tandin", "g"},
		"in 12345 ways":           {"in", " 123", "45", " ways"},
		"a,b (c).":                {"a", ",", "b", " (", "c", ")", "."},
		"a   b":                   {"a", "  ", " b"},
		"a \n\nb\tc  ":            {"a", " \n\n", "b", "\t", "c", "  "},
		"Grüße 世界":                {"Gr", "ü", "ß", "e", " 世", "界"},
		"\xff\xfe":                {"\xff", "\xfe"},
		"don't":                   {"don", "'", "t"},
		" ":                       {" "},
		"snake_case camelCaseXYZ": {"snake", "_", "case", " camelC", "aseXYZ"},
	} {
		if diff := cmp.Diff(want, pieces(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEveryWordOfTheVocabularyIsOneToken(t *testing.T) {
	known := map[string]bool{}
	for _, word := range vocabulary {
		if len(pieces(word)) != 1 || len(pieces(" "+word)) != 1 {
			t.Errorf("%q is more than one token", word)
		}
		if known[word] {
			t.Errorf("%q stands there twice", word)
		}
		known[word] = true
	}
	if len(known) < 500 {
		t.Errorf("%d words", len(known))
	}
}

func TestAnAnswersTextHasTheAnswersTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := answer{seed: rapid.Uint64().Draw(t, "seed")}
		n := rapid.IntRange(0, 50).Draw(t, "tokens")
		var want []uint32
		for i := range n {
			want = append(want, a.token(i, i == 0))
		}
		text := string(a.appendText(nil, 0, n, true))
		if got := appendTokens(nil, text); !slices.Equal(got, want) {
			t.Fatalf("%q has the tokens %v, want %v", text, got, want)
		}
	})
}

func TestPiecesMakeUpTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("ab1 \n.é")))).Draw(t, "text")
		got := pieces(text)
		if strings.Join(got, "") != text || slices.Contains(got, "") {
			t.Fatalf("%q splits into %q", text, got)
		}
	})
}

func TestProseHasAboutOnePointThreeTokensAWord(t *testing.T) {
	const prose = `A team that serves large language models must decide how hard to drive each service. Too few requests in flight and the
processor idles; too many and users wait seconds for the first token of their answer. Somewhere between the two lies a point worth finding.`
	words := len(strings.Fields(prose))
	if ratio := float64(len(appendTokens(nil, prose))) / float64(words); ratio < 1.15 || ratio > 1.45 {
		t.Errorf("%.2f tokens a word", ratio)
	}
}
