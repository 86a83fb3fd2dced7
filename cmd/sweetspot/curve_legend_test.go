package main

import (
	"strings"
	"testing"

	"sweetspot/runner/measure"
	"sweetspot/selector"
)

// Regression: https://github.com/kubernetes-sigs/inference-perf/pull/753: who counted the tokens was not said.
func TestTheLegendSaysWhoCounted(t *testing.T) {
	server, tokenizer, tool := string(measure.FromServer), string(measure.FromTokenizer), "aiperf 0.13.0"
	both := string(measure.FromServerAndTokenizer)
	for _, tt := range []struct {
		point measure.Point
		want  string
	}{
		{measure.Point{TokenSource: &server}, "output tokens by the service's own count"},
		{measure.Point{TokenSource: &tokenizer}, "output tokens as request.tokenizer counted them on this machine"},
		{measure.Point{TokenSource: &both}, "output tokens as request.tokenizer counted them on this machine"},
		{measure.Point{TokenSource: &tokenizer, Source: &tool}, "output tokens as aiperf 0.13.0 counted them"},
	} {
		got := windowText(&selector.Verdict{Points: []selector.Judged{{Medians: tt.point}}})
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q, want %q in it", got, tt.want)
		}
	}
}
