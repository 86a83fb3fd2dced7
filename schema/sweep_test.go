package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseSweep(t *testing.T) {
	for s, want := range map[string][]int64{
		"4":                 {4},
		" 4 ":               {4},
		"2,4,8":             {2, 4, 8},
		"8, 2 ,4":           {2, 4, 8},
		"[2, 4, 8]":         {2, 4, 8},
		"4,4,4":             {4},
		"2..8":              {2, 4, 8},
		"2 .. 8":            {2, 4, 8},
		"2..12":             {2, 4, 8, 12},
		"1..1":              {1},
		"3..24":             {3, 6, 12, 24},
		"5..6":              {5, 6},
		"1,4..16,24":        {1, 4, 8, 16, 24},
		"1..64":             {1, 2, 4, 8, 16, 32, 64},
		"8..16,1..4":        {1, 2, 4, 8, 16},
		"+3":                {3},
		"1000000":           {1000000},
		"1..1000000,999999": {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 999999, 1000000},
	} {
		got, err := ParseSweep(s)
		if err != nil {
			t.Errorf("ParseSweep(%q): %v", s, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseSweep(%q) (-want +got):\n%s", s, diff)
		}
	}
}

func TestParseSweepErrors(t *testing.T) {
	long := make([]string, 1001)
	for i := range long {
		long[i] = fmt.Sprint(i + 1)
	}
	seen := map[string]string{}
	for s, want := range map[string]string{
		"":                        `is empty: write a number, several ("2,4,8") or a doubling range ("2..8")`,
		"0":                       `has 0: values are 1 or more`,
		"-4":                      `has -4: values are 1 or more`,
		"2,x":                     `has "x", which is not a whole number`,
		"1.5":                     `has "1.5", which is not a whole number`,
		"1-8":                     `has "1-8", which is not a whole number; a doubling range is written 1..8`,
		"8..2":                    `has the range 8..2, which ends below its start: the smaller number stands first, as in 2..8`,
		"2..":                     `has the range "2..", which is open: both ends are named, as in 2..8`,
		"1,,2":                    `has a comma with nothing beside it: write one value between two commas`,
		"1000001":                 `has 1000001: values are at most 1,000,000`,
		strings.Join(long, ","):   `has 1001 values: a sweep has at most 1,000`,
		"1_000":                   `has "1_000", which is not a whole number`,
		"99999999999999999999999": `has 99999999999999999999999: values are at most 1,000,000`,
	} {
		_, err := ParseSweep(s)
		if err == nil || err.Error() != want {
			t.Errorf("ParseSweep(%.40q) = %v, want %s", s, err, want)
			continue
		}
		if other, taken := seen[want]; taken {
			t.Errorf("%q and %q have the same message", s, other)
		}
		seen[want] = s
	}
}

func TestSweepBlanksAndBrackets(t *testing.T) {
	for _, s := range []string{"   ", "[]", "[ ]", "..8", "..", "1...8", "1..2..4", "[1,2", "2, 4 8", "one", "1e3", "0x10", "-1..4", "1..0", "1,2,"} {
		if got, err := ParseSweep(s); err == nil {
			t.Errorf("ParseSweep(%q) = %v, want an error", s, got)
		}
	}
}

// TestSweepOfRange holds what a doubling range is: it starts and ends where it says, and each step but the last doubles.
func TestSweepOfRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, maxCap).Draw(t, "first")
		last := rapid.Int64Range(first, maxCap).Draw(t, "last")
		got, err := ParseSweep(fmt.Sprintf("%d..%d", first, last))
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != first || got[len(got)-1] != last {
			t.Fatalf("%d..%d gives %v", first, last, got)
		}
		for i := 1; i < len(got); i++ {
			step := got[i] == 2*got[i-1]
			end := i == len(got)-1 && got[i] < 2*got[i-1] && got[i] > got[i-1]
			if !step && !end {
				t.Fatalf("%d..%d gives %v", first, last, got)
			}
		}
	})
}

// TestSweepOfItems holds that a sweep is the union of its items, in whatever order and spacing they are written.
func TestSweepOfItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []string
		var want []int64
		for range rapid.IntRange(1, 8).Draw(t, "items") {
			first := rapid.Int64Range(1, 5000).Draw(t, "first")
			if rapid.Bool().Draw(t, "range") {
				last := rapid.Int64Range(first, 5000).Draw(t, "last")
				items = append(items, fmt.Sprintf("%d..%d", first, last))
				want = append(want, doubled(first, last)...)
				continue
			}
			items = append(items, fmt.Sprint(first))
			want = append(want, first)
		}
		blank := rapid.SampledFrom([]string{"", " ", "  "}).Draw(t, "blank")
		got, err := ParseSweep(blank + strings.Join(items, blank+","+blank) + blank)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(want))), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseSweep(f *testing.F) {
	for _, seed := range []string{"4", "2,4,8", "2..12", "1,4..16,24", "[1, 2]", "..", "0", "1,,2", "1-8", "9999999999999999999..1", "\x00", "١..٤"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		values, err := ParseSweep(s)
		if err != nil {
			return
		}
		if len(values) == 0 || len(values) > maxSweep || values[0] < 1 || values[len(values)-1] > maxCap {
			t.Fatalf("ParseSweep(%q) = %v", s, values)
		}
		if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Fatalf("ParseSweep(%q) = %v: not sorted and unique", s, values)
		}
		again, err := ParseSweep(strings.Trim(fmt.Sprint(values), "[]"))
		if len(values) == 1 && (err != nil || again[0] != values[0]) {
			t.Fatalf("ParseSweep of %v = %v, %v", values, again, err)
		}
	})
}

// parseRates is [ParseSweep] of rates, which have a fraction.
func parseRates(s string) ([]float64, error) {
	written, err := parseSweep(s, parseRate)
	if err != nil {
		return nil, err
	}
	return normalize(written)
}

func TestParseRates(t *testing.T) {
	for s, want := range map[string][]float64{
		"4":              {4},
		"0.5":            {0.5},
		"8, 0.5 ,2":      {0.5, 2, 8},
		"0.5..3":         {0.5, 1, 2, 3},
		"[1, 2.5..10]":   {1, 2.5, 5, 10},
		"1.0, 1":         {1},
		"0.001, 1000000": {0.001, 1e6},
	} {
		got, err := parseRates(s)
		if err != nil {
			t.Errorf("parseRates(%q): %v", s, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parseRates(%q) (-want +got):\n%s", s, diff)
		}
	}
	for s, want := range map[string]string{
		"":          "is empty",
		"1,":        "has a comma with nothing beside it",
		"0":         "values are 0.001 or more",
		"-2":        "values are 0.001 or more",
		"0.0001":    "values are 0.001 or more",
		"1000000.5": "values are at most 1,000,000",
		"1e999":     "values are at most 1,000,000",
		"4..2":      "ends below its start: the smaller number stands first, as in 2..4",
		"0.5..":     "is open",
		"1..2..3":   "is not a number",
		".5":        "is not a number such as 4 or 0.5",
		"inf":       "is the closed loop of concurrency",
		"nan":       "is not a number",
		"0x10":      "is not a number",
	} {
		if got, err := parseRates(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseRates(%q) gives %v and %v, want an error with %q", s, got, err, want)
		}
	}
}
