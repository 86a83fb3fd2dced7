package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// searched is a preset of one trial that searches. What [driven] gives meets its limit up to a concurrency of 4.
func searched() *schema.Preset {
	preset := chat()
	preset.Trials = preset.Trials[:1]
	preset.Load.Concurrency, preset.Load.Repeats = nil, 1
	preset.Load.Search = &schema.Search{Over: "concurrency", From: 1, To: 64, Tolerance: 0.1, MaxPoints: 15, MaxRepeats: 3}
	return preset
}

// measurements are what a world was asked to measure, without the rest of its log.
func measurements(w *world) (all []string) {
	for _, line := range w.log {
		if rest, ok := strings.CutPrefix(line, "measure baseline "); ok {
			all = append(all, rest)
		}
	}
	return all
}

func first(concurrencies ...int) (all []string) {
	for _, c := range concurrencies {
		all = append(all, fmt.Sprintf("c=%d repeat 0 attempt 0", c))
	}
	return all
}

func TestASearchMeasuresWhatItChooses(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, searched())
	deps := w.deps()
	var why []string
	deps.Observe = func(e Event) {
		if started, ok := e.(PointStarted); ok {
			why = append(why, started.Why)
			if !started.AtMost || started.Total != 45 || started.Index != len(why)-1 {
				t.Errorf("%d of %d", started.Index, started.Total)
			}
		}
	}
	execute(t, plan, run, deps, results.Completed)
	if diff := cmp.Diff(first(1, 2, 4, 8, 6, 5, 3), measurements(w)); diff != "" {
		t.Error(diff)
	}
	want := []string{"the lowest load", "doubled from 1, which is feasible", "doubled from 2, which is feasible", "doubled from 4, which is feasible",
		"halfway between 4, which is feasible, and 8, which is not", "halfway between 4, which is feasible, and 6, which is not",
		"just below 4, to see whether throughput rises up to it"}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Error(diff)
	}
	d := document(t, run.Run)
	trial := d.Trials[0]
	if d.Exit(true) != ExitGood || trial.Status != "completed" || len(trial.Points) != 7 || *trial.Winner().Load.Concurrency != 4 {
		t.Errorf("exit %d, trial %s, %d points, winner %+v", d.Exit(true), trial.Status, len(trial.Points), trial.Winner())
	}
	if s := trial.Search; s == nil || !s.Ended || s.Points != 7 || s.Measurements != 7 || *s.Holds != 4 || *s.Breaks != 5 {
		t.Errorf("the search: %+v", s)
	}
	listed := chat()
	listed.Load.Concurrency = []int64{4}
	if id := planOf(t, listed).Trials[0].Points[0].ID; id != *trial.Selected {
		t.Errorf("the point is %s, that of a list %s", *trial.Selected, id)
	}
}

// However often a search is stopped, it makes the decisions that it would have made.
func TestASearchIsCarriedOn(t *testing.T) {
	for stops := 1; stops <= 6; stops++ {
		preset := searched()
		plan, run := newRun(t, preset)
		var all []string
		status := results.Interrupted
		for executions := 0; status == results.Interrupted; executions++ {
			w := newWorld()
			w.measure = stopping(w, stops)
			var err error
			if status, err = Execute(t.Context(), plan, run, w.deps()); err != nil {
				t.Fatal(err)
			}
			all = append(all, measurements(w)...)
			if d := document(t, run.Run); status == results.Interrupted && (d.Exit(false) != ExitInterrupted || d.Trials[0].Status != "incomplete" || d.Trials[0].Search.Ended) {
				t.Errorf("stopped after %d: exit %d, trial %s", stops, d.Exit(false), d.Trials[0].Status)
			}
			run.Close()
			run, plan = resume(t, run.Dir()), planOf(t, preset)
		}
		if diff := cmp.Diff(first(1, 2, 4, 8, 6, 5, 3), all); diff != "" || status != results.Completed {
			t.Errorf("stopped after every %d: %s %s", stops, status, diff)
		}
	}
}

// stopping stops the run after some measurements.
func stopping(w *world, after int) func(Job, func(*measure.Record)) (measure.Outcome, error) {
	n := 0
	return func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if n++; n == after {
			close(w.stop)
		}
		return driven(job, ended), nil
	}
}

