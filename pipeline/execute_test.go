package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func TestARunMeasuresEverythingInOrder(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, chat())
	deps := w.deps()
	var events []Event
	deps.Observe = func(e Event) { events = append(events, e) }
	execute(t, plan, run, deps, results.Completed)
	want := []string{
		"start http://127.0.0.1:8000/v1", "preflight baseline",
		"measure baseline c=1 repeat 0 attempt 0", "measure baseline c=4 repeat 0 attempt 0",
		"measure baseline c=1 repeat 1 attempt 0", "measure baseline c=4 repeat 1 attempt 0",
		"preflight second",
		"measure second c=1 repeat 0 attempt 0", "measure second c=4 repeat 0 attempt 0",
		"measure second c=1 repeat 1 attempt 0", "measure second c=4 repeat 1 attempt 0",
		"stop http://127.0.0.1:8000/v1",
	}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Error(diff)
	}
	checkEvents(t, events)
	d := document(t, run.Run)
	if d.Winner == nil || *d.Winner != plan.Trials[0].ID || d.Exit(true) != ExitGood {
		t.Errorf("winner %v, exit %d", d.Winner, d.Exit(true))
	}
	if selected := d.Trials[0].Winner(); selected == nil || *selected.Load.Concurrency != 4 {
		t.Errorf("selected %+v", selected)
	}
}

// checkEvents holds the order in which an observer is told of a run of two trials with four measurements each.
func checkEvents(t *testing.T, events []Event) {
	t.Helper()
	var kinds string
	index := 0
	for _, e := range events {
		switch e := e.(type) {
		case ServiceStarting:
			kinds += "s"
		case TrialStarted:
			kinds += "t"
		case PointStarted:
			if kinds += "p"; e.Index != index || e.Total != 8 {
				t.Errorf("point %d of %d started, want %d of 8", e.Index, e.Total, index)
			}
			index++
		case PointDone:
			if kinds += "d"; e.Point.PointID != e.Job.PointID || e.Point.OK == 0 {
				t.Errorf("job %+v gave %+v", e.Job.Keys, e.Point.Keys)
			}
		case TrialDone:
			kinds += "j"
		default:
			t.Errorf("event %+v", e)
		}
	}
	if want := "tspdpdpdpdjtpdpdpdpdj"; kinds != want {
		t.Errorf("events %s, want %s", kinds, want)
	}
}

func TestEveryRowSaysWhatItIsOf(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, chat())
	w.preflight = func(Job) (Preflight, error) {
		return Preflight{Facts: results.Facts{"version": "1"}, ContextLength: ptr(int64(8192)), RTT: ptr(0.25), Notes: []string{"usage is reported"}}, nil
	}
	execute(t, plan, run, w.deps(), results.Completed)
	rows, _ := run.Points()
	for _, row := range rows {
		if row.RunID != run.ID() || row.Stage != "sweep" || row.Workload != "random" || row.Model != "llama" || row.Cache != "isolated" ||
			row.ClockID == "" || row.StartedAt == "" || row.WriterLag == nil || *row.ContextLength != 8192 || *row.ContextLengthSource != "reported" || *row.RTT != 0.25 {
			t.Errorf("row %+v", row)
		}
	}
	trials, broken := run.Trials()
	if len(broken) > 0 || len(trials) != 4 {
		t.Fatalf("%d rows of trials, %v", len(trials), broken)
	}
	selected := 0
	for _, row := range trials {
		if row.RunID != run.ID() || row.Workload != "random" || row.Status != measure.PointCompleted || !row.Eligible || row.OutputTokPerS == nil || row.ThroughputScaling == nil {
			t.Errorf("row %+v of trials", row)
		}
		if row.Selected {
			selected++
		}
	}
	manifest := run.Manifest()
	facts := map[string]results.Facts{plan.Trials[0].ID: {"version": "1"}, plan.Trials[1].ID: {"version": "1"}}
	if diff := cmp.Diff(facts, manifest.Services); diff != "" || selected != 2 {
		t.Errorf("%d selected, services %s", selected, diff)
	}
	if diff := cmp.Diff([]string{"baseline: usage is reported", "second: usage is reported"}, manifest.Executions[0].Notes); diff != "" {
		t.Error(diff)
	}
}

