package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// mortal is a service that can end by itself.
type mortal struct {
	fakeService
	over chan struct{}
}

func (m *mortal) Over() <-chan struct{} { return m.over }

func (m *mortal) Err() error {
	select {
	case <-m.over:
		return errors.New("exit status 3")
	default:
		return nil
	}
}

// mortals are deps whose services die as a test says.
func (w *world) mortals(dies func(job Job, try int) bool) Deps {
	deps := w.deps()
	starts, tries := 0, 0
	deps.StartService = func(_ context.Context, s schema.Service) (Service, error) {
		starts++
		w.happened("start %v", s.Process.Command)
		return &mortal{fakeService{w, strings.Join(s.Process.Command, " ")}, make(chan struct{})}, nil
	}
	deps.Measure = func(ctx context.Context, s Service, job Job, _ <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error) {
		w.happened("measure %s c=%d repeat %d", job.TrialName, *job.Load.Concurrency, job.Repeat)
		tries++
		o := driven(job, ended)
		if dies(job, tries) {
			close(s.(*mortal).over)
			<-ctx.Done() // a point whose service has ended is not driven on
			o.Records[0].Status, o.Interrupted = measure.ConnectError, true
		}
		return o, nil
	}
	return deps
}

// startedBy has the trials of chat driven by commands, one each.
func startedBy(restart string, commands ...string) *schema.Preset {
	preset := chat()
	first := preset.Trials[0]
	preset.Trials = nil
	for i, command := range commands {
		trial := first
		trial.Name = string(rune('a' + i))
		trial.Spec.Service = schema.Service{Process: &schema.Process{Command: []string{command}, Restart: restart}}
		preset.Trials = append(preset.Trials, trial)
	}
	return preset
}

func TestEachConfigurationIsStartedOnce(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, startedBy("never", "x", "y", "x"))
	execute(t, plan, run, w.mortals(func(Job, int) bool { return false }), results.Completed)
	checkStarts(t, w, "start [x]", "a", "a", "a", "a", "c", "c", "c", "c", "stop x", "start [y]", "b", "b", "b", "b", "stop y")
	if names := []string{plan.Trials[0].Name, plan.Trials[1].Name, plan.Trials[2].Name}; strings.Join(names, "") != "abc" {
		t.Errorf("the plan has become %v", names)
	}
}

// checkStarts holds when a service was started and stopped among the measurements, which are given by their trial's name.
func checkStarts(t *testing.T, w *world, want ...string) {
	t.Helper()
	var got []string
	for _, line := range w.log {
		name, measured := strings.CutPrefix(line, "measure ")
		switch {
		case measured:
			got = append(got, name[:1])
		case !strings.HasPrefix(line, "preflight"):
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAServiceIsFreshWhereThePresetSaysSo(t *testing.T) {
	for restart, want := range map[string][]string{
		"never":  {"start [x]", "a", "a", "a", "a", "b", "b", "b", "b", "stop x"},
		"trial":  {"start [x]", "a", "a", "a", "a", "stop x", "start [x]", "b", "b", "b", "b", "stop x"},
		"repeat": {"start [x]", "a", "a", "stop x", "start [x]", "a", "a", "stop x", "start [x]", "b", "b", "stop x", "start [x]", "b", "b", "stop x"},
		"point": {"start [x]", "a", "stop x", "start [x]", "a", "stop x", "start [x]", "a", "stop x", "start [x]", "a", "stop x",
			"start [x]", "b", "stop x", "start [x]", "b", "stop x", "start [x]", "b", "stop x", "start [x]", "b", "stop x"},
	} {
		t.Run(restart, func(t *testing.T) {
			w := newWorld()
			plan, run := newRun(t, startedBy(restart, "x", "x"))
			execute(t, plan, run, w.mortals(func(Job, int) bool { return false }), results.Completed)
			checkStarts(t, w, want...)
		})
	}
}

func TestACrashFailsItsPointAndTheNextHasAFreshService(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, startedBy("never", "x"))
	deps := w.mortals(func(_ Job, try int) bool { return try == 2 })
	var again []bool
	deps.Observe = func(event Event) {
		if starting, ok := event.(ServiceStarting); ok {
			again = append(again, starting.Again)
		}
	}
	execute(t, plan, run, deps, results.Failed)
	checkStarts(t, w, "start [x]", "a", "a", "stop x", "start [x]", "a", "a", "stop x")
	want := []string{
		"a c=1 repeat 0 attempt 0 completed",
		"a c=4 repeat 0 attempt 0 failed: the service ended in the middle of the point: exit status 3",
		"a c=1 repeat 1 attempt 0 completed", "a c=4 repeat 1 attempt 0 completed",
	}
	if diff := cmp.Diff(want, kept(t, plan, run.Run)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, true}, again); diff != "" {
		t.Error(diff)
	}
}

func TestAServiceThatKeepsCrashingIsGivenUp(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, startedBy("never", "x"))
	execute(t, plan, run, w.mortals(func(Job, int) bool { return true }), results.Failed)
	checkStarts(t, w, "start [x]", "a", "stop x", "start [x]", "a", "stop x", "start [x]", "a", "stop x")
	last := kept(t, plan, run.Run)[3]
	if want := "a c=4 repeat 1 attempt 0 failed: the service is not started again: it ended by itself 3 times in a row: exit status 3"; last != want {
		t.Errorf("got %s", last)
	}
}