// searchUntilKilled hangs in the fourth load of a search.
func searchUntilKilled(store string) {
	plan, err := NewPlan(searched())
	if err != nil {
		panic(err)
	}
	manifest, err := NewManifest(searched(), plan, results.Given{Filename: "chat.yaml"}, schema.RedactText)
	if err != nil {
		panic(err)
	}
	run, err := results.Create(store, manifest)
	if err != nil {
		panic(err)
	}
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if *job.Load.Concurrency == 8 {
			fmt.Println("reached")
			select {}
		}
		return driven(job, ended), nil
	}
	Execute(context.Background(), plan, run, w.deps())
}

func TestAKilledSearchIsCarriedOn(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	command := again(t, "search", store)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "reached\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	command.Process.Kill()
	io.Copy(io.Discard, out)
	command.Wait()
	killed, _, err := results.Find(store, "latest")
	if err != nil {
		t.Fatal(err)
	}
	if d := document(t, killed); d.Exit(false) != ExitFailed || d.Trials[0].Status != "incomplete" || len(d.Trials[0].Points) != 3 {
		t.Errorf("killed: exit %d, trial %s, %d points", d.Exit(false), d.Trials[0].Status, len(d.Trials[0].Points))
	}
	w := newWorld()
	run := resume(t, killed.Dir())
	execute(t, planOf(t, searched()), run, w.deps(), results.Completed)
	if diff := cmp.Diff(append([]string{"c=8 repeat 0 attempt 1"}, first(6, 5, 3)...), measurements(w)); diff != "" {
		t.Error(diff)
	}
	if d := document(t, run.Run); d.Exit(true) != ExitGood || *d.Trials[0].Winner().Load.Concurrency != 4 {
		t.Errorf("exit %d, winner %+v", d.Exit(true), d.Trials[0].Winner())
	}
}

// spanning gives a load times to first token around the limit, until a repeat is reached.
func spanning(load, until int64) func(Job, func(*measure.Record)) (measure.Outcome, error) {
	return func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		for i := range o.Records {
			if r := &o.Records[i]; *job.Load.Concurrency == load && job.Repeat < until && i%2 == 1 {
				r.FirstToken += clock.Instant(400e6)
			}
		}
		return o, nil
	}
}

// A load that is too close to call gets more requests, also across executions: its repeats are judged as one sample.
func TestALoadThatIsTooCloseIsMeasuredAgain(t *testing.T) {
	preset := searched()
	preset.Load.Search.To = 4
	plan, run := newRun(t, preset)
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if *job.Load.Concurrency == 2 {
			once(func() { close(w.stop) })()
		}
		return spanning(2, 1)(job, ended)
	}
	execute(t, plan, run, w.deps(), results.Interrupted)
	run.Close()
	w = newWorld()
	w.measure = spanning(2, 1)
	carriedOn := resume(t, run.Dir())
	execute(t, planOf(t, preset), carriedOn, w.deps(), results.Completed)
	// Half of 20 requests were above 500 ms, then none of 20: of 40 a quarter is.
	if diff := cmp.Diff([]string{"c=2 repeat 1 attempt 0", "c=4 repeat 0 attempt 0", "c=3 repeat 0 attempt 0"}, measurements(w)); diff != "" {
		t.Error(diff)
	}
	trial := document(t, carriedOn.Run).Trials[0]
	if s := trial.Search; !s.Ended || s.Measurements != 5 || s.Points != 4 || trial.Points[1].TooClose() || len(trial.Points[1].Repeats) != 2 || trial.Points[1].Missing != 0 {
		t.Errorf("the search: %+v", s)
	}

	w = newWorld()
	w.measure = spanning(4, 100)
	plan, run = newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Completed)
	if got := slices.DeleteFunc(measurements(w), func(m string) bool { return !strings.HasPrefix(m, "c=4") }); len(got) != 3 {
		t.Errorf("a load that never gets clear is measured: %v", got)
	}
	trial = document(t, run.Run).Trials[0]
	if text := trial.Text(); !strings.Contains(text, "Too close to call: concurrency 4, whose ttft p50 700ms is within 500ms to 900ms at 95 % (limit 500ms).") {
		t.Errorf("the verdict: %s", text)
	}
}

