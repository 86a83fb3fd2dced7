package selector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// curve is what a made-up service gives at a load, at its nth measurement from 0.
type curve func(load, repeat int64) Probe

// drive carries a search out on a curve, and gives every step and how it ended. The loads tried are in probes.
func drive(t interface{ Fatalf(string, ...any) }, s schema.Search, repeats int64, of curve, probes map[int64]Probe) (steps []Step, end Searched) {
	for {
		step, searched := Next(s, repeats, probes)
		if step.Load == 0 {
			return steps, searched
		}
		steps = append(steps, step)
		p := of(step.Load, step.Repeat)
		p.Repeats = max(step.Repeat+1, probes[step.Load].Repeats)
		p.Made = probes[step.Load].Made + 1
		probes[step.Load] = p
		if len(steps) > 10_000 {
			t.Fatalf("the search does not end: %+v", step)
		}
	}
}

func loads(steps []Step) []int64 {
	var all []int64
	for _, s := range steps {
		all = append(all, s.Load)
	}
	return all
}

// unimodal rises to its peak and falls after it, and breaks a limit above another load.
func unimodal(peak, limit float64) curve {
	return func(load, _ int64) Probe {
		x := float64(load)
		p := Probe{Eligible: true, Feasible: x <= limit, Throughput: x}
		if x > peak {
			p.Throughput = peak * peak / x
		}
		if !p.Feasible {
			p.Reasons = "above the limit"
		}
		return p
	}
}

func search(from, to int64) schema.Search {
	return schema.Search{Over: "concurrency", From: from, To: to, Tolerance: 0.1, MaxPoints: 1000, MaxRepeats: 4}
}

