package gpu

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

const childVariable = "SWEETSPOT_TEST_WATCHES"

// TestMain is, in a child, a process that watches GPUs until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if _, err := Local(context.Background(), nil, clock.New()); err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("watching\n")
	select {}
}

// standIn puts a script on the path that is called nvidia-smi. It keeps its process id and what it was called with.
func standIn(t *testing.T, body string) (pid func() int, arguments func() string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\necho $$ >" + dir + "/pid\necho \"$@\" >" + dir + "/arguments\n" + body
	if err := os.WriteFile(filepath.Join(dir, command), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	return func() int {
		n, err := strconv.Atoi(read("pid"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}, func() string { return read("arguments") }
}

const twoGPUs = `while :; do
	echo "0, GPU-aaa, NVIDIA H200, 75, 1024, 143771, 500.25, 1980, 61"
	echo "1, GPU-bbb, NVIDIA H200, [N/A], 2, 143771, [Not Supported], 345, [N/A]"
	sleep 0.02
done
`

func ptr[T any](v T) *T { return &v }

// gone waits until a process has ended.
func gone(t *testing.T, group int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); syscall.Kill(-group, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes of group %d are left", group)
		}
	}
}

func TestNvidiaSMIIsReadUntilTheWatcherIsClosed(t *testing.T) {
	pid, called := standIn(t, twoGPUs)
	w, err := Local(t.Context(), nil, clock.New())
	if err != nil {
		t.Fatal(err)
	}
	finish := w.Measure()
	time.Sleep(200 * time.Millisecond)
	samples := finish()
	group := pid()
	w.Close()
	gone(t, group)
	want := []measure.GPUSample{
		{Index: ptr(int64(0)), UUID: ptr("GPU-aaa"), Name: ptr("NVIDIA H200"), Utilization: ptr(0.75), MemoryUsed: ptr(int64(1 << 30)), MemoryTotal: ptr(int64(143771 << 20)), Power: ptr(500.25), SMClock: ptr(1.98e9), Temperature: ptr(61.)},
		{Index: ptr(int64(1)), UUID: ptr("GPU-bbb"), Name: ptr("NVIDIA H200"), MemoryUsed: ptr(int64(2 << 20)), MemoryTotal: ptr(int64(143771 << 20)), SMClock: ptr(3.45e8)},
	}
	if diff := cmp.Diff(want, w.GPUs(), cmpopts.IgnoreFields(measure.GPUSample{}, "At")); diff != "" {
		t.Errorf("GPUs (-want +got)\n%s", diff)
	}
	if len(samples) < 4 || !slices.IsSortedFunc(samples, func(a, b measure.GPUSample) int { return int(a.At - b.At) }) || !samples[0].At.Happened() {
		t.Errorf("%d samples, want several in order of time", len(samples))
	}
	for _, word := range []string{"--format=csv,noheader,nounits", "power.draw", "--loop-ms="} {
		if !strings.Contains(called(), word) {
			t.Errorf("it was called with %q, want %s", called(), word)
		}
	}
}

// A measurement begins with the last reading of each GPU before it, so that its first moments are covered.
func TestAMeasurementHasTheReadingBeforeIt(t *testing.T) {
	w := &Watcher{clock: clock.New()}
	for at, uuid := range []string{"a", "b", "a", "b"} {
		w.add(measure.GPUSample{At: clock.Instant(at + 1), UUID: &uuid})
	}
	finish := w.Measure()
	w.add(measure.GPUSample{At: 9, UUID: ptr("a")})
	var got []int64
	for _, s := range finish() {
		got = append(got, int64(s.At))
	}
	if !slices.Equal(got, []int64{3, 4, 9}) {
		t.Errorf("samples of %v, want the last of each GPU and those after", got)
	}
}

func TestOnlyTheDevicesThatAreNamedAreWatched(t *testing.T) {
	standIn(t, twoGPUs)
	w, err := Local(t.Context(), []int64{1}, clock.New())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if seen := w.GPUs(); len(seen) != 1 || *seen[0].Index != 1 {
		t.Errorf("watched %+v, want GPU 1", seen)
	}
}

func TestNvidiaSMIThatFailsIsSaid(t *testing.T) {
	for body, want := range map[string]string{
		"echo 'No devices were found'\nexit 6":                 "No devices were found",
		"echo 'NVIDIA-SMI has failed.' >&2\nsleep 0.1\nexit 9": "NVIDIA-SMI has failed.",
		"exit 3": "exit status 3",
		"echo '0, GPU-a, X, 1, 1, 1, 1, 1, 1'\nhead -c 100000 /dev/zero": "it ended",
	} {
		pid, _ := standIn(t, body)
		w, err := Local(t.Context(), nil, clock.New())
		if err == nil {
			w.Close()
			t.Errorf("%s: no error", body)
			continue
		}
		if want != "it ended" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", body, err, want)
		}
		gone(t, pid())
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Local(t.Context(), nil, clock.New()); !errors.Is(err, ErrNone) {
		t.Errorf("without nvidia-smi: error %v", err)
	}
}

// Whatever happens to the process that watches, nvidia-smi does not outlive it.
func TestNvidiaSMIEndsWhenItsWatcherIsKilled(t *testing.T) {
	pid, _ := standIn(t, twoGPUs)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	gone(t, pid())
}

const exported = `# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 1980
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-bbb",device="nvidia1",modelName="NVIDIA H200",Hostname="node-1"} 345
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 61
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 500.25
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 75
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",GPU_I_PROFILE="1g.18gb",GPU_I_ID="7",Hostname="node-1"} 3
# TYPE DCGM_FI_DEV_FB_FREE gauge
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 142000
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 1024
# TYPE DCGM_FI_DEV_FB_RESERVED gauge
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-aaa",device="nvidia0",modelName="NVIDIA H200",Hostname="node-1"} 747
`

// answers is an exporter without a network.
type answers func() (status int, body string)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := a()
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func TestADCGMExporterIsRead(t *testing.T) {
	client := &http.Client{Transport: answers(func() (int, string) { return http.StatusOK, exported })}
	w, err := Remote(t.Context(), "http://node-1:9400/metrics", nil, client, clock.New())
	if err != nil {
		t.Fatal(err)
	}
	finish := w.Measure()
	time.Sleep(time.Second + time.Second/4)
	w.Close()
	if n := len(finish()); n != 4 {
		t.Errorf("%d samples, want those before and those after a second", n)
	}
	want := []measure.GPUSample{
		{Index: ptr(int64(0)), UUID: ptr("GPU-aaa"), Name: ptr("NVIDIA H200"), Utilization: ptr(0.75), MemoryUsed: ptr(int64(1 << 30)), MemoryTotal: ptr(int64((142000 + 1024 + 747) << 20)), Power: ptr(500.25), SMClock: ptr(1.98e9), Temperature: ptr(61.)},
		{Index: ptr(int64(1)), UUID: ptr("GPU-bbb"), Name: ptr("NVIDIA H200"), SMClock: ptr(3.45e8)},
	}
	if diff := cmp.Diff(want, w.GPUs(), cmpopts.IgnoreFields(measure.GPUSample{}, "At")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnExporterWithoutGPUsIsSaid(t *testing.T) {
	for body, want := range map[string]string{"up 1\n": "shows none of those", "<html>": "no Prometheus text"} {
		client := &http.Client{Transport: answers(func() (int, string) { return http.StatusOK, body })}
		if _, err := Remote(t.Context(), "http://node-1:9400/metrics", nil, client, clock.New()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", body, err, want)
		}
	}
	client := &http.Client{Transport: answers(func() (int, string) { return http.StatusNotFound, "" })}
	if _, err := Remote(t.Context(), "http://node-1:9400/metrics", nil, client, clock.New()); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("error %v", err)
	}
}
