package selector

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sweetspot/runner/measure"
)

func TestMedians(t *testing.T) {
	a := with(row(4, 100, 0.1), func(p *measure.Point) {
		p.Repeat, p.Started, p.TTFT.N, p.Reason, p.TTFTAll.P99 = 0, 5, 100, nil, ref(math.Inf(1))
	})
	b := with(row(4, 300, 0.3), func(p *measure.Point) {
		p.Repeat, p.Started, p.TTFT.N, p.Reason, p.OutputTokens, p.TTFTAll.P99 = 1, 6, 50, ref("why"), ref(int64(1003)), ref(math.Inf(1))
		p.Counts = measure.Counts{Issued: 100, OK: 50, Timeout: 50}
		p.Status, p.Degenerate = measure.PointInterrupted, true
	})
	c := with(row(4, 200, 0.2), func(p *measure.Point) { p.Repeat, p.SteadyOutputTokPS, p.ErrorRate = 2, nil, ref(math.NaN()) })
	got := Medians([]measure.Point{a, b})
	want := a
	want.Started, want.TTFT.N, want.Reason = 0, 150, ref("why")
	want.OutputTokens = ref(int64(2003)) // tokens add up, as requests do
	want.PromptTokens, want.RequestedOK = summed(a.PromptTokens, b.PromptTokens), summed(a.RequestedOK, b.RequestedOK)
	want.Counts = measure.Counts{Issued: 200, OK: 150, Timeout: 50}
	want.Status, want.Degenerate = measure.PointInterrupted, true
	want.OutputTokPerS, want.SteadyOutputTokPS, want.TTFT.P50, want.TTFTAll.P50 = ref(200.0), ref(202.0), ref(0.2), ref(0.2)
	want.TPOT.N, want.TotalTime.N = 200, 200
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("of two: %s", diff)
	}
	got = Medians([]measure.Point{a, b, c})
	if *got.OutputTokPerS != 200 || got.SteadyOutputTokPS != nil || got.ErrorRate != nil || *got.OutputTokens != 3003 || got.TTFTAll.P99 != nil {
		t.Errorf("of three: %v, %v, %v, %v, %v", *got.OutputTokPerS, got.SteadyOutputTokPS, got.ErrorRate, *got.OutputTokens, got.TTFTAll.P99)
	}
	if diff := cmp.Diff(c, Medians([]measure.Point{c}), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("of one: %s", diff)
	}
}

func summed(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return ref(*a + *b)
}

func TestCountsOfAddressesAddUpOneByOne(t *testing.T) {
	with := func(issued ...int64) measure.Point {
		var p measure.Point
		p.URLIssued = issued
		return p
	}
	for _, test := range []struct {
		repeats []measure.Point
		want    []int64
	}{
		{[]measure.Point{with(1, 2), with(10, 20), with(100, 200)}, []int64{111, 222}},
		{[]measure.Point{with(1, 2), with(10)}, nil},
	} {
		if got := Medians(test.repeats).URLIssued; !slices.Equal(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

// A column of a type that nobody thought of would silently take the first repeat's value.
func TestMediansKnowEveryColumn(t *testing.T) {
	for _, c := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		switch c.Type.String() {
		case "*float64", "*int64", "int64", "[]int64", "bool", "*string", "string", "measure.PointStatus", "clock.Instant":
		default:
			t.Errorf("column %s is of type %v", c.Name, c.Type)
		}
	}
}