func TestTheStepsOfASearch(t *testing.T) {
	failing := func(at int64, of curve) curve {
		return func(load, repeat int64) Probe {
			if load == at {
				return Probe{Reasons: "failed"}
			}
			return of(load, repeat)
		}
	}
	lagging := func(upTo int64, of curve) curve {
		return func(load, repeat int64) Probe {
			if load <= upTo {
				return Probe{Reasons: "client lag", Lagging: true}
			}
			return of(load, repeat)
		}
	}
	for _, c := range []struct {
		name string
		s    schema.Search
		of   curve
		want []int64
		why  string
	}{
		{"a limit", search(1, 1024), unimodal(1e9, 100), []int64{1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 104, 88}, "nothing is left to try within 10 % of 96, the feasible load with the highest throughput"},
		{"a peak", search(1, 1024), unimodal(20, 1e9), []int64{1, 2, 4, 8, 16, 32, 64, 24, 20, 18, 22, 19}, "within 10 % of 20,"},
		{"a peak below a limit", search(4, 64), unimodal(16, 40), []int64{4, 8, 16, 32, 64, 48, 40, 44, 24, 12, 20, 14, 18, 15, 17}, "within 10 % of 16,"},
		{"nothing breaks", search(3, 20), unimodal(1e9, 1e9), []int64{3, 6, 12, 20, 19}, "within 10 % of 20,"},
		{"neither of the first", search(4, 64), unimodal(1e9, 1), []int64{4, 8}, "no load is feasible: neither 4 nor 8 is"},
		// One failed first probe ends another tool's search.
		{"the first fails", search(1, 8), failing(1, unimodal(1e9, 1e9)), []int64{1, 2, 4, 8, 7}, "within 10 % of 8,"},
		{"one in the middle fails", search(1, 16), failing(4, unimodal(1e9, 1e9)), []int64{1, 2, 4, 8, 16, 15}, "within 10 % of 16,"},
		{"a slow client", search(1, 16), lagging(4, unimodal(1e9, 8)), []int64{1, 2, 4, 8, 16, 12, 10, 9, 7}, "within 10 % of 8,"},
		{"a client that is always slow", search(1, 8), lagging(64, unimodal(1e9, 8)), []int64{1, 2, 4, 8}, "no load is feasible: none from 1 to 8 could be judged"},
		{"a failure below a breach", search(1, 64), failing(8, unimodal(1e9, 13)), []int64{1, 2, 4, 8, 16, 10, 13, 14, 12}, "within 10 % of 13,"},
	} {
		steps, end := drive(t, c.s, 1, c.of, map[int64]Probe{})
		if diff := cmp.Diff(c.want, loads(steps)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if !end.Ended || !strings.Contains(end.Why, c.why) {
			t.Errorf("%s: it ended %v: %s", c.name, end.Ended, end.Why)
		}
	}
}

// A load that is too close to call is measured again until it is clear or was measured often enough, and one that could not be judged once more.
func TestLoadsAreMeasuredAgain(t *testing.T) {
	s := search(1, 4)
	s.Tolerance = 1
	again := int64(0)
	of := func(load, repeat int64) Probe {
		p := Probe{Eligible: true, Feasible: true, Throughput: float64(load)}
		if load == 2 && repeat < 2 || load == 4 {
			p.Close = "ttft p50"
		}
		return p
	}
	steps, _ := drive(t, s, 1, of, map[int64]Probe{})
	if diff := cmp.Diff([]int64{1, 2, 2, 2, 4, 4, 4, 4}, loads(steps)); diff != "" {
		t.Error(diff)
	}
	if steps, _ = drive(t, s, 5, of, map[int64]Probe{}); len(steps) != 15 {
		t.Errorf("with 5 repeats there are %d measurements, want 5 of each load", len(steps))
	}
	step, _ := Next(s, 1, map[int64]Probe{1: {Repeats: 1, Again: &again, Reasons: "failed"}})
	if step.Load != 1 || step.Repeat != 0 || step.Why != "once more, it could not be judged: failed" {
		t.Errorf("after a failure comes %+v", step)
	}
}

// randomCurve may rise and fall as it likes, fail, and be too close to call.
func randomCurve(seed uint64) curve {
	return func(load, repeat int64) Probe {
		random := rand.New(rand.NewPCG(seed, uint64(load)))
		p := Probe{Eligible: random.IntN(8) > 0, Throughput: random.Float64()}
		p.Feasible, p.Lagging = p.Eligible && random.IntN(3) > 0, !p.Eligible && random.IntN(2) > 0
		if p.Eligible && int64(random.IntN(6)) > repeat {
			p.Close = "close"
		}
		return p
	}
}

func drawSearch(t *rapid.T) schema.Search {
	from := rapid.Int64Range(1, 300).Draw(t, "from")
	return schema.Search{Over: "concurrency", From: from, To: from + rapid.Int64Range(1, 3000).Draw(t, "span"), Tolerance: rapid.Float64Range(0.001, 1).Draw(t, "tolerance"),
		MaxPoints: rapid.Int64Range(2, 40).Draw(t, "max_points"), MaxRepeats: rapid.Int64Range(1, 6).Draw(t, "max_repeats")}
}

// Whatever the service does, no load is out of bounds, and there are not more than were allowed. https://github.com/gpustack/gpustack/issues/6225: a search
// went past its upper bound.
func TestASearchStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, repeats := drawSearch(t), rapid.Int64Range(1, 3).Draw(t, "repeats")
		probes := map[int64]Probe{}
		steps, end := drive(t, s, repeats, randomCurve(rapid.Uint64().Draw(t, "seed")), probes)
		for _, step := range steps {
			if step.Load < s.From || step.Load > s.To || step.Repeat >= max(repeats, s.MaxRepeats) {
				t.Fatalf("step %+v of %+v", step, s)
			}
		}
		if int64(len(probes)) > s.MaxPoints || end.Points != int64(len(probes)) || end.Measurements != int64(len(steps)) || !end.Ended || end.Why == "" {
			t.Fatalf("%d loads in %d measurements: %+v", len(probes), len(steps), end)
		}
		if end.Breaks != nil && (*end.Holds >= *end.Breaks || !probes[*end.Holds].Feasible || probes[*end.Breaks].Feasible) {
			t.Fatalf("what is feasible ends between %d and %d", *end.Holds, *end.Breaks)
		}
	})
}

// A search that is carried on from any of its steps makes the same decisions.
func TestASearchGoesOnAsItWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, of := drawSearch(t), randomCurve(rapid.Uint64().Draw(t, "seed"))
		whole := map[int64]Probe{}
		steps, end := drive(t, s, 1, of, whole)
		cut := rapid.IntRange(0, len(steps)).Draw(t, "cut")
		probes := map[int64]Probe{}
		for _, step := range steps[:cut] {
			p := of(step.Load, step.Repeat)
			p.Repeats, p.Made = step.Repeat+1, probes[step.Load].Made+1
			probes[step.Load] = p
		}
		rest, again := drive(t, s, 1, of, probes)
		if diff := cmp.Diff(steps[cut:], rest); diff != "" && len(steps[cut:])+len(rest) > 0 {
			t.Fatalf("from step %d on: %s", cut, diff)
		}
		if diff := cmp.Diff(end, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Where throughput has one peak and limits hold up to some load, the feasible load with the highest throughput is found to within the tolerance.
func TestASearchFindsTheBestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSearch(t)
		s.MaxPoints = 1000
		peak := rapid.Float64Range(float64(s.From)/2, 2*float64(s.To)).Draw(t, "peak")
		limit := rapid.Float64Range(float64(s.From), 2*float64(s.To)).Draw(t, "limit")
		of := unimodal(peak, limit)
		probes := map[int64]Probe{}
		drive(t, s, 1, of, probes)
		var found, best int64
		for load, p := range probes {
			if p.Feasible && (found == 0 || p.Throughput > probes[found].Throughput || p.Throughput == probes[found].Throughput && load < found) {
				found = load
			}
		}
		for load := s.From; load <= s.To; load++ {
			if p := of(load, 0); p.Feasible && (best == 0 || p.Throughput > of(best, 0).Throughput) {
				best = load
			}
		}
		if apart := math.Abs(float64(found - best)); apart > 1 && apart > s.Tolerance*float64(max(found, best)) {
			t.Fatalf("found %d, the best is %d (%+v, tried %v)", found, best, s, slices.Sorted(func(yield func(int64) bool) {
				for load := range probes {
					if !yield(load) {
						return
					}
				}
			}))
		}
	})
}

