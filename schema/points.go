package schema

import (
	"fmt"
	"slices"
	"strings"
)

// maxPoints is how many points the trials of a preset may have together.
const maxPoints = 100_000

// Conflict is a combination of load fields that no point can have.
type Conflict struct {
	Field   string // of load, such as "request_concurrency": the one to blame
	Message string // with every offending combination
}

// Conflicts are all that stands against a load.
type Conflicts []Conflict

// Error writes one conflict a line.
func (c Conflicts) Error() string {
	lines := make([]string, len(c))
	for i, conflict := range c {
		lines[i] = "load." + conflict.Field + ": " + conflict.Message
	}
	return strings.Join(lines, "\n")
}

// caps are those of one point, and its rate or speed. 0 is one that is not set.
type caps struct {
	session, request, warmup, agentic, prefill int64
	rate, speed                                float64
}

// Points are the points of l in ascending order: every combination of its swept caps, or with Zip their values step by step, a single value holding
// in each step. A load that sets none of concurrency, request_concurrency, request_rate and replay_speed has the concurrencies 1, 2, 4, 8 and 16.
//
// In every point prefill <= request <= session, where a cap that is not set is skipped (prefill is then held against session); the warmup caps
// are request caps too, and prefill is at most the cap of each phase. Oversubscribe lifts request <= session. Clip lowers caps to the chain and merges
// the points that became equal. Combinations that break the chain, and a number of requests below what is kept in flight, are [Conflicts]: then
// there are no points.
//
// A load with a search has those of its bounds.
func (l Load) Points() ([]PointLoad, error) {
	if l.Search != nil {
		return l.bounds()
	}
	l = l.withDefaults()
	asked, conflicts := l.combinations()
	if len(conflicts) > 0 {
		return nil, conflicts
	}
	var points []PointLoad
	var found breaches
	seen := map[caps]bool{}
	for _, c := range asked {
		effective := c
		if l.Clip {
			effective = l.clip(c)
		}
		l.chain(effective, &found)
		if seen[effective] {
			continue
		}
		seen[effective] = true
		points = append(points, pointLoad(effective, c))
	}
	conflicts = append(found.conflicts(), l.tooFew(points)...)
	if len(conflicts) > 0 {
		return nil, conflicts
	}
	return points, nil
}

// withDefaults is l with random arrivals where it is an open loop, else with the default ladder where it caps and searches neither sessions nor requests.
func (l Load) withDefaults() Load {
	switch {
	case l.Search != nil:
	case len(l.RequestRate) > 0 && l.Arrivals == "":
		l.Arrivals = "poisson"
	case len(l.RequestRate) == 0 && len(l.ReplaySpeed) == 0 && len(l.Concurrency) == 0 && len(l.RequestConcurrency) == 0:
		l.Concurrency = []int64{1, 2, 4, 8, 16}
	}
	return l
}

// sweeps are the swept fields by the order in which points are sorted, with their names.
func (l Load) sweeps() (values [7][]float64, names [7]string) {
	for i, swept := range [][]int64{l.Concurrency, l.RequestConcurrency, l.WarmupRequestConcurrency, l.AgenticWarmupRequestConcurrency, l.PrefillConcurrency} {
		for _, value := range swept {
			values[i] = append(values[i], float64(value))
		}
	}
	values[5], values[6] = l.RequestRate, l.ReplaySpeed
	for i := range values {
		if len(values[i]) == 0 {
			values[i] = []float64{0}
		}
	}
	return values, [7]string{
		"concurrency", "request_concurrency", "warmup_request_concurrency", "agentic_warmup_request_concurrency", "prefill_concurrency", "request_rate",
		"replay_speed",
	}
}

// capsOf are those of one value for each of the sweeps. A float64 holds each cap exactly.
func capsOf(v [7]float64) caps {
	return caps{int64(v[0]), int64(v[1]), int64(v[2]), int64(v[3]), int64(v[4]), v[5], v[6]}
}

