package tokenizer

import (
	"strings"
	"sync"
	"testing"
)

// The counts that OpenAI's own guide to counting tokens gives.
func TestCounts(t *testing.T) {
	for name, counts := range map[string]map[string]int64{
		"cl100k_base": {"": 0, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 9, "tiktoken is great!": 6},
		"o200k_base":  {"": 0, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 8, "tiktoken is great!": 6},
	} {
		made, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		var counting sync.WaitGroup
		for text, want := range counts {
			counting.Go(func() {
				if got, err := made.Count(text); err != nil || got != want {
					t.Errorf("%s counts %d tokens in %q, want %d, %v", name, got, text, want, err)
				}
			})
		}
		counting.Wait()
		if n, err := made.Count("<|endoftext|>"); err != nil || n < 2 {
			t.Errorf("%s counts %d tokens in the text of a special one, %v", name, n, err)
		}
	}
	if _, err := New("p50k_base"); err == nil || !strings.Contains(err.Error(), "there are cl100k_base and o200k_base") {
		t.Errorf("an unknown name gives %v", err)
	}
}
