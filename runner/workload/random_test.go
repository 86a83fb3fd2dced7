package workload

import (
	"math"
	"strings"
	"testing"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func varied(r schema.Random, cache string) schema.Spec {
	return schema.Spec{Model: "m", Workload: schema.Workload{Random: &r}, Request: schema.Request{API: "chat", Cache: cache}}
}

// variedRandom are the ways in which lengths vary, and the mean lengths that they declare.
func variedRandom() map[string]struct {
	random         schema.Random
	prompt, output float64
} {
	ratio := *schema.NewRandom(1000, 200)
	ratio.RangeRatio = 0.5
	type c = struct {
		random         schema.Random
		prompt, output float64
	}
	return map[string]c{
		"range ratio": {ratio, 1000, 200},
		"distributions": {schema.Random{
			PromptTokens: schema.Distribution{Lognormal: &schema.Spread{Mean: 900, Std: 400}},
			OutputTokens: schema.Distribution{Normal: &schema.Spread{Mean: 300, Std: 50, Min: 1}},
		}, 900, 300},
		"a number and a distribution": {schema.Random{
			PromptTokens: number(700), OutputTokens: schema.Distribution{Uniform: &schema.Range{Min: 50, Max: 150}},
		}, 700, 100},
		"pairs": {schema.Random{Pairs: []schema.Pair{{PromptTokens: 200, OutputTokens: 400, Weight: 3}, {PromptTokens: 3000, OutputTokens: 20, Weight: 1}}}, 900, 305},
	}
}

// 10,000 draws with a fixed seed.
func TestLengthsAreWithinOnePercentOfWhatIsDeclared(t *testing.T) {
	for name, c := range variedRandom() {
		source, err := New(varied(c.random, "isolated"), Seed{Load: 2}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		drawn := source.sessions.(*random)
		var prompt, output float64
		const n = 10_000
		for i := range int64(n) {
			at, err := placeOf(measure.Measured, i)
			if err != nil {
				t.Fatal(err)
			}
			asked := drawn.asked.draw(drawn.drawn.stream(at))
			prompt, output = prompt+float64(asked.prompt)/n, output+float64(asked.output)/n
		}
		if math.Abs(prompt/c.prompt-1) > 0.01 || math.Abs(output/c.output-1) > 0.01 {
			t.Errorf("%s: mean lengths %.1f and %.1f, declared %.1f and %.1f", name, prompt, output, c.prompt, c.output)
		}
	}
}

func TestPairsGoTogether(t *testing.T) {
	source, err := New(varied(variedRandom()["pairs"].random, "isolated"), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int64]int{}
	for i := range int64(400) {
		r := requestAt(t, source, measure.Measured, i)
		seen[[2]int64{r.PromptTokens, r.OutputTokens}]++
	}
	if a, b := seen[[2]int64{200, 400}], seen[[2]int64{3000, 20}]; len(seen) != 2 || a < 270 || a > 330 || a+b != 400 {
		t.Errorf("pairs drawn: %v", seen)
	}
}

// Lengths are the same in every trial and attempt, and others in each repeat: trials are compared on the same work.
func TestLengthsAreEqualAcrossTrials(t *testing.T) {
	lengths := func(seed Seed) (all [20]int64) {
		source, err := New(varied(variedRandom()["distributions"].random, "isolated"), seed, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			all[i] = requestAt(t, source, measure.Measured, int64(i)).PromptTokens
		}
		return all
	}
	base := lengths(Seed{Trial: "a", Run: "x"})
	if lengths(Seed{Trial: "b", Run: "y", Attempt: 1}) != base {
		t.Error("two trials have different lengths")
	}
	if lengths(Seed{Trial: "a", Run: "x", Repeat: 1}) == base {
		t.Error("two repeats have the same lengths")
	}
}

// What varies is calibrated as a whole: the sum of many lengths is within 1 % of that asked for, and so is each of some hundred tokens or more.
func TestVariedPromptsHaveTheLengthsAskedFor(t *testing.T) {
	for _, k := range tokenizers(t) {
		for name, c := range variedRandom() {
			for _, prefix := range []int64{0, 60} {
				c.random.SharedPrefixTokens = prefix
				sent := 0
				cal, err := Calibrate(t.Context(), varied(c.random, "isolated"), Seed{Run: "3f9a1c02", Trial: "baseline"}, 0, k.counter(&sent))
				if err != nil {
					t.Fatal(err)
				}
				if sent > 22 {
					t.Errorf("%s, %s: %d requests were sent", k.name, name, sent)
				}
				source, err := New(varied(c.random, "isolated"), Seed{Run: "3f9a1c02", Trial: "baseline", Repeat: 1}, cal)
				if err != nil {
					t.Fatal(err)
				}
				var asked, counted int64
				for i := range int64(60) {
					request := requestAt(t, source, measure.Measured, i)
					n, err := k.service(request)
					if err != nil {
						t.Fatal(err)
					}
					asked, counted = asked+request.PromptTokens, counted+n
					if off := distance(n, request.PromptTokens); k.exact && request.PromptTokens >= 400 && off*100 > request.PromptTokens {
						t.Errorf("%s, %s, prefix %d: %d tokens, %d were asked for", k.name, name, prefix, n, request.PromptTokens)
					}
				}
				if off := distance(asked, counted); off*100 > asked {
					t.Errorf("%s, %s, prefix %d: %d tokens, %d were asked for (%+v)", k.name, name, prefix, counted, asked, cal)
				}
			}
		}
	}
}

// A shared prefix stands before the nonce, is the same in all points, repeats and runs of a trial, and has the tokens that it should.
func TestTheSharedPrefixIsShared(t *testing.T) {
	r := *schema.NewRandom(700, 10)
	r.SharedPrefixTokens = 300
	for _, k := range tokenizers(t) {
		sent := 0
		seed := Seed{Run: "3f9a1c02", Trial: "a"}
		cal, err := Calibrate(t.Context(), varied(r, "isolated"), seed, 0, k.counter(&sent))
		if err != nil {
			t.Fatal(err)
		}
		prefixOf := func(seed Seed, phase measure.Phase, i int64) (prefix, nonce string) {
			source, err := New(varied(r, "isolated"), seed, cal)
			if err != nil {
				t.Fatal(err)
			}
			text, err := promptOf(requestAt(t, source, phase, i).Body)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.SplitN(text, "\n\n", 3)
			return parts[0], parts[1]
		}
		prefix, nonce := prefixOf(seed, measure.Measured, 0)
		other, otherNonce := prefixOf(Seed{Run: "x", Trial: "a", Point: "2", Repeat: 3, Attempt: 1}, measure.Warmup, 5)
		if prefix != other || nonce == otherNonce {
			t.Errorf("the prefixes %q and %q, the nonces %q and %q", prefix, other, nonce, otherNonce)
		}
		if changed, _ := prefixOf(Seed{Run: "3f9a1c02", Trial: "b"}, measure.Measured, 0); changed == prefix {
			t.Error("two trials share their prefix")
		}
		alone, err := k.service(Request{Body: encoderOf(t).Body(prefix, 1)})
		if err != nil {
			t.Fatal(err)
		}
		empty, err := k.service(Request{Body: encoderOf(t).Body("", 1)})
		if err != nil {
			t.Fatal(err)
		}
		if tokens := alone - empty; tokens < 294 || tokens > 306 {
			t.Errorf("%s: the prefix has %d tokens, 300 were asked for", k.name, tokens)
		}
	}
}

func encoderOf(t *testing.T) *Encoder {
	t.Helper()
	e, err := NewEncoder("m", schema.Request{API: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
