package selector

import (
	"fmt"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/selector/format"
)

// What a prefix cache may have beyond what is declared: the head that a chat template puts before each prompt is the same in all of them. The largest in
// use have some 80 tokens, with the date and what the model is told of its channels. Half of a short prompt is enough all the same.
const (
	cacheSlack = 0.05 // of the prompt tokens
	headTokens = 80.0 // of each prompt, where that is more
	headShare  = 0.5  // of the prompt tokens, which the head is not above
)

// cacheNotes say where the prefix cache did not do what the preset declares, with the figures: a time to first token is that of other work than it
// says. It is held against the usage of the responses, and against the service's own counters where usage does not say the same. What the service does not
// report is not held against anything.
func (v *Verdict) cacheNotes() []string {
	var usage, counters contradictions
	var shared int64
	for i := range v.Points {
		where := LoadText(v.Points[i].Load)
		var said, counted caching
		for _, row := range v.Points[i].Repeats {
			if row.SharedPrefix == nil {
				continue
			}
			shared = *row.SharedPrefix
			if said == asDeclared {
				said = usage.take(&row, row.CacheHitRatio, where)
			}
		}
		for _, row := range v.Points[i].Repeats {
			if row.SharedPrefix != nil && counted == asDeclared && cachingOf(&row, row.ServerCacheHits) != said {
				counted = counters.take(&row, row.ServerCacheHits, where)
			}
		}
	}
	var notes []string
	add := func(of []string, separator, format string) {
		if len(of) > 0 {
			notes = append(notes, fmt.Sprintf(format, shared, strings.Join(of, separator)))
		}
	}
	add(usage.more, ", ", "Prompts share %d tokens by declaration, yet more came from the prefix cache: %s. Its ttft is not that of new prompts.")
	add(usage.none, "; ", "Prompts share %d tokens by declaration, yet none came from the prefix cache at %s: the cache may be off, or its blocks longer.")
	add(counters.more, ", ", "Prompts share %d tokens by declaration, yet by the service's own counters, in which other clients and the warmup are too, "+
		"more of those looked up were in the prefix cache: %s. Its ttft may not be that of new prompts.")
	add(counters.none, "; ", "Prompts share %d tokens by declaration, yet by the service's own counters none of those looked up were in the prefix cache at %s: "+
		"the cache may be off, or its blocks longer.")
	return notes
}

// caching is how the prefix cache stands to what is declared.
type caching int

const (
	asDeclared caching = iota // or not known
	moreCached
	noneCached
)

// cachingOf holds a share of prompt tokens that came from the prefix cache against what the row's workload declares.
func cachingOf(p *measure.Point, ratio *float64) caching {
	share, ok := sharedShare(p)
	switch {
	case !known(ratio) || !ok:
		return asDeclared
	case *ratio > share+slack(p):
		return moreCached
	case *ratio == 0 && *p.SharedPrefix > 0:
		return noneCached
	}
	return asDeclared
}

// slack is the share of the prompt tokens that the head of a template may be.
func slack(p *measure.Point) float64 {
	if p.PromptTokens == nil || *p.PromptTokens <= 0 {
		return cacheSlack
	}
	return max(cacheSlack, min(headShare, headTokens*float64(p.OK)/float64(*p.PromptTokens)))
}

// contradictions are the points where the cache was not as declared, each once.
type contradictions struct {
	more, none []string
}

func (c *contradictions) take(p *measure.Point, ratio *float64, where string) caching {
	how := cachingOf(p, ratio)
	switch how {
	case moreCached:
		c.more = append(c.more, fmt.Sprintf("%s of them at %s", format.Percent(*ratio), where))
	case noneCached:
		c.none = append(c.none, where)
	}
	return how
}

// sharedShare is the share of the prompt tokens that the workload declares shared; false where it is not known.
func sharedShare(p *measure.Point) (float64, bool) {
	switch {
	case p.SharedPrefix == nil:
		return 0, false
	case *p.SharedPrefix == 0:
		return 0, true
	case p.PromptTokens == nil || *p.PromptTokens <= 0:
		return 0, false
	}
	return min(1, float64(*p.SharedPrefix*p.OK)/float64(*p.PromptTokens)), true
}
