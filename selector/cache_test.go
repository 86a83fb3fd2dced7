package selector

import (
	"testing"

	"sweetspot/runner/measure"
)

// A cache that has what the preset says it has not makes another measurement of it.
// https://github.com/vllm-project/vllm/issues/52884, and a cache_salt that the service silently ignored.
func TestACacheThatContradictsItsDeclarationIsSaid(t *testing.T) {
	cache := func(shared, ratio *float64) func(p *measure.Point) {
		return func(p *measure.Point) {
			p.PromptTokens, p.CacheHitRatio = ref(int64(100_000)), ratio // 1,000 of each prompt
			if shared != nil {
				p.SharedPrefix = ref(int64(*shared))
			}
		}
	}
	for name, test := range map[string]struct {
		shared, ratio *float64
		want          string
	}{
		"isolated and new":                 {ref(0.0), ref(0.0), ""},
		"isolated, a template's head":      {ref(0.0), ref(0.05), ""},
		"isolated, yet cached":             {ref(0.0), ref(0.86), "Prompts share 0 tokens by declaration, yet more came from the prefix cache: 86 % of them at concurrency 8."},
		"a shared prefix":                  {ref(300.0), ref(0.34), ""},
		"more than the shared prefix":      {ref(300.0), ref(0.36), "Prompts share 300 tokens by declaration, yet more came from the prefix cache: 36 % of them at concurrency 8."},
		"a shared prefix that is not kept": {ref(300.0), ref(0.0), "Prompts share 300 tokens by declaration, yet none came from the prefix cache at concurrency 8:"},
		"not reported":                     {ref(300.0), nil, ""},
		"not declared":                     {nil, ref(0.86), ""},
	} {
		v := Judge(Series{Points: []Candidate{point(with(row(8, 100, 0.2), cache(test.shared, test.ratio)))}}, rule(0))
		if test.want == "" {
			if len(v.Notes) != 0 {
				t.Errorf("%s: notes %q", name, v.Notes)
			}
			continue
		}
		if len(v.Notes) != 1 {
			t.Errorf("%s: notes %q", name, v.Notes)
		}
		mustContain(t, v.Text(), test.want)
	}
	broken := with(row(8, 100, 0.2), cache(ref(0.0), ref(0.9)))
	broken.ErrorRate = ref(0.5)
	if v := Judge(Series{Points: []Candidate{point(broken)}}, rule(0)); v.Winner() != nil || len(v.Notes) != 1 {
		t.Errorf("without a winner: notes %q", v.Notes)
	}
}
