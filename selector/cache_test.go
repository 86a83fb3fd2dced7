package selector

import (
	"fmt"
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
		"isolated, a template's head":      {ref(0.0), ref(0.08), ""},
		"isolated, more than a head":       {ref(0.0), ref(0.081), "Prompts share 0 tokens by declaration, yet more came from the prefix cache: 8.1 % of them at concurrency 8."},
		"isolated, yet cached":             {ref(0.0), ref(0.86), "Prompts share 0 tokens by declaration, yet more came from the prefix cache: 86 % of them at concurrency 8."},
		"a shared prefix":                  {ref(300.0), ref(0.37), ""},
		"more than the shared prefix":      {ref(300.0), ref(0.39), "Prompts share 300 tokens by declaration, yet more came from the prefix cache: 39 % of them at concurrency 8."},
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

// The head of a template is most of a short prompt, and little of a long one.
func TestAShortPromptMayBeHalfATemplatesHead(t *testing.T) {
	for _, test := range []struct {
		tokens int64 // of each prompt
		ratio  float64
		said   bool
	}{{32, 0.5, false}, {32, 0.51, true}, {64, 0.25, false}, {320, 0.25, false}, {320, 0.26, true}, {8000, 0.05, false}, {8000, 0.051, true}} {
		v := judgedCache(func(p *measure.Point) {
			p.PromptTokens, p.SharedPrefix, p.CacheHitRatio = ref(test.tokens*p.OK), ref(int64(0)), &test.ratio
		})
		if said := len(v.Notes) > 0; said != test.said {
			t.Errorf("%v of %d tokens: notes %q", test.ratio, test.tokens, v.Notes)
		}
	}
}

func judgedCache(change func(p *measure.Point)) Verdict {
	return Judge(Series{Points: []Candidate{point(with(row(8, 100, 0.2), change))}}, rule(0))
}

// The service's own counters contradict a declaration too, where the usage of its responses has no cached tokens or says otherwise.
// https://github.com/vllm-project/vllm/issues/52884
func TestTheServicesOwnCountersContradictADeclaration(t *testing.T) {
	const more = "Prompts share %d tokens by declaration, yet by the service's own counters, in which other clients and the warmup are too, " +
		"more of those looked up were in the prefix cache: 86 %% of them at concurrency 8."
	const none = "yet by the service's own counters none of those looked up were in the prefix cache at concurrency 8"
	for name, test := range map[string]struct {
		shared          int64
		usage, counters *float64
		want            string
	}{
		"usage says nothing":         {0, nil, ref(0.86), fmt.Sprintf(more, 0)},
		"usage says otherwise":       {0, ref(0.0), ref(0.86), fmt.Sprintf(more, 0)},
		"a shared prefix":            {300, nil, ref(0.86), fmt.Sprintf(more, 300)},
		"usage says the same":        {0, ref(0.86), ref(0.9), "yet more came from the prefix cache: 86 % of them at concurrency 8."},
		"a shared prefix not kept":   {300, nil, ref(0.0), none},
		"as declared":                {300, nil, ref(0.31), ""},
		"new, as declared":           {0, nil, ref(0.01), ""},
		"the service shows nothing":  {0, nil, nil, ""},
		"counters fit, usage is off": {0, ref(0.86), ref(0.0), "yet more came from the prefix cache: 86 % of them at concurrency 8."},
	} {
		v := judgedCache(func(p *measure.Point) {
			p.PromptTokens, p.SharedPrefix, p.CacheHitRatio, p.ServerCacheHits = ref(int64(100_000)), &test.shared, test.usage, test.counters
		})
		if test.want == "" != (len(v.Notes) == 0) || len(v.Notes) > 1 {
			t.Errorf("%s: notes %q", name, v.Notes)
		}
		mustContain(t, v.Text(), test.want)
	}
}
