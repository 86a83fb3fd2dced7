package pipeline

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// child says what the test binary does when it is started again by a test.
const child = "SWEETSPOT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "killed":
		runUntilKilled(os.Getenv("SWEETSPOT_TEST_STORE"))
	case "search":
		searchUntilKilled(os.Getenv("SWEETSPOT_TEST_STORE"))
	case "full":
		runOnFullDisk(os.Getenv("SWEETSPOT_TEST_STORE"))
	case "carry on":
		carryOn(os.Getenv("SWEETSPOT_TEST_STORE"))
	default:
		os.Exit(m.Run())
	}
}

// again starts the test binary as one of its children.
func again(t *testing.T, as, store string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), child+"="+as, "SWEETSPOT_TEST_STORE="+store)
	command.Stderr = os.Stderr
	return command
}

// childRun begins a run as newRun does.
func childRun(store string) (*Plan, *results.Writer) {
	plan, err := NewPlan(chat())
	if err != nil {
		panic(err)
	}
	manifest, err := NewManifest(chat(), plan, results.Given{Filename: "chat.yaml"}, schema.RedactText)
	if err != nil {
		panic(err)
	}
	run, err := results.Create(store, manifest)
	if err != nil {
		panic(err)
	}
	return plan, run
}

// runUntilKilled hangs in the second point when its requests have ended, and says so once the first of them must be on disk.
func runUntilKilled(store string) {
	w := newWorld()
	w.measure = func(job Job, ended func(*measure.Record)) (measure.Outcome, error) {
		o := driven(job, ended)
		if *job.Load.Concurrency == 4 {
			time.Sleep(1500 * time.Millisecond) // the stream is written every second
			fmt.Println("ended")
			select {}
		}
		return o, nil
	}
	plan, run := childRun(store)
	Execute(context.Background(), plan, run, w.deps())
}

func TestAKilledRunIsCarriedOn(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	command := again(t, "killed", store)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ended\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	running, _, err := results.Find(store, "latest")
	if err != nil {
		t.Fatal(err)
	}
	if running.Status() != results.Running {
		t.Errorf("while it runs the status is %s", running.Status())
	}
	if _, err := results.Resume(running.Dir()); err == nil {
		t.Error("a run that is running was resumed")
	}
	command.Process.Kill()
	command.Wait()
	if running.Status() != results.Killed {
		t.Errorf("after kill -9 the status is %s", running.Status())
	}
	checkKilled(t, running)
	checkCarriedOn(t, resume(t, running.Dir()))
}

// checkKilled holds that the requests of the killed point are readable before anything is mended.
func checkKilled(t *testing.T, run *results.Run) {
	t.Helper()
	plan, err := PlanOf(run)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := run.Partial()
	if diff := cmp.Diff([]results.Measurement{{PointID: plan.Trials[0].Points[1].ID}}, partial); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	n := 0
	for _, err := range run.PartialRequests(partial[0]) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 40 {
		t.Errorf("%d requests of the killed point are readable, want 40", n)
	}
	if d := document(t, run); d.Exit(false) != ExitFailed || d.Status != results.Killed {
		t.Errorf("exit %d, status %s", d.Exit(false), d.Status)
	}
}

func checkCarriedOn(t *testing.T, run *results.Writer) {
	t.Helper()
	w := newWorld()
	plan := planOf(t, chat())
	begun, err := PlanOf(run.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := SamePlan(begun, plan); err != nil {
		t.Error(err)
	}
	execute(t, plan, run, w.deps(), results.Completed)
	first := "start http://127.0.0.1:8000/v1, preflight baseline, measure baseline c=4 repeat 0 attempt 1, measure baseline c=1 repeat 1 attempt 0, "
	if log := strings.Join(w.log, ", "); !strings.HasPrefix(log, first) {
		t.Errorf("happened: %s", log)
	}
	partial, err := run.Partial()
	if diff := cmp.Diff([]results.Measurement{{PointID: plan.Trials[0].Points[1].ID}}, partial); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if d := document(t, run.Run); d.Exit(true) != ExitGood {
		t.Errorf("exit %d", d.Exit(true))
	}
}

// room is how large a file may become on the child's disk.
const room = 30_000

// runOnFullDisk has room for the manifest and not for a points file.
func runOnFullDisk(store string) {
	w := newWorld()
	plan, run := childRun(store)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: room, Max: room}); err != nil {
		panic(err)
	}
	status, err := Execute(context.Background(), plan, run, w.deps())
	fmt.Printf("%s\n%v\n%s\n", status, err, strings.Join(w.log, "\n"))
}

func TestAFullDiskEndsTheRunAndKeepsWhatIsThere(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	command := again(t, "full", store)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	said := string(out)
	if !strings.HasPrefix(said, "failed\n") || !strings.Contains(said, "file too large") || strings.Count(said, "measure") != 1 {
		t.Errorf("the child said: %s", said)
	}
	run, _, err := results.Find(store, "latest")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(filepath.Join(run.Dir(), "points"), func(path string, _ os.DirEntry, err error) error {
		files = append(files, filepath.Base(path))
		return err
	})
	if diff := cmp.Diff([]string{"points"}, files); diff != "" || err != nil {
		t.Error("a file that did not fit is there", diff, err)
	}
	plan := planOf(t, chat())
	carriedOn := resume(t, run.Dir())
	execute(t, plan, carriedOn, newWorld().deps(), results.Completed)
	if n := len(kept(t, plan, carriedOn.Run)); n != 8 {
		t.Errorf("%d measurements after there was room again, want 8", n)
	}
}

// carryOn carries the run of a store on and says each measurement that is stored.
func carryOn(store string) {
	run, _, err := results.Find(store, "latest")
	if err != nil {
		panic(err)
	}
	writer, err := results.Resume(run.Dir())
	if err != nil {
		panic(err)
	}
	plan, err := NewPlan(chat())
	if err != nil {
		panic(err)
	}
	deps := newWorld().deps()
	deps.Observe = func(event Event) {
		if done, is := event.(PointDone); is {
			fmt.Println(results.MeasurementOf(done.Point.Keys))
		}
	}
	if _, err := Execute(context.Background(), plan, writer, deps); err != nil {
		panic(err)
	}
	fmt.Println("ended")
}
