package schema

import (
	"fmt"
	"strings"
)

// excess is a cap above the one that it must not exceed.
type excess struct {
	field, over string // of load
	value, cap  int64
}

// breaches are the combinations that break prefill <= request <= session, each once, in the order of the points.
type breaches struct {
	all  []excess
	seen map[excess]bool
}

func (b *breaches) hold(field string, value int64, over string, bound int64) {
	e := excess{field, over, value, bound}
	if bound == 0 || value <= bound || b.seen[e] {
		return
	}
	if b.seen == nil {
		b.seen = map[excess]bool{}
	}
	b.seen[e] = true
	b.all = append(b.all, e)
}

// chain looks for breaches in one point.
func (l Load) chain(c caps, found *breaches) {
	if !l.Oversubscribe {
		found.hold("request_concurrency", c.request, "concurrency", c.session)
		found.hold("warmup_request_concurrency", c.warmup, "concurrency", c.session)
		found.hold("agentic_warmup_request_concurrency", c.agentic, "concurrency", c.session)
	}
	if c.request > 0 {
		found.hold("prefill_concurrency", c.prefill, "request_concurrency", c.request)
	} else {
		found.hold("prefill_concurrency", c.prefill, "concurrency", c.session)
	}
	found.hold("prefill_concurrency", c.prefill, "warmup_request_concurrency", c.warmup)
	found.hold("prefill_concurrency", c.prefill, "agentic_warmup_request_concurrency", c.agentic)
}

// conflicts names all breaches, one conflict for each pair of fields.
func (b *breaches) conflicts() Conflicts {
	var order [][2]string
	pairs := map[[2]string][]string{}
	for _, e := range b.all {
		fields := [2]string{e.field, e.over}
		if pairs[fields] == nil {
			order = append(order, fields)
		}
		pairs[fields] = append(pairs[fields], fmt.Sprintf("%d > %d", e.value, e.cap))
	}
	var conflicts Conflicts
	for _, fields := range order {
		message := fmt.Sprintf("exceeds %s (%s): lower it, or set clip: true to have it lowered at these points",
			fields[1], strings.Join(pairs[fields], ", "))
		conflicts = append(conflicts, Conflict{fields[0], message})
	}
	return conflicts
}