// combinations are the points as asked for.
func (l Load) combinations() ([]caps, Conflicts) {
	if l.Zip {
		return l.steps()
	}
	values, names := l.sweeps()
	count, longest := 1, 0
	for i, v := range values {
		count = min(count*len(v), maxPoints*maxSweep) // no overflow: each factor is at most maxSweep
		if len(v) > len(values[longest]) {
			longest = i
		}
	}
	if count > maxPoints {
		return nil, Conflicts{{names[longest], "makes more than 100,000 points with the other sweeps: sweep fewer values, or set zip: true to step " +
			"them together"}}
	}
	combined := make([]caps, 0, count)
	var chosen [7]float64
	var choose func(i int)
	choose = func(i int) {
		if i == len(values) {
			combined = append(combined, capsOf(chosen))
			return
		}
		for _, value := range values[i] {
			chosen[i] = value
			choose(i + 1)
		}
	}
	choose(0)
	return combined, nil
}

// steps are the points of a zip: the first values of all sweeps, then the second.
func (l Load) steps() ([]caps, Conflicts) {
	values, names := l.sweeps()
	count := 1
	var lengths []string
	for i, v := range values {
		count = max(count, len(v))
		if len(v) > 1 {
			lengths = append(lengths, fmt.Sprintf("%s %d", names[i], len(v)))
		}
	}
	at := func(i, step int) (float64, bool) {
		if len(values[i]) == 1 {
			return values[i][0], true
		}
		return values[i][min(step, len(values[i])-1)], len(values[i]) == count
	}
	var stepped []caps
	for step := range count {
		var c [7]float64
		for i := range c {
			value, fits := at(i, step)
			if !fits {
				return nil, Conflicts{{"zip", "steps sweeps together, so each has one value or as many as the others; here " + words(lengths, "and")}}
			}
			c[i] = value
		}
		stepped = append(stepped, capsOf(c))
	}
	return stepped, nil
}

// clip lowers the request and prefill caps to the chain.
func (l Load) clip(c caps) caps {
	if !l.Oversubscribe {
		c.request = lower(c.request, c.session)
		c.warmup = lower(c.warmup, c.session)
		c.agentic = lower(c.agentic, c.session)
	}
	c.prefill = lower(lower(lower(c.prefill, c.bound()), c.warmup), c.agentic)
	return c
}

// bound is what prefill is held against: request, or where that is not set session.
func (c caps) bound() int64 {
	if c.request > 0 {
		return c.request
	}
	return c.session
}

// lower is value, or the bound where that is set and below it. A cap that is not set stays so.
func lower(value, bound int64) int64 {
	if bound > 0 && value > bound {
		return bound
	}
	return value
}

func pointLoad(c, asked caps) PointLoad {
	return PointLoad{
		Concurrency:                          set(c.session),
		RequestConcurrency:                   set(c.request),
		WarmupRequestConcurrency:             set(c.warmup),
		AgenticWarmupRequestConcurrency:      set(c.agentic),
		PrefillConcurrency:                   set(c.prefill),
		RequestRate:                          set(c.rate),
		ReplaySpeed:                          set(c.speed),
		AskedRequestConcurrency:              lowered(asked.request, c.request),
		AskedWarmupRequestConcurrency:        lowered(asked.warmup, c.warmup),
		AskedAgenticWarmupRequestConcurrency: lowered(asked.agentic, c.agentic),
		AskedPrefillConcurrency:              lowered(asked.prefill, c.prefill),
	}
}

func set[T int64 | float64](value T) *T {
	if value == 0 {
		return nil
	}
	return &value
}

func lowered(asked, effective int64) *int64 {
	if asked == effective {
		return nil
	}
	return &asked
}

// tooFew finds the points at which fewer requests are asked for than are kept in flight.
func (l Load) tooFew(points []PointLoad) Conflicts {
	if l.Requests == nil || len(l.RequestRate) > 0 || len(l.ReplaySpeed) > 0 {
		return nil
	}
	var slots []int64
	for _, p := range points {
		if p.Slots() > *l.Requests {
			slots = append(slots, p.Slots())
		}
	}
	if len(slots) == 0 {
		return nil
	}
	slots = slices.Compact(slices.Sorted(slices.Values(slots)))
	most := slots[len(slots)-1]
	listed := strings.Fields(strings.Trim(fmt.Sprint(slots), "[]"))
	return Conflicts{{"requests", fmt.Sprintf("is %d, fewer than the %s that points keep in flight: ask for %d or more, or leave it out",
		*l.Requests, words(listed, "and"), most)}}
}