func TestAProbedContextIsNotReplacedByAReportedOne(t *testing.T) {
	w := newWorld()
	preset := chat()
	preset.Limits.MinContextLength = ptr(int64(4096))
	plan, run := newRun(t, preset)
	w.preflight = func(Job) (Preflight, error) { return Preflight{ContextLength: ptr(int64(8192))}, nil }
	execute(t, plan, run, w.deps(), results.Completed)
	rows, _ := run.Points()
	for _, row := range rows {
		if row.ContextLength != nil {
			t.Errorf("a context that the probe did not fill has length %d", *row.ContextLength)
		}
	}
}

func TestTrialsOfOtherServicesHaveTheirOwn(t *testing.T) {
	w := newWorld()
	preset := chat()
	third := preset.Trials[0]
	third.Name = "third"
	third.Spec.Service = schema.Service{Endpoint: &schema.Endpoint{URL: "http://127.0.0.1:9000/v1"}}
	preset.Trials = append(preset.Trials, third)
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Completed)
	var starts []string
	for _, line := range w.log {
		if strings.HasPrefix(line, "start") || strings.HasPrefix(line, "stop") {
			starts = append(starts, line)
		}
	}
	want := []string{"start http://127.0.0.1:8000/v1", "stop http://127.0.0.1:8000/v1", "start http://127.0.0.1:9000/v1", "stop http://127.0.0.1:9000/v1"}
	if diff := cmp.Diff(want, starts); diff != "" {
		t.Error(diff)
	}
}

// one is a preset of two trials on two services, one point each, measured once.
func one() *schema.Preset {
	preset := chat()
	preset.Load.Concurrency, preset.Load.Repeats = []int64{1}, 1
	preset.Trials[1].Spec.Service = schema.Service{Endpoint: &schema.Endpoint{URL: "http://127.0.0.1:9000/v1"}}
	return preset
}

func TestAFaultIsARowAndTheRunGoesOn(t *testing.T) {
	refused := errors.New("connection refused")
	isFirst := func(s schema.Service) bool { return strings.Contains(s.Endpoint.URL, "8000") }
	for name, c := range map[string]struct {
		fault  func(*world)
		reason string
	}{
		"no start": {func(w *world) {
			w.start = func(s schema.Service) error {
				if isFirst(s) {
					return refused
				}
				return nil
			}
		}, "starting the service: connection refused"},
		"start panics": {func(w *world) {
			w.start = func(s schema.Service) error {
				if isFirst(s) {
					panic("no such profile")
				}
				return nil
			}
		}, "starting the service: panic: no such profile"},
		"preflight": {func(w *world) {
			w.preflight = func(job Job) (Preflight, error) {
				if isFirst(job.Spec.Service) {
					return Preflight{}, refused
				}
				return Preflight{}, nil
			}
		}, "connection refused"},
		"measure": {func(w *world) {
			w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
				if isFirst(job.Spec.Service) {
					return measure.Outcome{}, refused
				}
				return driven(job, ended), nil
			}
		}, "connection refused"},
		"measure panics": {func(w *world) {
			w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
				if isFirst(job.Spec.Service) {
					panic("index out of range")
				}
				return driven(job, ended), nil
			}
		}, "panic: index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.fault(w)
			plan, run := newRun(t, one())
			execute(t, plan, run, w.deps(), results.Failed)
			want := []string{"baseline c=1 repeat 0 attempt 0 failed: " + c.reason, "second c=1 repeat 0 attempt 0 completed"}
			if diff := cmp.Diff(want, kept(t, plan, run.Run)); diff != "" {
				t.Error(diff)
			}
			d := document(t, run.Run)
			if d.Exit(false) != ExitFailed || d.Winner == nil || *d.Winner != plan.Trials[1].ID || d.Trials[0].Status != "failed" {
				t.Errorf("exit %d, winner %v, first trial %s", d.Exit(false), d.Winner, d.Trials[0].Status)
			}
		})
	}
}

