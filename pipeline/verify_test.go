package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// verifying is the preset of [chat] whose winner is measured again.
func verifying() *schema.Preset {
	preset := chat()
	preset.Verify, preset.Select.Tolerance.Verify = true, 0.1
	return preset
}

// changed is what [driven] gives, each request of the verify stage changed.
func changed(change func(*measure.Record)) func(Job, func(*measure.Record)) (measure.Outcome, error) {
	return func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		for i := range o.Records {
			if job.Stage == stageVerify {
				change(&o.Records[i])
			}
		}
		return o, nil
	}
}

func TestTheWinnerIsMeasuredAgainOnAServiceStartedAfresh(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, verifying())
	var events []Event
	deps := w.deps()
	deps.Observe = func(e Event) { events = append(events, e) }
	execute(t, plan, run, deps, results.Completed)
	want := []string{
		"stop http://127.0.0.1:8000/v1", "start http://127.0.0.1:8000/v1", "preflight baseline",
		"measure baseline c=1 repeat 2 attempt 0", "measure baseline c=4 repeat 2 attempt 0",
		"measure baseline c=1 repeat 3 attempt 0", "measure baseline c=4 repeat 3 attempt 0",
		"stop http://127.0.0.1:8000/v1",
	}
	if diff := cmp.Diff(want, w.log[len(w.log)-len(want):]); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(events, func(e Event) bool { v, ok := e.(Verifying); return ok && v.Trial.Name == "baseline" }) {
		t.Error("nobody was told of the verification")
	}
	d := document(t, run.Run)
	made := d.Trials[0].Verification
	if made == nil || made.Reproduced == nil || !*made.Reproduced || *made.Change != 0 || len(made.Points) != 2 || d.Exit(true) != ExitGood {
		t.Fatalf("verification %+v, exit %d", made, d.Exit(true))
	}
	if d.Trials[1].Verification != nil || len(d.Trials[0].Points[0].Repeats) != 2 || !strings.Contains(d.Trials[0].Text(), "Measured again after the trials it reproduces: output_tok_per_s is ") {
		t.Errorf("verdict %s", d.Trials[0].Text())
	}
	stages := map[string]int{}
	rows, _ := run.Points()
	for _, row := range rows {
		stages[row.Stage]++
	}
	trials, _ := run.Trials()
	for _, row := range trials {
		stages["trials "+row.Stage]++
	}
	if diff := cmp.Diff(map[string]int{"sweep": 8, "verify": 4, "trials sweep": 4, "trials verify": 2}, stages); diff != "" {
		t.Error(diff)
	}
}

func TestAWinnerThatDoesNotReproduceIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*measure.Record)
		reason string
	}{
		"fewer tokens": {func(r *measure.Record) { r.OutputTokens = ptr(int64(15)) },
			"output_tok_per_s is 30, 12 % less than the 34 of the sweep (at most 10 % allowed)"},
		"more tokens": {func(r *measure.Record) { r.OutputTokens = ptr(int64(20)) },
			"output_tok_per_s is 40, 18 % more than the 34 of the sweep (at most 10 % allowed)"},
		"above the limit": {func(r *measure.Record) { r.FirstToken, r.Chunks[0] = r.FirstToken+1e8, r.Chunks[0]+1e8 },
			"ttft p50 600ms is above the limit of 500ms"},
		"failed": {func(r *measure.Record) { r.Status, r.Error = measure.HTTPError, ptr("HTTP 500") },
			"each repeat: failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.measure = changed(c.change)
			plan, run := newRun(t, verifying())
			status, strict := results.Completed, ExitInfeasible
			if name == "failed" {
				status, strict = results.Failed, ExitFailed
			}
			execute(t, plan, run, w.deps(), status)
			d := document(t, run.Run)
			made := d.Trials[0].Verification
			if made == nil || made.Reproduced == nil || *made.Reproduced || !strings.HasPrefix(strings.Join(made.Reasons, "; "), c.reason) {
				t.Fatalf("verification %+v", made)
			}
			if text := d.Trials[0].Text(); !strings.Contains(text, "It does not reproduce: measured again after the trials, at concurrency 4 "+c.reason) || d.Exit(true) != strict {
				t.Errorf("exit %d; %s", d.Exit(true), text)
			}
		})
	}
}

