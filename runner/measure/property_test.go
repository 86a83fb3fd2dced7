package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// outcomes draws closed and open loops of every phase and status, with ties.
func outcomes() *rapid.Generator[Outcome] {
	return rapid.Custom(func(t *rapid.T) Outcome {
		var records []Record
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			start := rapid.Int64Range(1, 100).Draw(t, "start")
			chunks := []int64{start + rapid.Int64Range(1, 30).Draw(t, "ttft")}
			for range rapid.IntRange(0, 9).Draw(t, "more") {
				chunks = append(chunks, chunks[len(chunks)-1]+rapid.Int64Range(0, 20).Draw(t, "gap"))
			}
			r := request(start, rapid.Int64Range(1, 20).Draw(t, "tokens"), chunks...)
			r.Phase = rapid.SampledFrom([]Phase{Warmup, Measured, Measured, Measured, Hold, Probe}).Draw(t, "phase")
			if s := rapid.SampledFrom(append(Statuses(), OK, OK, OK, OK, OK, OK)).Draw(t, "status"); s != OK {
				message := rapid.StringMatching(`[a-c]{1,2}`).Draw(t, "message")
				r.Status, r.Error = s, &message
			}
			if rapid.IntRange(0, 9).Draw(t, "uncounted") == 0 {
				r.OutputTokens = nil
			}
			records = append(records, r)
		}
		slices.SortStableFunc(records, func(a, b Record) int { return int(a.Dispatched - b.Dispatched) })
		o := Outcome{Records: numbered(records...), Started: at(0), Finished: at(1000), Target: rapid.Int64Range(0, 4).Draw(t, "target")}
		for _, r := range records {
			o.Sessions = append(o.Sessions, Span{r.Scheduled, r.Ended})
		}
		return o
	})
}

func TestSummaryHoldsTogether(t *testing.T) {
	limits := schema.Limits{MaxTTFT: ref(schema.Duration(20 * time.Millisecond)), MaxTotalTime: ref(schema.Duration(80 * time.Millisecond))}
	rapid.Check(t, func(t *rapid.T) {
		o := outcomes().Draw(t, "outcome")
		p := Summarize(o, schema.PointLoad{}, limits)
		if !p.Conserved() {
			t.Errorf("not conserved: %+v", p.Counts)
		}
		shuffled := o
		shuffled.Records, shuffled.Sessions = slices.Clone(o.Records), slices.Clone(o.Sessions)
		rand.Shuffle(len(shuffled.Records), func(i, j int) {
			shuffled.Records[i], shuffled.Records[j] = shuffled.Records[j], shuffled.Records[i]
			shuffled.Sessions[i], shuffled.Sessions[j] = shuffled.Sessions[j], shuffled.Sessions[i]
		})
		if diff := cmp.Diff(p, Summarize(shuffled, schema.PointLoad{}, limits)); diff != "" {
			t.Errorf("another order: %s", diff)
		}
		by := time.Duration(rapid.Int64Range(-1e12+1e9, 1e15).Draw(t, "shift"))
		if diff := cmp.Diff(shiftedPoint(p, by), Summarize(shifted(o, by), schema.PointLoad{}, limits)); diff != "" {
			t.Errorf("later by %v: %s", by, diff)
		}
		checkAgainstRecords(t, o, p)
	})
}

// checkAgainstRecords holds figures against what the records say, reckoned another way.
func checkAgainstRecords(t *rapid.T, o Outcome, p Point) {
	if p.Issued == 0 {
		return
	}
	from, to := clock.Instant(math.MaxInt64), clock.Instant(0)
	var gaps int
	var afterFirst float64
	for _, r := range o.Records {
		if r.Phase != Measured {
			continue
		}
		from, to = min(from, r.Dispatched), max(to, r.Ended)
		if r.Status == OK && len(r.Chunks) > 1 {
			gaps += len(r.Chunks) - 1
			afterFirst += r.LastToken.Sub(r.FirstToken).Seconds()
		}
	}
	// Gaps exclude the time to the first token: https://github.com/ray-project/llmperf/pull/99.
	if p.ICL.N != int64(gaps) || gaps > 0 && math.Abs(*p.ICL.Mean*float64(gaps)-afterFirst) > 1e-9 {
		t.Errorf("%d gaps of mean %v, want %d that sum to %v", p.ICL.N, p.ICL.Mean, gaps, afterFirst)
	}
	var busy float64
	for _, r := range o.Records {
		busy += max(0, min(to, r.Ended).Sub(max(from, r.Dispatched)).Seconds())
	}
	if math.Abs(*p.MeanRequests**p.Wall-busy) > 1e-9 {
		t.Errorf("mean in flight %v over %v s, but the requests lasted %v s", *p.MeanRequests, *p.Wall, busy)
	}
	if *p.MeanPrefills > *p.MeanRequests || *p.PeakPrefills > *p.PeakRequests {
		t.Errorf("more prefills than requests in flight: %+v", p.InFlight)
	}
	if *p.GoodputPerS > *p.RequestsPerS {
		t.Errorf("goodput %v above %v", *p.GoodputPerS, *p.RequestsPerS)
	}
	if (p.SteadyOutputTokPS == nil) == (p.SteadyReason == nil) {
		t.Errorf("steady throughput %v, reason %v", p.SteadyOutputTokPS, p.SteadyReason)
	}
}

func later(i clock.Instant, by time.Duration) clock.Instant {
	if !i.Happened() {
		return i
	}
	return i.Add(by)
}

func shifted(o Outcome, by time.Duration) Outcome {
	o.Records, o.Sessions = slices.Clone(o.Records), slices.Clone(o.Sessions)
	for i := range o.Records {
		r := &o.Records[i]
		for _, instant := range []*clock.Instant{&r.Scheduled, &r.Dispatched, &r.FirstToken, &r.FirstOutput, &r.LastToken, &r.Ended} {
			*instant = later(*instant, by)
		}
	}
	for i := range o.Sessions {
		o.Sessions[i] = Span{later(o.Sessions[i].Start, by), later(o.Sessions[i].End, by)}
	}
	o.Started, o.Finished = later(o.Started, by), later(o.Finished, by)
	return o
}

func shiftedPoint(p Point, by time.Duration) Point {
	p.Started, p.Finished = later(p.Started, by), later(p.Finished, by)
	p.SteadyStart, p.SteadyEnd = later(p.SteadyStart, by), later(p.SteadyEnd, by)
	return p
}