// What a point had measured when driving it broke down is not lost.
func TestRequestsOutliveAPanic(t *testing.T) {
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		driven(job, ended)
		panic("index out of range")
	}
	plan, run := newRun(t, one())
	execute(t, plan, run, w.deps(), results.Failed)
	n := 0
	for row, err := range run.Requests(results.Measurement{PointID: plan.Trials[0].Points[0].ID}) {
		if err != nil || row.Status != measure.OK || row.TTFT == nil {
			t.Fatalf("request %+v, %v", row, err)
		}
		n++
	}
	if n != 20 {
		t.Errorf("%d requests are left of 20", n)
	}
	if listed, err := run.Partial(); len(listed) != 0 || err != nil {
		t.Errorf("partial: %v, %v", listed, err)
	}
}

func TestAStopEndsThePointAndTheRun(t *testing.T) {
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		if job.Repeat == 0 && *job.Load.Concurrency == 4 {
			close(w.stop)
			o.Interrupted = true
		}
		return o, nil
	}
	plan, run := newRun(t, chat())
	execute(t, plan, run, w.deps(), results.Interrupted)
	d := document(t, run.Run)
	if d.Exit(true) != ExitInterrupted || d.Trials[0].Status != "incomplete" || d.Trials[1].Status != "incomplete" {
		t.Errorf("exit %d, trials %s and %s", d.Exit(true), d.Trials[0].Status, d.Trials[1].Status)
	}
	rows, _ := run.Points()
	if len(rows) != 2 {
		t.Errorf("%d rows, want those of the two points that were begun", len(rows))
	}
	if last := w.log[len(w.log)-1]; last != "stop http://127.0.0.1:8000/v1" {
		t.Errorf("the last that happened was %s", last)
	}
	run.Close()

	again := newWorld()
	carriedOn := resume(t, run.Dir())
	execute(t, plan, carriedOn, again.deps(), results.Completed)
	want := []string{
		"start http://127.0.0.1:8000/v1", "preflight baseline",
		"measure baseline c=4 repeat 0 attempt 1", "measure baseline c=1 repeat 1 attempt 0", "measure baseline c=4 repeat 1 attempt 0",
		"preflight second",
		"measure second c=1 repeat 0 attempt 0", "measure second c=4 repeat 0 attempt 0",
		"measure second c=1 repeat 1 attempt 0", "measure second c=4 repeat 1 attempt 0",
		"stop http://127.0.0.1:8000/v1",
	}
	if diff := cmp.Diff(want, again.log); diff != "" {
		t.Error(diff)
	}
	if d := document(t, carriedOn.Run); d.Exit(true) != ExitGood || len(carriedOn.Manifest().Executions) != 2 {
		t.Errorf("exit %d after %d executions", d.Exit(true), len(carriedOn.Manifest().Executions))
	}
}

func TestAStopInTheLastPointInterruptsTheRun(t *testing.T) {
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		o.Interrupted = job.TrialName == "second"
		return o, nil
	}
	plan, run := newRun(t, one())
	execute(t, plan, run, w.deps(), results.Interrupted)
	if got := kept(t, plan, run.Run); len(got) != 2 || got[0] != "baseline c=1 repeat 0 attempt 0 completed" || !strings.HasPrefix(got[1], "second c=1 repeat 0 attempt 0 interrupted") {
		t.Errorf("rows %q", got)
	}
}

func TestAContextThatEndedBeginsNothing(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, one())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, err := Execute(ctx, plan, run, w.deps())
	if status != results.Interrupted || err != nil || len(w.log) != 0 {
		t.Errorf("the run ended %s, %v; happened: %v", status, err, w.log)
	}
}

func TestAStopWhileAServiceStartsLeavesNoRow(t *testing.T) {
	w := newWorld()
	w.start = func(schema.Service) error {
		close(w.stop)
		return errors.New("stopped while loading the model")
	}
	plan, run := newRun(t, chat())
	execute(t, plan, run, w.deps(), results.Interrupted)
	if rows := kept(t, plan, run.Run); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	if trials, broken := run.Trials(); len(trials) != 0 || len(broken) != 0 {
		t.Errorf("trials %v, %v", trials, broken)
	}
}

