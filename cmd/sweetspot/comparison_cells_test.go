package main

import (
	"testing"

	"sweetspot/selector/compare"
	"sweetspot/selector/figure"
)

// An error rate that goes from 0 % to 2.5 % has not risen by a share of itself, as one that goes from 1 % to 2 % has.
func TestADifferenceOfPercentagesIsNoShare(t *testing.T) {
	rate, err := figure.Find("error_rate")
	if err != nil {
		t.Fatal(err)
	}
	from0, share := 0.025, 1.0
	for _, tt := range []struct {
		change compare.Change
		want   string
	}{
		{compare.Change{Absolute: &from0, Verdict: compare.ForWorse}, "+2.5 pp worse"},
		{compare.Change{Absolute: &from0, Relative: &share, Verdict: compare.ForWorse}, "+100 % worse"},
	} {
		if got := changeText(rate, &tt.change); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
