package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// short writes points as session/request/warmup/prefill, with what was asked behind an arrow.
func short(points []PointLoad) string {
	lines := make([]string, len(points))
	write := func(effective, asked *int64) string {
		switch {
		case effective == nil:
			return "-"
		case asked != nil:
			return fmt.Sprintf("%d<%d", *effective, *asked)
		}
		return fmt.Sprint(*effective)
	}
	for i, p := range points {
		lines[i] = strings.Join([]string{write(p.Concurrency, nil), write(p.RequestConcurrency, p.AskedRequestConcurrency),
			write(p.WarmupRequestConcurrency, p.AskedWarmupRequestConcurrency), write(p.PrefillConcurrency, p.AskedPrefillConcurrency)}, "/")
		if burst := p.AgenticWarmupRequestConcurrency; burst != nil {
			lines[i] += " (burst " + write(burst, p.AskedAgenticWarmupRequestConcurrency) + ")"
		}
	}
	return strings.Join(lines, " ")
}

func TestPoints(t *testing.T) {
	for _, test := range []struct {
		name string
		load Load
		want string
	}{
		{"default ladder", Load{}, "1/-/-/- 2/-/-/- 4/-/-/- 8/-/-/- 16/-/-/-"},
		{"default ladder with a prefill cap", Load{PrefillConcurrency: []int64{1}}, "1/-/-/1 2/-/-/1 4/-/-/1 8/-/-/1 16/-/-/1"},
		{"only a request cap", Load{RequestConcurrency: []int64{4, 8}}, "-/4/-/- -/8/-/-"},
		{"grid", Load{Concurrency: []int64{4, 8}, RequestConcurrency: []int64{2, 4}}, "4/2/-/- 4/4/-/- 8/2/-/- 8/4/-/-"},
		{"zip", Load{Zip: true, Concurrency: []int64{4, 8}, RequestConcurrency: []int64{2, 4}, PrefillConcurrency: []int64{1}}, "4/2/-/1 8/4/-/1"},
		{"clip lowers and merges", Load{Clip: true, Concurrency: []int64{1, 4}, RequestConcurrency: []int64{2, 4}, PrefillConcurrency: []int64{2}},
			"1/1<2/-/1<2 4/2/-/2 4/4/-/2"},
		{"clip of the warmup cap", Load{Clip: true, Concurrency: []int64{2, 8}, WarmupRequestConcurrency: []int64{4}}, "2/-/2<4/- 8/-/4/-"},
		{"clip of prefill to the warmup cap", Load{Clip: true, Concurrency: []int64{8}, WarmupRequestConcurrency: []int64{2}, PrefillConcurrency: []int64{4}},
			"8/-/2/2<4"},
		{"clip of prefill to the cap of the agentic burst",
			Load{Clip: true, Concurrency: []int64{8}, AgenticWarmupRequestConcurrency: []int64{2}, PrefillConcurrency: []int64{4}}, "8/-/-/2<4 (burst 2)"},
		{"clip of the cap of the agentic burst, swept", Load{Clip: true, Concurrency: []int64{2, 8}, AgenticWarmupRequestConcurrency: []int64{1, 4}},
			"2/-/-/- (burst 1) 2/-/-/- (burst 2<4) 8/-/-/- (burst 1) 8/-/-/- (burst 4)"},
		{"merged points keep what was asked as it is", Load{Clip: true, Concurrency: []int64{2}, RequestConcurrency: []int64{2, 4}}, "2/2/-/-"},
		{"forks may exceed trees", Load{Oversubscribe: true, Concurrency: []int64{2}, RequestConcurrency: []int64{8}, PrefillConcurrency: []int64{4}}, "2/8/-/4"},
		{"clip with forks", Load{Oversubscribe: true, Clip: true, Concurrency: []int64{2}, RequestConcurrency: []int64{8}, PrefillConcurrency: []int64{16}},
			"2/8/-/8<16"},
	} {
		got, err := test.load.Points()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, short(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPointConflicts(t *testing.T) {
	few := int64(3)
	for _, test := range []struct {
		name string
		load Load
		want Conflicts
	}{
		{"request above session", Load{Concurrency: []int64{1, 4}, RequestConcurrency: []int64{2}},
			Conflicts{{"request_concurrency", "exceeds concurrency (2 > 1): lower it, or set clip: true to have it lowered at these points"}}},
		{"prefill above request, each pair once", Load{Concurrency: []int64{8, 16}, RequestConcurrency: []int64{2, 8}, PrefillConcurrency: []int64{4}},
			Conflicts{{"prefill_concurrency", "exceeds request_concurrency (4 > 2): lower it, or set clip: true to have it lowered at these points"}}},
		{"several at once", Load{Concurrency: []int64{2}, RequestConcurrency: []int64{4}, WarmupRequestConcurrency: []int64{3}, PrefillConcurrency: []int64{8}},
			Conflicts{
				{"request_concurrency", "exceeds concurrency (4 > 2): lower it, or set clip: true to have it lowered at these points"},
				{"warmup_request_concurrency", "exceeds concurrency (3 > 2): lower it, or set clip: true to have it lowered at these points"},
				{"prefill_concurrency", "exceeds request_concurrency (8 > 4): lower it, or set clip: true to have it lowered at these points"},
				{"prefill_concurrency", "exceeds warmup_request_concurrency (8 > 3): lower it, or set clip: true to have it lowered at these points"},
			}},
		{"the cap of the agentic burst", Load{Concurrency: []int64{2, 8}, AgenticWarmupRequestConcurrency: []int64{4}, PrefillConcurrency: []int64{8}},
			Conflicts{
				{"agentic_warmup_request_concurrency", "exceeds concurrency (4 > 2): lower it, or set clip: true to have it lowered at these points"},
				{"prefill_concurrency", "exceeds concurrency (8 > 2): lower it, or set clip: true to have it lowered at these points"},
				{"prefill_concurrency", "exceeds agentic_warmup_request_concurrency (8 > 4): lower it, or set clip: true to have it lowered at these points"},
			}},
		{"fewer requests than slots", Load{Concurrency: []int64{2, 4, 8}, Requests: &few},
			Conflicts{{"requests", "is 3, fewer than the 4 and 8 that points keep in flight: ask for 8 or more, or leave it out"}}},
		{"the smaller cap is what is in flight", Load{Concurrency: []int64{8}, RequestConcurrency: []int64{4}, Requests: &few},
			Conflicts{{"requests", "is 3, fewer than the 4 that points keep in flight: ask for 4 or more, or leave it out"}}},
		{"lengths of a zip", Load{Zip: true, Concurrency: []int64{1, 2, 3}, PrefillConcurrency: []int64{1, 2}},
			Conflicts{{"zip", "steps sweeps together, so each has one value or as many as the others; here concurrency 3 and prefill_concurrency 2"}}},
	} {
		_, err := test.load.Points()
		var got Conflicts
		errors.As(err, &got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func drawSweep(t *rapid.T, name string) []int64 {
	values := rapid.SliceOfNDistinct(rapid.Int64Range(1, 12), 0, 4, rapid.ID[int64]).Draw(t, name)
	return slices.Sorted(slices.Values(values))
}

func drawLoad(t *rapid.T) Load {
	return Load{
		Concurrency:                     drawSweep(t, "concurrency"),
		RequestConcurrency:              drawSweep(t, "request"),
		WarmupRequestConcurrency:        drawSweep(t, "warmup"),
		AgenticWarmupRequestConcurrency: drawSweep(t, "agentic warmup"),
		PrefillConcurrency:              drawSweep(t, "prefill"),
		Clip:                            rapid.Bool().Draw(t, "clip"),
		Oversubscribe:                   rapid.Bool().Draw(t, "oversubscribe"),
		Zip:                             rapid.IntRange(0, 3).Draw(t, "zip") == 0,
	}
}

// holds is the chain, written down a second time.
func holds(p PointLoad, oversubscribe bool) bool {
	within := func(value, bound *int64) bool { return value == nil || bound == nil || *value <= *bound }
	good := within(p.PrefillConcurrency, p.WarmupRequestConcurrency) && within(p.PrefillConcurrency, p.AgenticWarmupRequestConcurrency) &&
		within(p.PrefillConcurrency, p.RequestConcurrency)
	if p.RequestConcurrency == nil {
		good = good && within(p.PrefillConcurrency, p.Concurrency)
	}
	return good && (oversubscribe || within(p.RequestConcurrency, p.Concurrency) && within(p.WarmupRequestConcurrency, p.Concurrency) &&
		within(p.AgenticWarmupRequestConcurrency, p.Concurrency))
}

// TestPointsKeepTheChain holds, for any load, that its points keep the chain, are all different and in order, and that a load is refused only where a
// combination breaks the chain.
func TestPointsKeepTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := drawLoad(t)
		points, err := load.Points()
		loose := load
		loose.Clip = false
		asked, conflicts := loose.withDefaults().combinations()
		broken := slices.ContainsFunc(asked, func(c caps) bool { return !holds(pointLoad(c, c), load.Oversubscribe) })
		if want := conflicts != nil || broken && !load.Clip; want != (err != nil) {
			t.Fatalf("Points gives %v", err)
		}
		for i, p := range points {
			if !holds(p, load.Oversubscribe) {
				t.Fatalf("%s breaks the chain", short([]PointLoad{p}))
			}
			for _, q := range points[:i] {
				p, q := p, q
				p.AskedRequestConcurrency, p.AskedWarmupRequestConcurrency, p.AskedAgenticWarmupRequestConcurrency, p.AskedPrefillConcurrency = nil, nil, nil, nil
				q.AskedRequestConcurrency, q.AskedWarmupRequestConcurrency, q.AskedAgenticWarmupRequestConcurrency, q.AskedPrefillConcurrency = nil, nil, nil, nil
				if cmp.Equal(p, q) {
					t.Fatalf("%s is there twice", short([]PointLoad{p}))
				}
			}
			if p.Slots() < 1 || p.Lanes() < 1 {
				t.Fatalf("%s keeps nothing in flight", short([]PointLoad{p}))
			}
		}
		if !load.Clip && err == nil && len(points) != len(asked) {
			t.Fatalf("%d points of %d combinations", len(points), len(asked))
		}
	})
}

// TestClipChangesOnlyWhatItMust holds that a load without breaches has the same points with clip and without.
func TestClipChangesOnlyWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := drawLoad(t)
		load.Clip = false
		plain, err := load.Points()
		if err != nil {
			t.Skip("the load has breaches")
		}
		load.Clip = true
		clipped, err := load.Points()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, clipped); diff != "" {
			t.Fatal(diff)
		}
	})
}