func TestNothingIsLeftOfACompletedRun(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, chat())
	execute(t, plan, run, w.deps(), results.Completed)
	run.Close()
	again := newWorld()
	deps := again.deps()
	skipped := 0
	deps.Observe = func(e Event) {
		if _, ok := e.(PointSkipped); ok {
			skipped++
		}
	}
	execute(t, plan, resume(t, run.Dir()), deps, results.Completed)
	if len(again.log) != 0 || skipped != 8 {
		t.Errorf("happened: %v; %d skipped", again.log, skipped)
	}
	files, err := filepath.Glob(filepath.Join(run.Dir(), "*", "*-1.parquet"))
	if len(files) != 0 || err != nil {
		t.Errorf("files of a second attempt: %v, %v", files, err)
	}
}

func TestFilesThatAreNotWholeAreMeasuredAgain(t *testing.T) {
	for _, table := range []results.Table{results.Points, results.Requests} {
		t.Run(string(table), func(t *testing.T) {
			plan, run := newRun(t, chat())
			execute(t, plan, run, newWorld().deps(), results.Completed)
			run.Close()
			name := results.Measurement{PointID: plan.Trials[1].Points[0].ID, Repeat: 1}.String() + ".parquet"
			if err := os.Truncate(filepath.Join(run.Dir(), string(table), name), 1000); err != nil {
				t.Fatal(err)
			}
			again := newWorld()
			carriedOn := resume(t, run.Dir())
			execute(t, plan, carriedOn, again.deps(), results.Completed)
			want := []string{"start http://127.0.0.1:8000/v1", "preflight second", "measure second c=1 repeat 1 attempt 1", "stop http://127.0.0.1:8000/v1"}
			if diff := cmp.Diff(want, again.log); diff != "" {
				t.Error(diff)
			}
			notes := carriedOn.Manifest().Executions[1].Notes
			if len(notes) != 1 || !strings.Contains(notes[0], "set aside in damaged/: "+string(table)+"/"+name) {
				t.Errorf("notes %q", notes)
			}
			if checked, err := Check(run.Dir()); err != nil || !checked.Whole || len(checked.ToMeasure) != 0 {
				t.Errorf("checked %+v, %v", checked, err)
			}
		})
	}
}

// A stop before a broken measurement was made again must not leave it counted as made.
func TestABrokenMeasurementIsNotCounted(t *testing.T) {
	plan, run := newRun(t, one())
	execute(t, plan, run, newWorld().deps(), results.Completed)
	run.Close()
	name := results.Measurement{PointID: plan.Trials[1].Points[0].ID}.String() + ".parquet"
	if err := os.Truncate(filepath.Join(run.Dir(), "requests", name), 1000); err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	close(w.stop)
	execute(t, plan, resume(t, run.Dir()), w.deps(), results.Interrupted)
}

func TestFailedPointsAreTriedAgain(t *testing.T) {
	w := newWorld()
	w.start = func(schema.Service) error { return errors.New("connection refused") }
	plan, run := newRun(t, one())
	execute(t, plan, run, w.deps(), results.Failed)
	run.Close()
	carriedOn := resume(t, run.Dir())
	execute(t, plan, carriedOn, newWorld().deps(), results.Completed)
	want := []string{"baseline c=1 repeat 0 attempt 1 completed", "second c=1 repeat 0 attempt 1 completed"}
	if diff := cmp.Diff(want, kept(t, plan, carriedOn.Run)); diff != "" {
		t.Error(diff)
	}
	trials, _ := carriedOn.Trials()
	for _, row := range trials {
		if row.Attempt != 1 || !row.Selected {
			t.Errorf("trial row %+v", row)
		}
	}
}

