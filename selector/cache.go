package selector

import (
	"fmt"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector/format"
)

// cacheSlack is the share of prompt tokens that a prefix cache may have beyond what is declared: the head that a chat template puts before each
// prompt is the same in all of them.
const cacheSlack = 0.05

// cacheNotes say where the prefix cache did not do what the preset declares, with the figures: a time to first token is that of other work than it
// says. What the service does not report is not held against anything.
func (v *Verdict) cacheNotes() []string {
	var undeclared, missed []string
	var shared int64
	for i := range v.Points {
		for _, row := range v.Points[i].Repeats {
			ratio, ok := cached(&row)
			if !ok {
				continue
			}
			shared = *row.SharedPrefix
			where := LoadText(v.Points[i].Load)
			if ratio > sharedShare(&row)+cacheSlack {
				undeclared = append(undeclared, fmt.Sprintf("%s of them at %s", format.Percent(ratio), where))
				break
			}
			if ratio == 0 && shared > 0 {
				missed = append(missed, where)
				break
			}
		}
	}
	var notes []string
	if len(undeclared) > 0 {
		notes = append(notes, fmt.Sprintf("Prompts share %d tokens by declaration, yet more came from the prefix cache: %s. Its ttft is not that of new prompts.",
			shared, strings.Join(undeclared, ", ")))
	}
	if len(missed) > 0 {
		notes = append(notes, fmt.Sprintf("Prompts share %d tokens by declaration, yet none came from the prefix cache at %s: the cache may be off, or its blocks longer.",
			shared, strings.Join(missed, "; ")))
	}
	return notes
}

// cached is the share of prompt tokens that came from the prefix cache; false where it, or what is declared, is not known.
func cached(p *measure.Point) (float64, bool) {
	if p.SharedPrefix == nil || !known(p.CacheHitRatio) || p.PromptTokens == nil || *p.PromptTokens <= 0 {
		return 0, false
	}
	return *p.CacheHitRatio, true
}

// sharedShare is the share of the prompt tokens that the workload declares shared.
func sharedShare(p *measure.Point) float64 {
	return min(1, float64(*p.SharedPrefix*p.OK)/float64(*p.PromptTokens))
}
