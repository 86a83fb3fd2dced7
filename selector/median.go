package selector

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// Medians condenses the repeats of a point into one row. A figure is the median over the repeats, null where any of them has none; counts are
// summed; flags are set where any repeat's is; a text is that of the first repeat that has one; the status is the worst. Repeat and attempt are
// 0, and with more than one repeat instants are null. There must be at least one row.
func Medians(repeats []measure.Point) measure.Point {
	if len(repeats) == 1 {
		return repeats[0]
	}
	var out measure.Point
	rows := make([]reflect.Value, len(repeats))
	for i := range repeats {
		rows[i] = reflect.ValueOf(&repeats[i]).Elem()
	}
	for _, column := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		cells := make([]any, len(rows))
		for i, row := range rows {
			cells[i] = row.FieldByIndex(column.Index).Interface()
		}
		reflect.ValueOf(&out).Elem().FieldByIndex(column.Index).Set(reflect.ValueOf(condense(cells, column.Count)))
	}
	out.Repeat, out.Attempt = 0, 0
	return out
}

// condense gives one cell for those of all repeats, all of which are of one type.
func condense(cells []any, count bool) any {
	switch cells[0].(type) {
	case *float64:
		return Median(asType[*float64](cells))
	case *int64:
		if count {
			return sum(asType[*int64](cells))
		}
		return medianCount(asType[*int64](cells))
	case int64:
		var sum int64
		for _, n := range asType[int64](cells) {
			sum += n
		}
		return sum
	case []int64:
		return sumEach(asType[[]int64](cells))
	case bool:
		return slices.Contains(asType[bool](cells), true)
	case *string:
		return first(asType[*string](cells))
	case measure.PointStatus:
		return slices.MaxFunc(asType[measure.PointStatus](cells), func(a, b measure.PointStatus) int { return cmp.Compare(badness(a), badness(b)) })
	case clock.Instant:
		return clock.Instant(0)
	}
	return cells[0] // text, the same in every repeat
}

// sum is nil where any count is.
func sum(counts []*int64) *int64 {
	var all int64
	for _, n := range counts {
		if n == nil {
			return nil
		}
		all += *n
	}
	return &all
}

// sumEach adds counts up place by place; where repeats have not equally many, what they count is not the same, and there is none.
func sumEach(counts [][]int64) []int64 {
	all := slices.Clone(counts[0])
	for _, more := range counts[1:] {
		if len(more) != len(all) {
			return nil
		}
		for i, n := range more {
			all[i] += n
		}
	}
	return all
}

func asType[T any](cells []any) []T {
	typed := make([]T, len(cells))
	for i, cell := range cells {
		typed[i] = cell.(T)
	}
	return typed
}

func first[T any](values []*T) *T {
	if i := slices.IndexFunc(values, func(v *T) bool { return v != nil }); i >= 0 {
		return values[i]
	}
	return nil
}

func badness(s measure.PointStatus) int {
	return slices.Index([]measure.PointStatus{measure.PointCompleted, measure.PointInterrupted, measure.PointFailed}, s)
}

// Median is nil where any value is, or is not a number.
func Median(values []*float64) *float64 {
	sorted := make([]float64, len(values))
	for i, v := range values {
		if v == nil || math.IsNaN(*v) {
			return nil
		}
		sorted[i] = *v
	}
	slices.Sort(sorted)
	half := len(sorted) / 2
	middle := sorted[half]
	if len(sorted)%2 == 0 && sorted[half-1] != middle { // equal ones may be infinite
		middle = sorted[half-1] + (middle-sorted[half-1])/2
	}
	return &middle
}

// medianCount rounds a median that falls between two whole numbers to the even one.
func medianCount(values []*int64) *int64 {
	floats := make([]*float64, len(values))
	for i, v := range values {
		if v == nil {
			return nil
		}
		f := float64(*v)
		floats[i] = &f
	}
	middle := int64(math.RoundToEven(*Median(floats)))
	return &middle
}
