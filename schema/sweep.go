package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a sweep: how many values it may have, and how large and small one may be.
const (
	maxSweep = 1000
	maxCap   = 1_000_000
	minRate  = 0.001
)

// quantity is what a sweep has: a cap or a rate.
type quantity interface{ int64 | float64 }

// ParseSweep reads a sweep of caps: numbers and doubling ranges separated by commas, such as "4", "2,4,8", "2..12" (2, 4, 8, 12: the end always
// belongs to it) or "1, 4..16, 24", with or without brackets around. The values are sorted, unique, and from 1 to 1,000,000; there are at most 1,000.
func ParseSweep(s string) ([]int64, error) {
	written, err := parseSweep(s, parseCap)
	if err != nil {
		return nil, err
	}
	return normalize(written)
}

// parseSweep reads the values in the order in which they are written.
func parseSweep[T quantity](s string, parse func(string) (T, error)) ([]T, error) {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		s = strings.TrimSuffix(inner, "]")
	}
	if strings.TrimSpace(s) == "" {
		return nil, errors.New(`is empty: write a number, several ("2,4,8") or a doubling range ("2..8")`)
	}
	var values []T
	for item := range strings.SplitSeq(s, ",") {
		some, err := parseItem(strings.TrimSpace(item), parse)
		if err != nil {
			return nil, err
		}
		values = append(values, some...)
	}
	return values, nil
}

// normalize sorts values and drops repetitions.
func normalize[T quantity](values []T) ([]T, error) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) > maxSweep {
		return nil, fmt.Errorf("has %d values: a sweep has at most 1,000", len(values))
	}
	return values, nil
}

func parseItem[T quantity](item string, parse func(string) (T, error)) ([]T, error) {
	low, high, isRange := strings.Cut(item, "..")
	if !isRange {
		value, err := parse(item)
		return []T{value}, err
	}
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	if low == "" || high == "" {
		return nil, fmt.Errorf("has the range %q, which is open: both ends are named, as in 2..8", item)
	}
	first, err := parse(low)
	if err != nil {
		return nil, err
	}
	last, err := parse(high)
	if err != nil {
		return nil, err
	}
	if last < first {
		return nil, fmt.Errorf("has the range %s, which ends below its start: the smaller number stands first, as in %v..%v", item, last, first)
	}
	return doubled(first, last), nil
}

// doubled is first, twice that, and so on while not above last, and last.
func doubled[T quantity](first, last T) []T {
	var values []T
	for v := first; v < last; v *= 2 {
		values = append(values, v)
	}
	return append(values, last)
}

var (
	ratePattern  = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	wholePattern = regexp.MustCompile(`^[-+]?[0-9]+$`)
	spanPattern  = regexp.MustCompile(`^([0-9]+)\s*(?:-|–|…|:|to)\s*([0-9]+)$`)
)

func parseCap(s string) (int64, error) {
	switch {
	case s == "":
		return 0, errors.New("has a comma with nothing beside it: write one value between two commas")
	case spanPattern.MatchString(s):
		ends := spanPattern.FindStringSubmatch(s)
		return 0, fmt.Errorf("has %q, which is not a whole number; a doubling range is written %s..%s", shorten(s), ends[1], ends[2])
	case !wholePattern.MatchString(s):
		return 0, fmt.Errorf("has %q, which is not a whole number", shorten(s))
	}
	value, err := strconv.ParseInt(s, 10, 64)
	if err == nil && value < 1 || strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("has %s: values are 1 or more", shorten(s))
	}
	if err != nil || value > maxCap {
		return 0, fmt.Errorf("has %s: values are at most 1,000,000", shorten(s))
	}
	return value, nil
}

func parseRate(s string) (float64, error) {
	switch {
	case s == "":
		return 0, errors.New("has a comma with nothing beside it: write one value between two commas")
	case spanPattern.MatchString(s):
		ends := spanPattern.FindStringSubmatch(s)
		return 0, fmt.Errorf("has %q, which is not a number; a doubling range is written %s..%s", shorten(s), ends[1], ends[2])
	case strings.EqualFold(s, "inf"):
		return 0, errors.New(`has "inf", which is no rate: what sends as fast as answers come is the closed loop of concurrency, without this field`)
	case !ratePattern.MatchString(s):
		return 0, fmt.Errorf("has %q, which is not a number such as 4 or 0.5", shorten(s))
	}
	value, err := strconv.ParseFloat(s, 64)
	if err != nil || value > maxCap {
		return 0, fmt.Errorf("has %s: values are at most 1,000,000", shorten(s))
	}
	if value < minRate {
		return 0, fmt.Errorf("has %s: values are 0.001 or more", shorten(s))
	}
	return value, nil
}