func TestResultsThatCannotBeStoredEndTheRun(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, chat())
	remove := once(func() { os.RemoveAll(filepath.Join(run.Dir(), "requests")) })
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if *job.Load.Concurrency == 4 {
			remove()
		}
		return driven(job, ended), nil
	}
	status, err := Execute(t.Context(), plan, run, w.deps())
	if status != results.Failed || err == nil || !strings.Contains(err.Error(), "writing "+filepath.Join(run.Dir(), "requests")) {
		t.Errorf("the run ended %s, %v", status, err)
	}
	want := []string{"start http://127.0.0.1:8000/v1", "preflight baseline", "measure baseline c=1 repeat 0 attempt 0", "measure baseline c=4 repeat 0 attempt 0", "stop http://127.0.0.1:8000/v1"}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Error(diff)
	}
	if run.Manifest().Status != results.Failed {
		t.Errorf("the manifest says %s", run.Manifest().Status)
	}
}

func TestARunIsCarriedOnWithItsOwnPreset(t *testing.T) {
	_, run := newRun(t, chat())
	begun, err := PlanOf(run.Run)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*schema.Preset)
		want   string
	}{
		"same":       {func(*schema.Preset) {}, ""},
		"other name": {func(p *schema.Preset) { p.Name = "other" }, ""},
		"trials":     {func(p *schema.Preset) { p.Trials = p.Trials[:1] }, "it has 2 trials, the preset has 1"},
		"model":      {func(p *schema.Preset) { p.Trials[1].Spec.Model = "other" }, "its trial 2, second, has another model, service, workload, request or name than the preset's, second"},
		"repeats":    {func(p *schema.Preset) { p.Load.Repeats = 3 }, "it has 2 repeats, the preset has 3"},
		"points":     {func(p *schema.Preset) { p.Load.Concurrency = []int64{1} }, "its trial baseline has 2 points, the preset's has 1"},
		"load":       {func(p *schema.Preset) { p.Load.Seed = 8 }, "point 1 of its trial baseline has another load than the preset's"},
		"limits":     {func(p *schema.Preset) { p.Limits.MaxTTFT = nil }, "limits or select are not those that it was begun with"},
		"select":     {func(p *schema.Preset) { p.Select.Across = "complete" }, "limits or select are not those that it was begun with"},
	} {
		preset := chat()
		c.change(preset)
		err := SamePlan(begun, planOf(t, preset))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Where the one thing that differs is what a file holds, the file and both digests are named.
func TestAnotherFileIsNamedWithItsDigests(t *testing.T) {
	asked := func(sum string) *schema.Preset {
		preset := chat()
		for i := range preset.Trials {
			preset.Trials[i].Spec.Workload = schema.Workload{Prompts: &schema.Prompts{File: "asked.jsonl", SHA256: sum}}
		}
		return preset
	}
	was, is := strings.Repeat("a", 64), strings.Repeat("b", 64)
	begun := planOf(t, asked(was))
	if err := SamePlan(begun, planOf(t, asked(was))); err != nil {
		t.Error(err)
	}
	err := SamePlan(begun, planOf(t, asked(is)))
	want := "its trial 1, baseline, was begun with a file whose SHA-256 is " + was + ", and that of asked.jsonl is " + is
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// maybeUp is the error of a stop that may have left something.
type maybeUp struct{}

func (maybeUp) Error() string { return "the command that stops the service: exit status 1" }
func (maybeUp) MayBeLeft()    {}

func TestAServiceThatMayNotBeDownIsKeptWithTheRun(t *testing.T) {
	for _, fault := range []error{maybeUp{}, errors.New("another fault")} {
		plan, run := newRun(t, chat())
		w := newWorld()
		w.stopFault = fault
		execute(t, plan, run, w.deps(), results.Completed)
		last := run.Manifest().Executions[0]
		want := "stopping the service: " + fault.Error()
		if !slices.Contains(last.Notes, want) {
			t.Errorf("notes %q", last.Notes)
		}
		if _, up := fault.(maybeUp); up != (len(last.Left) > 0) || up && last.Left[0] != fault.Error() {
			t.Errorf("%v: left %q", fault, last.Left)
		}
	}
}
