package gate

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sweetspot/runner/measure"
)

func ref[T any](v T) *T { return &v }

func TestRequire(t *testing.T) {
	p := measure.Point{TTFT: measure.Dist{P50: ref(0.3)}, OutputTokPerS: ref(793.5), ErrorRate: ref(0.01), Counts: measure.Counts{OK: 80},
		TTFTAll: measure.AllDist{P50: ref(math.Inf(1))}, TPOT: measure.Dist{P50: ref(math.NaN())}}
	for text, met := range map[string]bool{
		"ttft_p50_s <= 0.3": true, "ttft_p50_s<=0.3": true, " ttft_p50_s  <=  300 ms ": true, "ttft_p50_s < 300ms": false, "ttft_p50_s <= 300000us": true, "ttft_p50_s <= .2999": false,
		"ttft_p50_s <= 1.5s": true, "output_tok_per_s >= 793.5": true, "output_tok_per_s > 793.5": false, "output_tok_per_s > 7e2": true, "error_rate <= 1%": true, "error_rate <= 0.009": false,
		"requests_ok >= 80": true, "requests_ok > 80": false,
		// What is not known, infinite or no number keeps no level.
		"ttft_p99_s <= 9": false, "ttft_p99_s >= 0": false, "ttft_all_p50_s <= 9": false, "tpot_p50_s <= 9": false, "tpot_p50_s > 0": false,
	} {
		r, err := ParseRequire(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		held := r.Hold(&p)
		if held.Met != met || held.Met == (held.Reason != "") {
			t.Errorf("%s: met %v (%q), want %v", text, held.Met, held.Reason, met)
		}
		if none := r.Hold(nil); none.Met {
			t.Errorf("%s is met by no point", text)
		}
		if _, err := held.MarshalJSON(); err != nil {
			t.Error(err)
		}
	}
}

func TestConditionsThatSayNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "there is no operator",
		"ttft_p50_s":                 "there is no operator",
		"ttft_p50_s 0.3":             "there is no operator",
		"ttft_p50_s == 0.3":          "the operators are <, <=, > and >=",
		"ttft_p50_s = 0.3":           "the operators are",
		"ttft_p50_s => 0.3":          "the operators are",
		"ttft_p50_s != 0.3":          "the operators are",
		"0 < ttft_p50_s < 0.3":       "one in a condition",
		"ttft_p50_s <":               "there is no number behind <",
		"<= 0.3":                     "there is no figure before <=",
		"ttft_p50 <= 0.3":            "did you mean ttft_p50_s?",
		"throughput > 3":             "is no figure. The usual ones are",
		"ttft_p50_s <= fast":         `"fast" is no number for ttft_p50_s: write seconds, or a number with its unit such as 300ms`,
		"ttft_p50_s <= NaN":          "is no number",
		"ttft_p50_s <= Infs":         "is no number",
		"ttft_p50_s <= 0x1p-2":       "is no number",
		"ttft_p50_s <= 1_0":          "is no number",
		"ttft_p50_s <= 1e999":        "is no number",
		"ttft_p50_s <= 3h":           "is no number",
		"ttft_p50_s <= +5%":          "a number with a sign is a change, which compare --fail-if takes",
		"ttft_p50_s <= 5%":           "a share of what?",
		"output_tok_per_s >= 5tok/s": "write a number, in tok/s",
		strings.Repeat("x", 201):     "at most 200",
	} {
		if _, err := ParseRequire(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"ttft_p50_s > 0.3":    "is 0.3 a level or a change?",
		"ttft_p50_s > +5 %%":  "is no number",
		"ttft_p50_s > +x%":    "write a percentage such as +5%",
		"ttft_p50_s > +-5%":   "is no number",
		"output_tok_per_sec<": "there is no number behind <",
	} {
		if _, err := ParseFailIf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFailIf(t *testing.T) {
	for _, test := range []struct {
		text      string
		low, high *float64
		want      State
	}{
		{"ttft_p50_s > +5%", ref(0.06), ref(0.2), Tripped},
		{"ttft_p50_s > +5%", ref(0.05), ref(0.2), Undecided}, // exactly 5 % is not more
		{"ttft_p50_s >= +5%", ref(0.05), ref(0.2), Tripped},
		{"ttft_p50_s > 5 %", ref(-0.01), ref(0.05), Clear},
		{"ttft_p50_s > +5%", ref(-0.01), ref(0.06), Undecided},
		{"ttft_p50_s > +5%", ref(0.06), ref(math.Inf(1)), Tripped},
		{"ttft_p50_s > +5%", nil, ref(0.06), Undecided},
		{"ttft_p50_s > +5%", nil, nil, Undecided},
		{"ttft_p50_s > +5%", ref(math.NaN()), ref(1.0), Undecided},
		{"output_tok_per_s < -5%", ref(-0.2), ref(-0.06), Tripped},
		{"output_tok_per_s < -5%", ref(-0.05), ref(0.3), Clear},
		{"output_tok_per_s < -5%", ref(-0.06), ref(0.3), Undecided},
		{"ttft_p50_s > +20ms", ref(0.021), ref(0.03), Tripped},
		{"error_rate > +0.01", ref(0.0), ref(0.0), Clear},
		{"error_rate >= +1%", ref(0.02), ref(0.02), Tripped}, // a share of what it was: 1 % more
	} {
		f, err := ParseFailIf(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Decide(test.low, test.high); got != test.want {
			t.Errorf("%s of %v to %v: %s, want %s", test.text, test.low, test.high, got, test.want)
		}
	}
}

func TestBackwards(t *testing.T) {
	for text, want := range map[string]bool{
		"output_tok_per_s > +5%": true, "output_tok_per_s < -5%": false, "ttft_p50_s > +5%": false, "ttft_p50_s < -5%": true, "output_tok_per_s > -5%": false, "wall_s > +5%": false,
	} {
		f, err := ParseFailIf(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Backwards(); got != want {
			t.Errorf("%s is backwards: %v", text, got)
		}
	}
}

// A change is beyond a threshold, or it is not: the opposite condition on the same interval is never in the same decided state.
func TestOppositesNeverAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1, 1).Draw(t, "low")
		high := low + rapid.Float64Range(0, 1).Draw(t, "width")
		threshold := rapid.SampledFrom([]string{"+5%", "-5%", "0%", "+50%"}).Draw(t, "threshold")
		above, err := ParseFailIf("ttft_p50_s > " + threshold)
		if err != nil {
			t.Fatal(err)
		}
		below, err := ParseFailIf("ttft_p50_s <= " + threshold)
		if err != nil {
			t.Fatal(err)
		}
		opposite := map[State]State{Tripped: Clear, Clear: Tripped, Undecided: Undecided}
		if a, b := above.Decide(&low, &high), below.Decide(&low, &high); b != opposite[a] {
			t.Errorf("%v to %v: above %s, below %s", low, high, a, b)
		}
	})
}

// Whatever is written gives a condition that can be held, or an error in one line that names what was written.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ttft_p50_s <= 0.3", "ttft_p50_s > +5%", "error_rate <= 1%", "output_tok_per_s < -5 %", "<", "ttft_p50_s <= +-1e5ms", "a\x00b > 1", "ttft_p50_s > +20ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		level := 1.0
		p := measure.Point{TTFT: measure.Dist{P50: &level}}
		r, err := ParseRequire(text)
		if err == nil {
			if held := r.Hold(&p); math.IsNaN(held.Level) || math.IsInf(held.Level, 0) || held.Met && held.Value == nil {
				t.Errorf("%q: %+v", text, held)
			}
			if again, err := ParseRequire(r.Text); err != nil || again.level != r.level || again.Figure.Name != r.Figure.Name {
				t.Errorf("%q reads as %q, and that as %+v, %v", text, r.Text, again, err)
			}
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 1500 {
			t.Errorf("%q: %v", text, err)
		}
		c, err := ParseFailIf(text)
		if err == nil {
			if math.IsNaN(c.threshold) || c.Decide(nil, &level) != Undecided {
				t.Errorf("%q: %+v", text, c)
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
