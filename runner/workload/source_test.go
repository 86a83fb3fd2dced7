package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// oneTurn are conversations of one turn.
func oneTurn() schema.Spec {
	return sessionsSpec("live", func(s *schema.Sessions) { s.Turns, s.ThinkTime = number(1), number(0) })
}

// The digests are those of every machine: a changed one means that all stored prompts have changed.
func TestTheSameSeedGivesTheSameBytesEverywhere(t *testing.T) {
	seed := Seed{Load: 42, Point: "concurrency=8", Repeat: 1, Trial: "baseline", Run: "3f9a1c02"}
	digested := schema.Random{
		PromptTokens:       schema.Distribution{Lognormal: &schema.Spread{Mean: 900, Std: 400, Max: 4000}},
		OutputTokens:       schema.Distribution{Normal: &schema.Spread{Mean: 300, Std: 50, Min: 1}},
		SharedPrefixTokens: 100,
	}
	for name, c := range map[string]struct {
		spec   schema.Spec
		digest string
	}{
		"fixed, isolated":  {fixedSpec(256, "isolated"), "65aff0dcd7e1c180"},
		"fixed, shared":    {fixedSpec(4096, "shared"), "fb61bbf3e05e88e5"},
		"random, isolated": {randomSpec(1024, "isolated"), "86804ffaabdc33d1"},
		"random, shared":   {randomSpec(32, "shared"), "e962531436cbb987"},
		"random, varied":   {varied(digested, "isolated"), "c142885463163534"},
		"sessions":         {oneTurn(), "4c98cc8c89b8a39b"},
	} {
		source, err := New(c.spec, seed, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, phase := range []measure.Phase{measure.Warmup, measure.Measured, measure.Hold, measure.Probe} {
			for i := range int64(3) {
				h.Write(requestAt(t, source, phase, i).Body)
			}
		}
		h.Write(source.Probe(2000, 1).Body)
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != c.digest {
			t.Errorf("%s: digest %s, want %s", name, got, c.digest)
		}
	}
}

// words are those of a prompt.
func words(t testing.TB, request Request) []string {
	t.Helper()
	text, err := promptOf(request.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(text)
}

// origin is everything that a prompt comes from.
type origin struct {
	seed  Seed
	phase measure.Phase
	index int64
}

func drawOrigin(t *rapid.T, label string) origin {
	phases := []measure.Phase{measure.Warmup, measure.Measured, measure.Hold, measure.Probe}
	return origin{
		seed: Seed{
			Load:    rapid.Int64Range(0, 3).Draw(t, label+" seed"),
			Point:   rapid.SampledFrom([]string{"1", "2", "64"}).Draw(t, label+" point"),
			Repeat:  rapid.Int64Range(0, 3).Draw(t, label+" repeat"),
			Trial:   rapid.SampledFrom([]string{"baseline", "second"}).Draw(t, label+" trial"),
			Run:     rapid.SampledFrom([]string{"3f9a1c02", "3f9a1c03", "00000000"}).Draw(t, label+" run"),
			Attempt: rapid.Int64Range(0, 2).Draw(t, label+" attempt"),
		},
		phase: rapid.SampledFrom(phases).Draw(t, label+" phase"),
		index: rapid.Int64Range(0, 1<<20).Draw(t, label+" index"),
	}
}

// Warmups that resend measured prompts, and repeats and points that share seeds, are served from the prefix cache.
// https://github.com/vllm-project/vllm/issues/54227, https://github.com/vllm-project/vllm/issues/52884
func TestIsolatedPromptsShareNoPrefix(t *testing.T) {
	ratio := *schema.NewRandom(256, 8)
	ratio.RangeRatio = 0.3
	for _, spec := range []schema.Spec{fixedSpec(256, "isolated"), randomSpec(256, "isolated"), varied(ratio, "isolated"), oneTurn()} {
		rapid.Check(t, func(rt *rapid.T) {
			a, b := drawOrigin(rt, "a"), drawOrigin(rt, "b")
			if a == b {
				return
			}
			first := words(t, requestOf(t, spec, a))[:8]
			second := words(t, requestOf(t, spec, b))[:8]
			if strings.Join(first, " ") == strings.Join(second, " ") {
				rt.Errorf("%+v and %+v both begin with %q", a, b, first)
			}
		})
	}
}

func TestIsolatedPromptsDifferFromTheFirstWordsWhateverChanges(t *testing.T) {
	for _, spec := range []schema.Spec{fixedSpec(256, "isolated"), randomSpec(256, "isolated")} {
		base := origin{Seed{Load: 1, Point: "1", Trial: "a", Run: "3f9a1c02"}, measure.Measured, 7}
		first := words(t, requestOf(t, spec, base))
		for name, change := range changes {
			other := base
			change(&other)
			second := words(t, requestOf(t, spec, other))
			if slices.Equal(first[:8], second[:8]) {
				t.Errorf("%s: with another %s the prompt begins with %q too", spec.Workload.Name(), name, first[:8])
			}
		}
		other := base
		other.seed.Run = "ffffffff"
		second := words(t, requestOf(t, spec, other))[:1+nonceWordCount]
		common := 0
		for _, word := range first[1 : 1+nonceWordCount] {
			if slices.Contains(second, word) {
				common++
			}
		}
		if common > nonceWordCount/2 {
			t.Errorf("%s: the nonces of two runs have %d words in common: %q", spec.Workload.Name(), common, second)
		}
	}
}

// changes change one part of what a prompt comes from.
var changes = map[string]func(*origin){
	"seed":    func(o *origin) { o.seed.Load++ },
	"point":   func(o *origin) { o.seed.Point = "2" },
	"repeat":  func(o *origin) { o.seed.Repeat++ },
	"trial":   func(o *origin) { o.seed.Trial = "b" },
	"run":     func(o *origin) { o.seed.Run = "ffffffff" },
	"attempt": func(o *origin) { o.seed.Attempt++ },
	"phase":   func(o *origin) { o.phase = measure.Warmup },
	"index":   func(o *origin) { o.index++ },
}

func requestOf(t testing.TB, spec schema.Spec, o origin) Request {
	t.Helper()
	source, err := New(spec, o.seed, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	return requestAt(t, source, o.phase, o.index)
}

// Prompts of 20 tokens were met again: 624 nonces told them apart, all within the first block of 16 tokens that a prefix cache keeps.
func TestShortPromptsShareNoPrefix(t *testing.T) {
	for _, spec := range []schema.Spec{fixedSpec(20, "isolated"), randomSpec(20, "isolated"), randomSpec(95, "isolated")} {
		seen := map[string]origin{}
		for _, seed := range shortSeeds() {
			source, err := New(spec, seed, Calibration{})
			if err != nil {
				t.Fatal(err)
			}
			for _, phase := range []measure.Phase{measure.Warmup, measure.Measured} {
				for i := range int64(100) {
					opening := strings.Join(words(t, requestAt(t, source, phase, i))[:shortNonce], " ")
					if other, met := seen[opening]; met {
						t.Fatalf("%s: %+v and %s %d of %+v both begin with %q", spec.Workload.Name(), other, phase, i, seed, opening)
					}
					seen[opening] = origin{seed, phase, i}
				}
			}
		}
	}
}

// shortSeeds are those of a run: of 3 points, 2 repeats of each and 2 trials.
func shortSeeds() []Seed {
	var all []Seed
	for _, trial := range []string{"a", "b"} {
		for _, point := range []string{"1", "2", "3"} {
			for repeat := range int64(2) {
				all = append(all, Seed{Point: point, Repeat: repeat, Trial: trial, Run: "3f9a1c02"})
			}
		}
	}
	return all
}

func TestNoNonceOfASourceIsMetTwice(t *testing.T) {
	source, err := New(randomSpec(100, "isolated"), Seed{Run: "3f9a1c02"}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, phase := range []measure.Phase{measure.Warmup, measure.Measured, measure.Hold, measure.Probe} {
		for i := range int64(5000) {
			nonce := strings.Join(words(t, requestAt(t, source, phase, i))[:8], " ")
			if seen[nonce] {
				t.Fatalf("%s %d begins as another prompt does: %s", phase, i, nonce)
			}
			seen[nonce] = true
		}
	}
}

func TestTheContextProbeSharesNoPrefix(t *testing.T) {
	source, err := New(fixedSpec(256, "isolated"), Seed{Run: "3f9a1c02"}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	probe := strings.Join(words(t, source.Probe(256, 1))[:8], " ")
	for _, phase := range []measure.Phase{measure.Warmup, measure.Measured, measure.Hold, measure.Probe} {
		if other := strings.Join(words(t, requestAt(t, source, phase, 0))[:8], " "); other == probe {
			t.Errorf("the context probe begins as %s does: %s", phase, probe)
		}
	}
}

// afterNonce is a body's prompt behind the blank line that ends its nonce.
func afterNonce(t testing.TB, request Request) string {
	t.Helper()
	text, err := promptOf(request.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(text, "\n\n")
	if !found {
		t.Fatalf("no nonce in %q", text)
	}
	return rest
}

func TestRunsDifferInTheirNoncesAlone(t *testing.T) {
	for _, spec := range []schema.Spec{fixedSpec(512, "isolated"), randomSpec(512, "isolated")} {
		base := origin{Seed{Trial: "a", Run: "3f9a1c02"}, measure.Measured, 7}
		other := base
		other.seed.Run, other.seed.Attempt = "ffffffff", 3
		a, b := requestOf(t, spec, base), requestOf(t, spec, other)
		if bytes.Equal(a.Body, b.Body) {
			t.Errorf("%s: two runs send the same prompt", spec.Workload.Name())
		}
		if x, y := afterNonce(t, a), afterNonce(t, b); x != y {
			t.Errorf("%s: behind the nonces stand\n%s\nand\n%s", spec.Workload.Name(), x, y)
		}
		if !strings.Contains(string(a.Body), "file 3f9a1c02.") {
			t.Errorf("%s: the nonce lacks the run's id: %.300s", spec.Workload.Name(), a.Body)
		}
	}
}

func TestASharedFixedPromptIsOneThroughout(t *testing.T) {
	spec := fixedSpec(700, "shared")
	base := requestOf(t, spec, origin{Seed{Trial: "a", Run: "3f9a1c02"}, measure.Warmup, 0})
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOrigin(rt, "other")
		o.seed.Load = 0
		if other := requestOf(t, spec, o); !bytes.Equal(base.Body, other.Body) {
			rt.Errorf("%+v has another prompt:\n%s\n%s", o, other.Body, base.Body)
		}
	})
}

func TestSharedRandomPromptsAreTheSameInEveryRunAndElseDiffer(t *testing.T) {
	spec := randomSpec(100, "shared")
	base := origin{Seed{Load: 1, Point: "1", Trial: "a", Run: "3f9a1c02"}, measure.Measured, 7}
	first := requestOf(t, spec, base)
	for name, change := range changes {
		other := base
		change(&other)
		same := bytes.Equal(first.Body, requestOf(t, spec, other).Body)
		if wanted := name == "run" || name == "attempt"; same != wanted {
			t.Errorf("with another %s the prompt is the same: %v, want %v", name, same, wanted)
		}
	}
}

func TestTextChangesWithTheTrialAndLengthDoesNot(t *testing.T) {
	base := origin{Seed{Trial: "a", Run: "3f9a1c02"}, measure.Measured, 7}
	other := base
	other.seed.Trial = "b"
	a, b := words(t, requestOf(t, randomSpec(500, "isolated"), base)), words(t, requestOf(t, randomSpec(500, "isolated"), other))
	if len(a) != len(b) {
		t.Errorf("%d and %d words", len(a), len(b))
	}
	if strings.Join(a, " ") == strings.Join(b, " ") {
		t.Error("two trials have the same text")
	}
}

func TestSessionIsPureAndSafeForSeveralGoroutines(t *testing.T) {
	source, err := New(randomSpec(300, "isolated"), Seed{Run: "3f9a1c02"}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]byte, 64)
	for i := range want {
		want[i] = requestAt(t, source, measure.Measured, int64(i)).Body
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := len(want) - 1; i >= 0; i-- {
				if got := requestAt(t, source, measure.Measured, int64(i)).Body; !bytes.Equal(got, want[i]) {
					t.Errorf("session %d gave another body the second time", i)
				}
			}
		})
	}
	group.Wait()
}

func TestNewAndSessionSayWhatIsWrong(t *testing.T) {
	if _, err := New(schema.Spec{}, Seed{}, Calibration{}); err == nil || !strings.Contains(err.Error(), "no workload") {
		t.Errorf("without a workload: %v", err)
	}
	source, err := New(fixedSpec(10, "shared"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Session("drain", 0); err == nil || !strings.Contains(err.Error(), `"drain"`) {
		t.Errorf("an unknown phase: %v", err)
	}
	for _, index := range []int64{-1, indexLimit} {
		if _, err := source.Session(measure.Measured, index); err == nil {
			t.Errorf("index %d is no error", index)
		}
	}
}