// One measurement that fails is made once more in its place.
func TestALoadThatFailsIsTriedOnceMore(t *testing.T) {
	for fails, want := range map[int][]string{
		1: append([]string{"c=1 repeat 0 attempt 0", "c=1 repeat 0 attempt 1"}, first(2, 4, 8, 6, 5, 3)...),
		9: append([]string{"c=1 repeat 0 attempt 0", "c=1 repeat 0 attempt 1"}, first(2, 4, 8, 6, 5, 3)...),
	} {
		w, n := newWorld(), 0
		w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
			if n++; *job.Load.Concurrency == 1 && n <= fails {
				return measure.Outcome{}, errors.New("no route to host")
			}
			return driven(job, ended), nil
		}
		plan, run := newRun(t, searched())
		status := results.Completed
		if fails > 1 {
			status = results.Failed
		}
		execute(t, plan, run, w.deps(), status)
		if diff := cmp.Diff(want, measurements(w)); diff != "" {
			t.Errorf("%d failures: %s", fails, diff)
		}
		if winner := document(t, run.Run).Trials[0].Winner(); winner == nil || *winner.Load.Concurrency != 4 {
			t.Errorf("%d failures: the winner is %+v", fails, winner)
		}
	}
}

// A service that does not start is one failed point, and the search begins again when the run is carried on.
func TestASearchWithoutAService(t *testing.T) {
	w := newWorld()
	w.start = func(schema.Service) error { return errors.New("connection refused") }
	plan, run := newRun(t, searched())
	execute(t, plan, run, w.deps(), results.Failed)
	if d := document(t, run.Run); d.Exit(false) != ExitFailed || len(d.Trials[0].Points) != 1 || !strings.Contains(d.Trials[0].Points[0].Reasons[0], "connection refused") {
		t.Errorf("exit %d, points %+v", d.Exit(false), d.Trials[0].Points)
	}
	run.Close()
	w = newWorld()
	carriedOn := resume(t, run.Dir())
	execute(t, planOf(t, searched()), carriedOn, w.deps(), results.Completed)
	if got := measurements(w); len(got) != 7 || got[0] != "c=1 repeat 0 attempt 1" {
		t.Errorf("measured %v", got)
	}
}

// The winner of a search is measured again at all points that the search tried.
func TestASearchIsVerified(t *testing.T) {
	preset := searched()
	preset.Verify = true
	preset.Select.Tolerance.Verify = 0.1
	w := newWorld()
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Completed)
	got := measurements(w)
	if len(got) != 14 || got[7] != "c=1 repeat 3 attempt 0" {
		t.Errorf("measured %v", got)
	}
	if trial := document(t, run.Run).Trials[0]; trial.Verification == nil || !*trial.Verification.Reproduced || trial.Search.Points != 7 {
		t.Errorf("verification %+v", trial.Verification)
	}
}

func TestASearchIsCarriedOnWithItsOwnPreset(t *testing.T) {
	_, run := newRun(t, searched())
	begun, err := PlanOf(run.Run)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*schema.Preset){
		"": func(*schema.Preset) {},
		"load.search is not the one that it was begun with":                   func(p *schema.Preset) { p.Load.Search.To = 32 },
		"the points of its trial baseline have another load":                  func(p *schema.Preset) { p.Load.Seed = 9 },
		"only one of its trial baseline and the preset's searches; a changed": func(p *schema.Preset) { p.Load.Search, p.Load.Concurrency = nil, []int64{1} },
	} {
		preset := searched()
		change(preset)
		if err := SamePlan(begun, planOf(t, preset)); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestThePlanOfASearch(t *testing.T) {
	preset := searched()
	preset.Load.Duration = ptr(schema.Duration(30e9))
	plan := planOf(t, preset)
	d := plan.Document(nil).Trials[0]
	if d.Search == nil || len(d.Points) != 0 || *d.Search.First.Concurrency != 1 || *d.Search.Last.Concurrency != 64 || *d.Search.Estimate != 450 {
		t.Errorf("%+v", d.Search)
	}
	if whole := plan.Estimate(nil); whole == nil || whole.Seconds() != 450 {
		t.Errorf("in all %v", whole)
	}
	earlier := []measure.Point{{Keys: measure.Keys{TrialID: plan.Trials[0].ID, Stage: stageSweep}, Started: 1e9, Finished: 31e9}}
	if whole := plan.Estimate(earlier); whole.Seconds() != 30 {
		t.Errorf("like an earlier run: %v", whole)
	}
}
