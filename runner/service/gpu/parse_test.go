package gpu

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
)

// What nvidia-smi says in the place of a figure, each seen in NVIDIA's manuals and forums.
func TestWhatNvidiaSMIDoesNotKnowIsNull(t *testing.T) {
	for _, word := range []string{"[N/A]", "N/A", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]", "[GPU requires reset]", "ERR!", "", "-1", "nan", "inf", "4294967295000"} {
		line := "3, GPU-aaa, NVIDIA H200" + strings.Repeat(", "+word, 6)
		got, ok := parse(line)
		if diff := cmp.Diff(measure.GPUSample{Index: ptr(int64(3)), UUID: ptr("GPU-aaa"), Name: ptr("NVIDIA H200")}, got); !ok || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", line, ok, diff)
		}
	}
	for _, line := range []string{"", "No devices were found", "0, GPU-a", "x, GPU-a, H200, 1, 1, 1, 1, 1, 1", "index, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], clocks.current.sm [MHz], temperature.gpu"} {
		if _, ok := parse(line); ok {
			t.Errorf("%q was read as a GPU", line)
		}
	}
}

// An exporter in a cluster names the pod that has a GPU; one that several pods share has a series for each. What is blank in DCGM is a huge number.
const inACluster = `# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aaa",pci_bus_id="00000000:07:00.0",device="nvidia0",modelName="NVIDIA H200",Hostname="n1",DCGM_FI_DRIVER_VERSION="570.86.15",container="vllm",namespace="llm",pod="vllm-0"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aaa",pci_bus_id="00000000:07:00.0",device="nvidia0",modelName="NVIDIA H200",Hostname="n1",DCGM_FI_DRIVER_VERSION="570.86.15",container="other",namespace="llm",pod="other-0"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-bbb",pci_bus_id="00000000:08:00.0",device="nvidia1",modelName="NVIDIA H200",GPU_I_PROFILE="3g.71gb",GPU_I_ID="1",Hostname="n1",container="",namespace="",pod=""} 12
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-aaa",modelName="NVIDIA H200",Hostname="n1"} 1.40737488355328e+14
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-aaa",modelName="NVIDIA H200",Hostname="n1"} 9223372036854775792
# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aaa",modelName="NVIDIA H200",Hostname="n1"} 123456789
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-aaa",modelName="NVIDIA H200",Hostname="n1"} 61
`

func exporter(body string) *http.Client {
	return &http.Client{Transport: answers(func() (int, string) { return http.StatusOK, body })}
}

func TestADCGMExporterInAClusterIsRead(t *testing.T) {
	got, err := scrape(t.Context(), exporter(inACluster), "http://n1:9400/metrics")
	if err != nil {
		t.Fatal(err)
	}
	want := []measure.GPUSample{{Index: ptr(int64(0)), UUID: ptr("GPU-aaa"), Name: ptr("NVIDIA H200"), Utilization: ptr(0.97), Temperature: ptr(61.)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// fits holds what every sample promises.
func fits(t *testing.T, s measure.GPUSample) {
	t.Helper()
	if s.Utilization != nil && !(*s.Utilization >= 0 && *s.Utilization <= 1) {
		t.Errorf("utilization %v", *s.Utilization)
	}
	for _, value := range []*float64{s.Power, s.SMClock, s.Temperature} {
		if value != nil && !(*value >= 0) {
			t.Errorf("%+v", s)
		}
	}
	for _, value := range []*int64{s.MemoryUsed, s.MemoryTotal} {
		if value != nil && *value < 0 {
			t.Errorf("memory %d", *value)
		}
	}
}

func FuzzNvidiaSMI(f *testing.F) {
	f.Add("0, GPU-aaa, NVIDIA H200, 75, 1024, 143771, 500.25, 1980, 61")
	f.Add("1, GPU-bbb, NVIDIA H200, [N/A], 2, 143771, [Not Supported], 345, [N/A]")
	f.Fuzz(func(t *testing.T, line string) {
		if s, ok := parse(line); ok {
			fits(t, s)
		}
	})
}

func FuzzDCGM(f *testing.F) {
	f.Add(exported)
	f.Add(inACluster)
	f.Fuzz(func(t *testing.T, body string) {
		samples, err := scrape(t.Context(), exporter(body), "http://n1:9400/metrics")
		if err != nil && samples != nil {
			t.Error("an answer that can't be read gave samples")
		}
		for _, s := range samples {
			fits(t, s)
		}
	})
}
