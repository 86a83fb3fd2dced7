// Package format writes figures in words: "360ms", "1.25s", "14.2", "75 %". Verdicts, tables and listings share it, so that a figure
// reads the same wherever it stands.
//
// Results are not written with it: in Parquet, JSON and CSV a figure keeps every digit and its base unit.
package format

import (
	"fmt"
	"math"
	"strconv"
)

// Digits is how many significant digits a figure has where nothing asks for more.
const Digits = 3

// None stands for a figure that is not known.
const None = "-"

// Number writes v with three significant digits, whole from 999.5 on: 0.05, 14.2, 1078.
func Number(v float64) string { return NumberTo(v, Digits) }

// Seconds writes a time in milliseconds below 999.5 of them, else in seconds with two decimals: 12.5ms, 360ms, 1.25s.
func Seconds(s float64) string { return SecondsTo(s, Digits) }

// Percent writes a share with two significant digits, whole from 99.5 on: 0.5 %, 75 %, 148 %.
func Percent(share float64) string { return PercentTo(share, Digits-1) }

// Tokens writes a number of tokens in thousands or millions: as exact multiples of 1024 where it is one (131072 is 128K), else as decimal ones
// (1500 is 1.5K).
func Tokens(n int64) string {
	const kilo, mega = 1 << 10, 1 << 20
	switch v := float64(n); {
	case n >= mega && n%mega == 0:
		return Number(v/mega) + "M"
	case n >= kilo && n%kilo == 0 && n < 1000*kilo:
		return Number(v/kilo) + "K"
	case v >= 999.5e3:
		return Number(v/1e6) + "M"
	case n >= 1000:
		return Number(v/1e3) + "K"
	}
	return Number(float64(n))
}

// Range writes the least and the most of a figure, and one of them where they read the same.
func Range(least, most string) string {
	if least == most {
		return least
	}
	return least + ".." + most
}

// Bars draws values as one bar each, the highest as high as can be, and a dot for one that is not known.
func Bars(values []*float64) string {
	const glyphs, none = "▁▂▃▄▅▆▇█", '·'
	levels := []rune(glyphs)
	known := func(v *float64) bool { return v != nil && *v >= 0 && !math.IsInf(*v, 1) }
	var most float64
	for _, v := range values {
		if known(v) {
			most = max(most, *v)
		}
	}
	bars := make([]rune, len(values))
	for i, v := range values {
		switch {
		case !known(v):
			bars[i] = none
		case most == 0:
			bars[i] = levels[0]
		default:
			bars[i] = levels[int(math.Round(*v/most*float64(len(levels)-1)))]
		}
	}
	return string(bars)
}

// Optional writes what v points to, and a dash where there is nothing.
func Optional(v *float64, write func(float64) string) string {
	if v == nil {
		return None
	}
	return write(*v)
}

// Interval writes an interval, of which one end may not be known: within 948ms to 1.01s, 90ms or more, 1.2s or less.
func Interval(lower, upper *float64, write func(float64) string) string {
	switch {
	case upper == nil:
		return Optional(lower, write) + " or more"
	case lower == nil:
		return write(*upper) + " or less"
	}
	return "within " + write(*lower) + " to " + write(*upper)
}

// Apart writes two figures that differ so that their texts differ too, "500.2ms" and "500ms", with as few digits from least on as that takes. It
// writes them with one of [NumberTo], [SecondsTo] and [PercentTo].
func Apart(a, b float64, write func(v float64, digits int) string, least int) (string, string) {
	const most = 17 // tells any two float64 apart
	for digits := least; digits < most; digits++ {
		if x, y := write(a, digits), write(b, digits); x != y || a == b {
			return x, y
		}
	}
	return write(a, most), write(b, most)
}

// NumberTo is [Number] with another number of digits; it is whole once it has that many.
func NumberTo(v float64, digits int) string {
	if text, ok := special(v); ok {
		return text
	}
	if math.Abs(v) >= math.Pow10(digits)-0.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	// Rounded to the digits first, then written without an exponent and without trailing zeros.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// SecondsTo is [Seconds] with another number of digits: that many in milliseconds, one less of them after the point in seconds.
func SecondsTo(s float64, digits int) string {
	if text, ok := special(s); ok {
		return text
	}
	if ms := s * 1000; math.Abs(ms) < 999.5 {
		return NumberTo(ms, digits) + "ms"
	}
	return strconv.FormatFloat(s, 'f', digits-1, 64) + "s"
}

// PercentTo is [Percent] with another number of digits.
func PercentTo(share float64, digits int) string {
	if text, ok := special(share); ok {
		return text
	}
	return NumberTo(100*share, digits) + " %"
}

func special(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return None, true
	case math.IsInf(v, 0):
		return "infinite", true
	}
	return "", false
}
