package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Over its repeats a point has the intervals of all its requests together, also where the first was measured by an execution that was killed, and
// they are found again in what is stored.
func TestRepeatsGiveOneInterval(t *testing.T) {
	spread := func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		for i := range o.Records {
			o.Records[i].FirstToken += clock.Instant(int64(i)*8e6 + job.Repeat*4e6) // a ladder of times, that of each repeat between those of the other
		}
		return o, nil
	}
	preset := chat()
	preset.Trials, preset.Load.Concurrency = preset.Trials[:1], []int64{1}
	w := newWorld()
	stopped := false
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if !stopped {
			stopped = true
			close(w.stop)
		}
		return spread(job, ended)
	}
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Interrupted)
	run.Close()
	w = newWorld()
	w.measure = spread
	carriedOn := resume(t, run.Dir())
	execute(t, plan, carriedOn, w.deps(), results.Completed)

	held := document(t, carriedOn.Run).Trials[0].Points[0].Limits[0]
	// 40 values from 125 ms on in steps of 4 ms: ranks 14 and 27.
	if lower, upper := held.Lower, held.Upper; lower == nil || upper == nil || !near(*lower, 0.125+13*0.004) || !near(*upper, 0.125+26*0.004) {
		t.Errorf("the interval is %v to %v", lower, upper)
	}
	if held.Clear == nil || !*held.Clear {
		t.Errorf("clear is %v", held.Clear)
	}
	if d, _, err := Read(carriedOn.Run, &results.Rule{Limits: schema.Limits{MaxTTFT: ptr(schema.Duration(200e6)), TTFTStat: "p50", MaxErrorRate: 0.01}, Select: plan.Rule.Select}); err != nil ||
		*d.Trials[0].Points[0].Limits[0].Clear || !d.Trials[0].Points[0].TooClose() {
		t.Errorf("with a limit of 200 ms it is clear, %v", err)
	}
	if one := document(t, carriedOn.Run).Trials[0].Points[0].Repeats[0].TTFTAll; !near(*one.P50Lower, 0.125+5*0.008) || !near(*one.P50Upper, 0.125+14*0.008) {
		t.Errorf("a repeat by itself has %v to %v", *one.P50Lower, *one.P50Upper)
	}
}

// A run that is carried on reads the requests of earlier repeats once, when it looks at what is whole: what is judged afterwards does not need their files.
func TestCarryingOnReadsRequestsOnce(t *testing.T) {
	preset := chat()
	preset.Trials, preset.Load.Concurrency = preset.Trials[:1], []int64{1}
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		close(w.stop)
		return driven(job, ended), nil
	}
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Interrupted)
	run.Close()
	carriedOn := resume(t, run.Dir())
	w = newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		stored, err := filepath.Glob(filepath.Join(run.Dir(), "requests", "*.parquet"))
		if err != nil || len(stored) != 1 || os.Remove(stored[0]) != nil {
			t.Errorf("the requests of the first repeat are in %v, %v", stored, err)
		}
		return driven(job, ended), nil
	}
	deps := w.deps()
	judged := 0
	deps.Observe = func(event Event) {
		if done, is := event.(TrialDone); is {
			judged++
			if held := done.Verdict.Points[0].Limits[0]; held.Lower == nil {
				t.Error("the repeats have no interval")
			}
		}
	}
	execute(t, plan, carriedOn, deps, results.Completed)
	if judged != 1 {
		t.Errorf("%d trials were judged", judged)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
