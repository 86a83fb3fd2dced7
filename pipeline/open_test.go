package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func openLoop(p *schema.Preset) {
	p.Load.Concurrency, p.Load.RequestConcurrency = nil, nil
	p.Load.RequestRate = []float64{0.5, 20}
	p.Load.Arrivals = "poisson"
}

// An open loop keeps no slot full: what is measured are the least requests, or as many as the limits' statistics need.
func TestOpenLoopMeasuresWhatItsStatisticsNeed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schema.Preset)
		want   int64
	}{
		"the least":     {func(*schema.Preset) {}, 20},
		"with a cap":    {func(p *schema.Preset) { p.Load.RequestConcurrency = []int64{512} }, 20},
		"a p99 limit":   {func(p *schema.Preset) { p.Limits.TTFTStat = "p99" }, 100},
		"what is asked": {func(p *schema.Preset) { n := int64(7); p.Load.Requests = &n }, 7},
	} {
		preset := chat()
		openLoop(preset)
		preset.Load.MinRequests, preset.Limits.TTFTStat = 20, "p50"
		c.change(preset)
		points := planOf(t, preset).Trials[0].Points
		if len(points) != 2 || points[0].Requests == nil || *points[0].Requests != c.want {
			t.Errorf("%s: the points are %+v, want 2 with %d requests", name, points, c.want)
		}
		if diff := cmp.Diff([]int64{1, 20}, []int64{points[0].WarmupRequests, points[1].WarmupRequests}); diff != "" {
			t.Errorf("%s: warmup is not that of a second (-want +got):\n%s", name, diff)
		}
	}
}

func TestJobsOfAnOpenLoop(t *testing.T) {
	preset := chat()
	openLoop(preset)
	burstiness, ramp := 0.5, schema.Duration(5e9)
	preset.Load.Course = schema.Course{
		Arrivals: "gamma", Burstiness: &burstiness, RampUp: &ramp, Cancel: &schema.Cancel{Share: 0.1, After: schema.Duration(1e9)},
	}
	plan := planOf(t, preset)
	jobs := plan.Jobs(&plan.Trials[0])
	if diff := cmp.Diff(preset.Load.Course, jobs[0].Course); diff != "" {
		t.Errorf("(-preset +job):\n%s", diff)
	}
	if jobs[0].Load.RequestRate == nil || *jobs[0].Load.RequestRate != 0.5 || jobs[0].LoadKey() != "request_rate=0.5" {
		t.Errorf("the first job's load is %+v, its key %q", jobs[0].Load, jobs[0].LoadKey())
	}
}

// How the load comes and goes decides what is measured, so points that differ in it have different ids.
func TestIdsOfOpenLoops(t *testing.T) {
	burstiness, ramp := 0.5, schema.Duration(5e9)
	seen := map[string]string{}
	for name, change := range map[string]func(*schema.Preset){
		"closed":     func(p *schema.Preset) { p.Load.RequestRate, p.Load.Arrivals, p.Load.Concurrency = nil, "", []int64{4} },
		"open":       func(*schema.Preset) {},
		"rate":       func(p *schema.Preset) { p.Load.RequestRate = []float64{0.75} },
		"arrivals":   func(p *schema.Preset) { p.Load.Arrivals = "constant" },
		"burstiness": func(p *schema.Preset) { p.Load.Arrivals, p.Load.Burstiness = "gamma", &burstiness },
		"ramp":       func(p *schema.Preset) { p.Load.RampUp = &ramp },
		"cancel":     func(p *schema.Preset) { p.Load.Cancel = &schema.Cancel{Share: 0.1, After: ramp} },
	} {
		id := ids(t, func(p *schema.Preset) { openLoop(p); change(p) })[1]
		if other, same := seen[id]; same {
			t.Errorf("%s and %s have the same id", name, other)
		}
		seen[id] = name
	}
}
