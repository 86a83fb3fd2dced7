package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var sweepFields = []string{"concurrency", "request_concurrency", "warmup_request_concurrency", "agentic_warmup_request_concurrency", "prefill_concurrency"}

// sweeps puts lists of numbers in the place of the sweeps of n, the load. One that cannot be read is reported and becomes faulty.
func (v *validator) sweeps(n *node) {
	if n == nil {
		return
	}
	zip := n.get("zip") != nil && n.get("zip").literal == "true"
	for _, name := range sweepFields {
		sweep(v, n.get(name), zip, parseCap)
	}
	sweep(v, n.get("request_rate"), zip, parseRate)
	sweep(v, n.get("replay_speed"), zip, parseRate)
}

func sweep[T quantity](v *validator, swept *node, zip bool, parse func(string) (T, error)) {
	if swept == nil || swept.kind != number && swept.kind != text && swept.kind != list {
		return
	}
	values, at, err := sweepOf(swept, parse)
	if err == nil && zip && !slices.IsSorted(values) {
		err = errors.New("is not in ascending order: with zip, values are paired in ascending order, so write them in it")
	}
	if err == nil {
		values, err = normalize(values)
	}
	if err != nil {
		v.problems = append(v.problems, at.problem(err.Error()))
		swept.kind = faulty
		return
	}
	swept.kind, swept.items = list, nil
	for _, value := range values {
		swept.items = append(swept.items, &node{kind: number, literal: strconv.FormatFloat(float64(value), 'f', -1, 64), place: swept.place})
	}
}

// sweepOf are the values of a sweep as written; with an error, at is its place.
func sweepOf[T quantity](n *node, parse func(string) (T, error)) (values []T, at place, err error) {
	switch n.kind {
	case number:
		values, err = parseItem(n.literal, parse)
		return values, n.place, err
	case text:
		values, err = parseSweep(n.literal, parse)
		return values, n.place, err
	}
	for _, item := range n.items {
		if item.kind != number {
			return nil, item.place, errors.New(`must be a number: a list holds numbers alone; ranges are written as text, "1,4..16"`)
		}
		value, err := parse(item.literal)
		if err != nil {
			return nil, item.place, err
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil, n.place, errors.New(`is empty: write a number, several ([2, 4, 8]) or a doubling range ("2..8")`)
	}
	return values, n.place, nil
}

// load checks what the load asks for together with the limits and the trials.
func (v *validator) load(root *node, common *settings, trials []Trial) {
	if common.load == nil {
		return
	}
	load := *common.load
	blame := func(name, format string, args ...any) {
		v.problems = append(v.problems, loadPlace(root, name).problem(fmt.Sprintf(format, args...)))
	}
	points, err := load.Points()
	var conflicts Conflicts
	if errors.As(err, &conflicts) {
		for _, c := range conflicts {
			blame(c.Field, "%s", c.Message)
		}
	}
	if load.Search != nil {
		if all := load.Search.MaxPoints * int64(len(trials)); all > maxPoints {
			blame("search.max_points", "makes up to %d points of %d trials: a preset has at most 100,000", all, len(trials))
		}
	}
	if all := len(points) * len(trials); all > maxPoints {
		blame("concurrency", "makes %d points of %d trials: a preset has at most 100,000", all, len(trials))
	}
	if i := slices.IndexFunc(trials, func(t Trial) bool { return !t.Spec.Workload.Forks() }); load.Oversubscribe && i >= 0 {
		blame("oversubscribe", "is for session trees that fork, which alone have more requests in flight than trees; "+
			"the workload %s does not fork: leave it out", trials[i].Spec.Workload.Name())
	}
	if i := slices.IndexFunc(trials, func(t Trial) bool { return !v.timed(t) }); len(load.ReplaySpeed) > 0 && i >= 0 {
		blame("replay_speed", "is for a trace that says when each of its requests began; the workload %s does not: leave it out", trials[i].Spec.Workload.described())
	}
	if load.Arrivals == "gamma" && load.Burstiness == nil {
		blame("arrivals", "needs burstiness with gamma: the shape of its gaps, below 1 for bursts")
	}
	v.warmup(load, trials, blame)
	if common.limits != nil && load.Requests != nil {
		for _, limit := range common.limits.set() {
			if need := MinSamples(limit.stat); *load.Requests < need {
				blame("requests", "is %d, too few to know the %s that %s is held against: ask for %d or more", *load.Requests, limit.stat, limit.name, need)
			}
		}
	}
}

// warmup holds that the caps of warmup have one to hold, and that agentic replay has the lanes that it starts.
func (v *validator) warmup(load Load, trials []Trial, blame func(name, format string, args ...any)) {
	replays := func(t Trial) bool { return t.Spec.Workload.Agentic().On() }
	burst := slices.ContainsFunc(trials, replays) && load.AgenticWarmupRequestConcurrency == nil
	if load.WarmupRequests != nil && *load.WarmupRequests == 0 && load.RampUp == nil && load.WarmupRequestConcurrency != nil && !burst {
		blame("warmup_request_concurrency", "has no effect without warmup: warmup_requests is 0")
	}
	if i := slices.IndexFunc(trials, replays); i >= 0 && load.RequestRate != nil {
		blame("request_rate", "starts sessions by the clock, where agentic replay has each lane start inside its session: "+
			"leave out this or workload.%s.agentic", trials[i].Spec.Workload.Name())
	}
	i := slices.IndexFunc(trials, func(t Trial) bool { return !replays(t) })
	if i < 0 || load.AgenticWarmupRequestConcurrency == nil {
		return
	}
	name, trial := trials[i].Spec.Workload.Name(), ""
	if len(trials) > 1 {
		trial = " (in trial " + trials[i].Name + ")"
	}
	if trials[i].Spec.Workload.agentic() == nil {
		blame("agentic_warmup_request_concurrency", "belongs to agentic replay of session trees, and the workload %s has none: "+
			"set warmup_request_concurrency instead%s", name, trial)
		return
	}
	blame("agentic_warmup_request_concurrency", "has no effect without agentic replay: set workload.%s.agentic too, or leave this out%s", name, trial)
}

// timed reports whether the workload of a trial can be replayed at its own times. A file that nobody looked at is believed to have them.
func (v *validator) timed(t Trial) bool {
	w := t.Spec.Workload.Trace
	return w != nil && w.Format != "batch" && (v.extent == nil || t.Extent.Timed)
}

// loadPlace is where a field of the load stands, or would. The name may be a dotted path.
func loadPlace(root *node, name string) place {
	at, n := root.place, root
	for name := range strings.SplitSeq("load."+name, ".") {
		at = at.below(name)
		if i := n.index(name); i >= 0 {
			at, n = n.fields[i].key, n.fields[i].value
		} else {
			n = nil
		}
	}
	return at
}

// limit is one that is declared.
type limit struct{ name, stat string }

// set are the limits on times that are declared.
func (l Limits) set() []limit {
	var declared []limit
	if l.MaxTTFT != nil {
		declared = append(declared, limit{"max_ttft", l.TTFTStat})
	}
	if l.MaxTPOT != nil {
		declared = append(declared, limit{"max_tpot", l.TPOTStat})
	}
	if l.MaxTotalTime != nil {
		declared = append(declared, limit{"max_total_time", l.TotalTimeStat})
	}
	return declared
}