// Of judged points, one that failed is tried once more, and one whose interval spans the limit is measured again.
func TestJudgedPointsOfASearch(t *testing.T) {
	s := search(1, 64)
	within := func(lower, upper float64) func(p *measure.Point) {
		return func(p *measure.Point) { p.TTFTAll.P50Lower, p.TTFTAll.P50Upper = &lower, &upper }
	}
	failed := with(row(1, 100, 0.1), func(p *measure.Point) { p.Status, p.Reason = measure.PointFailed, ref("no connection") })
	for _, c := range []struct {
		name   string
		points []Candidate
		want   string
	}{
		{"nothing", nil, "1/0 the lowest load"},
		{"clear", []Candidate{point(with(row(1, 100, 0.1), within(0.09, 0.12)))}, "2/0 doubled from 1, which is feasible"},
		{"close", []Candidate{point(with(row(1, 100, 0.29), within(0.28, 0.31)))}, "1/1 again, too close to call: ttft p50 290ms is within 280ms to 310ms at 95 % (limit 300ms)"},
		{"close above", []Candidate{point(with(row(1, 100, 0.31), within(0.28, 0.33)))}, "1/1 again, too close to call: ttft p50 310ms is within 280ms to 330ms at 95 % (limit 300ms)"},
		{"open above", []Candidate{point(with(row(1, 100, 0.1), func(p *measure.Point) { p.TTFTAll.P50Lower = ref(0.09) }))}, "1/1 again, too few requests to be sure: ttft p50 100ms is 90ms or more at 95 % (limit 300ms)"},
		{"no interval", []Candidate{point(row(1, 100, 0.29))}, "2/0 doubled from 1, which is feasible"},
		{"failed", []Candidate{point(failed)}, "1/0 once more, it could not be judged: failed: no connection"},
		{"a slow client", []Candidate{point(with(row(1, 100, 0.1), func(p *measure.Point) { p.LagP99, p.Attempt = ref(0.1), 1 })),
			point(with(row(2, 100, 0.1), func(p *measure.Point) { p.LagP99, p.Attempt = ref(0.1), 1 }))}, "4/0 doubled from 2, which could not be judged"},
		{"failed twice", []Candidate{point(with(failed, func(p *measure.Point) { p.Attempt = 1 }))}, "2/0 doubled from 1, which could not be judged"},
	} {
		step, searched := NextOf(s, 1, Judge(Series{Points: c.points}, rule(300*time.Millisecond)))
		if got := fmt.Sprintf("%d/%d %s", step.Load, step.Repeat, step.Why); got != c.want || searched.Ended {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestASearchInWords(t *testing.T) {
	s := search(1, 8)
	v := Judge(ladder([]float64{100, 200, 380, 390}, []float64{0.1, 0.1, 0.2, 0.4}), rule(300*time.Millisecond))
	_, searched := NextOf(s, 1, v)
	v.Search = &searched
	mustContain(t, v.Text(), "The search tried 4 loads in 4 measurements and has not ended: next is concurrency 6: halfway between 4, which is feasible, and 8, which is not.")
	v.Search = &Searched{Points: 1, Why: "concurrency 1: once more, it could not be judged: is the service running?"}
	mustContain(t, v.Text(), "it could not be judged: is the service running? Rule: ")
	v.Search = &searched
	s.MaxPoints = 4
	_, searched = NextOf(s, 1, v)
	mustContain(t, v.Text(), "The search tried 4 loads in 4 measurements from 1 to 8 and ended: all 4 points of max_points were tried: concurrency 6 would come next, halfway between",
		"What is feasible ends between 4 and 8 (ttft p50 400ms is above the limit of 300ms).")
	v = Judge(ladder([]float64{100, 200}, []float64{0.1, 0.1}), rule(300*time.Millisecond))
	_, searched = NextOf(search(1, 2), 1, v)
	v.Search = &searched
	mustContain(t, v.Text(), "It is the upper bound of the search: raise load.search.to", "ended: nothing is left to try within 10 % of 2, the feasible load with the highest throughput.")
}
