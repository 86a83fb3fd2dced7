package format

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 14.2: "14.2", 14: "14", 92.66: "92.7", 0.05: "0.05", 0.000012345: "0.0000123", 999.4: "999", 999.5: "1000", 1078.2: "1078", 1234567: "1234567",
		-14.23: "-14.2", math.Inf(1): "infinite", math.NaN(): "-",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for v, want := range map[float64]string{
		0.36: "360ms", 0.0125: "12.5ms", 0.00004: "0.04ms", 0: "0ms", 0.9994: "999ms", 0.9995: "1.00s", 1.25: "1.25s", 61.238: "61.24s", math.Inf(1): "infinite",
	} {
		if got := Seconds(v); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{0.005: "0.5 %", 0.7516: "75 %", 1: "100 %", 1.483: "148 %", 0: "0 %", math.Inf(1): "infinite"} {
		if got := Percent(v); got != want {
			t.Errorf("Percent(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestOptional(t *testing.T) {
	v := 0.5
	if got := Optional(&v, Percent); got != "50 %" {
		t.Errorf("got %q", got)
	}
	if got := Optional(nil, Percent); got != None {
		t.Errorf("got %q", got)
	}
}

// "500ms is above the limit of 500ms" helps nobody.
func TestApart(t *testing.T) {
	for _, test := range []struct {
		a, b  float64
		write func(float64, int) string
		least int
		x, y  string
	}{
		{0.612, 0.5, SecondsTo, 3, "612ms", "500ms"},
		{0.5002, 0.5, SecondsTo, 3, "500.2ms", "500ms"},
		{1.2501, 1.25, SecondsTo, 3, "1.2501s", "1.2500s"},
		{0.7516, 0.95, PercentTo, 2, "75 %", "95 %"},
		{0.9496, 0.95, PercentTo, 2, "94.96 %", "95 %"},
		{0.5, 0.5, SecondsTo, 3, "500ms", "500ms"},
		{math.Inf(1), 0.5, SecondsTo, 3, "infinite", "500ms"},
	} {
		if x, y := Apart(test.a, test.b, test.write, test.least); x != test.x || y != test.y {
			t.Errorf("Apart(%v, %v) = %q, %q, want %q, %q", test.a, test.b, x, y, test.x, test.y)
		}
	}
}

func TestApartTellsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(1e-6, 1e3).Draw(t, "a"), rapid.Float64Range(1e-6, 1e3).Draw(t, "b")
		if x, y := Apart(a, b, SecondsTo, Digits); (x == y) != (a == b) && math.Abs(a-b) > 1e-12*a {
			t.Errorf("%v and %v are %q and %q", a, b, x, y)
		}
	})
}

func TestTokens(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 512: "512", 999: "999", 1000: "1K", 1024: "1K", 1500: "1.5K", 8192: "8K", 32000: "32K", 40960: "40K", 131072: "128K", 131000: "131K",
		999400: "999K", 999500: "1M", 1000000: "1M", 1 << 20: "1M", 3 << 19: "1.57M", 10_000_000: "10M", 1000 << 10: "1.02M",
	} {
		if got := Tokens(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestBars(t *testing.T) {
	ref := func(v float64) *float64 { return &v }
	nan := math.NaN()
	for want, values := range map[string][]*float64{
		"":         nil,
		"·":        {nil},
		"█":        {ref(3)},
		"▁":        {ref(0)},
		"▅█·▁▂▄▄█": {ref(50), ref(100), nil, ref(7), ref(8), ref(49.9), ref(42), ref(100)},
		"··█":      {&nan, ref(math.Inf(1)), ref(1)},
	} {
		if got := Bars(values); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := Range("14", "92.7") + " " + Range("360ms", "360ms"); got != "14..92.7 360ms" {
		t.Error(got)
	}
}

func TestInterval(t *testing.T) {
	low, high := 0.09, 1.2
	for want, ends := range map[string][2]*float64{"within 90ms to 1.20s": {&low, &high}, "90ms or more": {&low, nil}, "1.20s or less": {nil, &high}, "- or more": {}} {
		if got := Interval(ends[0], ends[1], Seconds); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