// An open loop has no ladder of its own: what is not swept is not capped, and random arrivals are what is meant.
func TestPointsOfRates(t *testing.T) {
	rate := func(rate float64, request int64) PointLoad {
		return PointLoad{RequestRate: &rate, RequestConcurrency: set(request)}
	}
	for name, c := range map[string]struct {
		load Load
		want []PointLoad
	}{
		"alone":    {Load{RequestRate: []float64{0.5, 4}}, []PointLoad{rate(0.5, 0), rate(4, 0)}},
		"constant": {Load{RequestRate: []float64{0.5, 4}, Course: Course{Arrivals: "constant"}}, []PointLoad{rate(0.5, 0), rate(4, 0)}},
		"a grid": {Load{RequestRate: []float64{0.5, 4}, RequestConcurrency: []int64{2, 8}},
			[]PointLoad{rate(0.5, 2), rate(4, 2), rate(0.5, 8), rate(4, 8)}},
		"a zip": {Load{RequestRate: []float64{0.5, 4}, RequestConcurrency: []int64{2, 8}, Zip: true}, []PointLoad{rate(0.5, 2), rate(4, 8)}},
	} {
		got, err := c.load.Points()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := (Load{RequestRate: []float64{1}}).withDefaults().Arrivals; got != "poisson" {
		t.Errorf("arrivals are %q where nothing is said", got)
	}
	requests := int64(4)
	few := Load{RequestRate: []float64{1}, RequestConcurrency: []int64{64}, Requests: &requests}
	if _, err := few.Points(); err != nil {
		t.Errorf("a cap that is a limit asks for no least number of requests, but: %v", err)
	}
	above := Load{RequestRate: []float64{1}, RequestConcurrency: []int64{4}, PrefillConcurrency: []int64{8}}
	if _, err := above.Points(); err == nil {
		t.Error("a prefill cap above the request cap passes with a rate")
	}
}