func TestAVerificationIsResumed(t *testing.T) {
	w := newWorld()
	plan, run := newRun(t, verifying())
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		if job.Stage == stageVerify && *job.Load.Concurrency == 4 && job.Repeat == 2 {
			close(w.stop)
		}
		return driven(job, ended), nil
	}
	execute(t, plan, run, w.deps(), results.Interrupted)
	d := document(t, run.Run)
	if made := d.Trials[0].Verification; made == nil || made.Reproduced != nil || made.Status != "incomplete" || d.Exit(false) != ExitInterrupted {
		t.Errorf("verification %+v, exit %d", made, d.Exit(false))
	}
	mustClose(t, run)
	w = newWorld()
	resumed := resume(t, run.Dir())
	execute(t, plan, resumed, w.deps(), results.Completed)
	want := []string{"start http://127.0.0.1:8000/v1", "preflight baseline", "measure baseline c=1 repeat 3 attempt 0", "measure baseline c=4 repeat 3 attempt 0",
		"stop http://127.0.0.1:8000/v1"}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Error(diff)
	}
	if made := document(t, resumed.Run).Trials[0].Verification; made == nil || made.Reproduced == nil || !*made.Reproduced {
		t.Errorf("verification %+v", made)
	}
	mustClose(t, resumed)
	w = newWorld()
	again := resume(t, run.Dir())
	execute(t, plan, again, w.deps(), results.Completed)
	if rows, _ := again.Trials(); len(w.log) > 0 || len(rows) != 6 || rows[0].Attempt != 2 {
		t.Errorf("a run that is done did %v, and has %d rows of trials", w.log, len(rows))
	}
}

func mustClose(t *testing.T, run *results.Writer) {
	t.Helper()
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAWinnerThatMeetsTheLimitsIsVerified(t *testing.T) {
	w := newWorld()
	preset := verifying()
	preset.Limits.MaxTTFT = ptr(schema.Duration(time.Millisecond))
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Completed)
	d := document(t, run.Run)
	if d.Trials[0].Verification != nil || !strings.Contains(d.Trials[0].Text(), "only a winner that meets the limits is verified") {
		t.Errorf("verdict %s", d.Trials[0].Text())
	}
	if rows, _ := run.Points(); len(rows) != 8 {
		t.Errorf("%d measurements", len(rows))
	}
}

func TestByAnotherRuleAnotherTrialMayWin(t *testing.T) {
	w := newWorld()
	preset := verifying()
	preset.Limits.MaxTTFT = nil
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		if job.TrialName == "second" { // more throughput, later first tokens
			for i := range o.Records {
				o.Records[i].OutputTokens, o.Records[i].FirstToken, o.Records[i].Chunks[0] = ptr(int64(20)), o.Records[i].FirstToken+1e8, o.Records[i].Chunks[0]+1e8
			}
		}
		return o, nil
	}
	plan, run := newRun(t, preset)
	execute(t, plan, run, w.deps(), results.Completed)
	d := document(t, run.Run)
	if d.Trials[0].Verification != nil || d.Trials[1].Verification == nil {
		t.Error("the second trial is the winner")
	}
	rule := plan.Rule
	rule.Limits.MaxTTFT = ptr(schema.Duration(500 * time.Millisecond))
	other, _, err := Read(run.Run, &rule)
	if err != nil || other.Trials[0].Verification != nil || !strings.Contains(other.Trials[0].Text(), "by the run's own rule another trial was verified") || other.Exit(true) != ExitGood {
		t.Errorf("%v: %s", err, other.Trials[0].Text())
	}
}

func TestARunIsResumedWithItsOwnVerification(t *testing.T) {
	with := planOf(t, verifying())
	err := SamePlan(planOf(t, chat()), with)
	if err == nil || !strings.Contains(err.Error(), "verify is true in the preset, and the run was begun with false") {
		t.Errorf("error %v", err)
	}
	if err := SamePlan(with, planOf(t, verifying())); err != nil {
		t.Error(err)
	}
}
