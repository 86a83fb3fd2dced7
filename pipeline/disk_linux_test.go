package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// inNamespace runs a test again in a process that may mount a disk of its own, which nobody else sees and which is gone with the process. It reports whether this is that
// process. Where the machine does not let it, the test is skipped.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const inside = "SWEETSPOT_TEST_NAMESPACE"
	if os.Getenv(inside) != "" {
		return true
	}
	own := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), inside+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid())}
	out, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("this machine does not let a test mount a disk: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// disk mounts one of so many bytes.
func disk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, sized(size)); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func sized(size int) string { return fmt.Sprintf("size=%d", size) }

// A disk that gets full anywhere ends the run with what to do. Nothing that was stored is lost, nothing that was cut short is read, and with room again the run is carried on.
func TestADiskThatIsFull(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	full := 0
	for seed := range seeds(t, 3) {
		const least, most = 40_000, 600_000 // for the manifest alone; for nearly all of the run
		size := least + rand.New(rand.NewPCG(seed, 12)).IntN(most-least)
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := disk(t, size)
			plan := planOf(t, chat())
			manifest, err := NewManifest(chat(), plan, results.Given{Filename: "chat.yaml"}, schema.RedactText)
			if err != nil {
				t.Fatal(err)
			}
			run, err := results.Create(filepath.Join(dir, "store"), manifest)
			if err != nil {
				t.Fatal(err)
			}
			world := newWorld()
			stored := 0
			deps := world.deps()
			deps.Observe = func(event Event) {
				if _, is := event.(PointDone); is {
					stored++
				}
			}
			_, err = Execute(t.Context(), plan, run, deps)
			run.Close()
			if err != nil {
				full++
				checkFull(t, run.Dir(), stored, err)
			}
			if err := unix.Mount("", dir, "tmpfs", unix.MS_REMOUNT, sized(10*most)); err != nil {
				t.Fatal(err)
			}
			again := resume(t, run.Dir())
			execute(t, plan, again, newWorld().deps(), results.Completed)
			again.Close()
			if found, err := Check(run.Dir()); err != nil || !found.Whole || len(found.LeftOver) > 0 || found.Tables[0].Files != 8 {
				t.Errorf("with room again: %+v, %v", found, err)
			}
		})
	}
	if full == 0 {
		t.Error("no disk was full")
	}
}

// checkFull looks at a run of which so many measurements were stored before its disk was full.
func checkFull(t *testing.T, dir string, stored int, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space, then go on with --resume "+filepath.Base(dir)) {
		t.Errorf("the run ended with %v", err)
	}
	found, err := Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found.Broken {
		if !strings.Contains(b.Why, "the process ended between the two files") {
			t.Errorf("%s: %s", b.File, b.Why)
		}
	}
	run, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if done, broken := run.Completed(); len(done) != stored || len(broken) > 0 {
		t.Errorf("%d measurements are whole of %d that were stored: %v", len(done), stored, broken)
	}
}

// A store that can't be written to is read as any other. What would change it says so, and what it is.
func TestAStoreThatCanOnlyBeRead(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := disk(t, 8<<20)
	store := filepath.Join(dir, "store")
	plan, run := begin(t, chat(), store)
	execute(t, plan, run, newWorld().deps(), results.Completed)
	run.Close()
	_, begun := begin(t, chat(), store)
	begun.Close()
	if err := unix.Mount("", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("mounting: %v", err)
	}

	entries, broken, err := results.Entries(store)
	if len(entries) != 2 || len(broken) > 0 || err != nil || entries[0].Status != results.Killed || entries[1].Status != results.Completed {
		t.Errorf("listed %+v, %v, %v", entries, broken, err)
	}
	opened, _, err := results.Find(store, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if d := document(t, opened); d.Status != results.Completed || d.Exit(true) != ExitGood {
		t.Errorf("status %s, exit %d", d.Status, d.Exit(true))
	}
	if found, err := Check(run.Dir()); err != nil || !found.Whole || len(found.ToMeasure) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := Check(begun.Dir()); err != nil || !found.Whole || len(found.ToMeasure) != 8 {
		t.Errorf("of the other %+v, %v", found, err)
	}

	for what, write := range map[string]func() error{
		"create": func() error { _, err := results.Create(store, results.Manifest{}); return err },
		"resume": func() error {
			again, err := results.Resume(begun.Dir())
			if err != nil {
				return err
			}
			defer again.Close()
			_, err = Execute(t.Context(), plan, again, newWorld().deps())
			return err
		},
		"rename":  func() error { return results.Rename(run.Dir(), "other", time.Now()) },
		"delete":  func() error { return results.Delete(run.Dir()) },
		"summary": func() error { return opened.WriteSummary(opened.Stamp(), []byte("{}")) },
	} {
		if err := write(); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), store) && !strings.Contains(err.Error(), run.ID()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if found, err := Check(run.Dir()); err != nil || !found.Whole || found.Name != "chat" {
		t.Errorf("afterwards %+v, %v", found, err)
	}
}
