package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// reading is a reading of a GPU; what is below 0 is not said.
func reading(at clock.Instant, uuid string, utilization, power float64, memory int64) GPUSample {
	s := GPUSample{At: at, UUID: &uuid}
	if utilization >= 0 {
		s.Utilization = &utilization
	}
	if power >= 0 {
		s.Power = &power
	}
	if memory >= 0 {
		s.MemoryUsed = &memory
	}
	return s
}

func figure[T any](v T) *T { return &v }

func TestTelemetryByHand(t *testing.T) {
	tokens := int64(50)
	samples := []GPUSample{
		reading(9*second, "a", 0, 100, 10), reading(9*second, "b", 0, 50, 5),
		reading(11*second, "a", 0.5, 300, 20), reading(11*second, "b", 0.25, 50, 90),
		reading(13*second, "a", 0.75, 300, 30), reading(13*second, "b", 0.25, 50, 60),
	}
	// From 10 s to 14 s. a: 200 W at 10 s rising to 300 W at 11 s is 250 J, then 3 s of 300 W, the last of which is held. b: 4 s of 50 W.
	energy := 250. + 3*300 + 4*50
	want := Telemetry{
		GPUsSeen: figure(int64(2)), GPUUtilization: figure((0.625 + 0.25) / 2), GPUMemoryMax: figure(int64(90)),
		GPUPower: figure(energy / 4), GPUEnergy: &energy, GPUEnergyPerToken: figure(energy / 50),
	}
	if diff := cmp.Diff(want, telemetryOf(samples, 10*second, 14*second, &tokens)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTelemetryThatIsNotKnownIsNull(t *testing.T) {
	for name, test := range map[string]struct {
		samples []GPUSample
		want    Telemetry
	}{
		"nothing seen":             {nil, Telemetry{}},
		"no power":                 {[]GPUSample{reading(10*second, "a", 0.5, -1, 7), reading(12*second, "a", 0.5, -1, 7)}, Telemetry{GPUsSeen: figure(int64(1)), GPUUtilization: figure(0.5), GPUMemoryMax: figure(int64(7))}},
		"one of two says nothing":  {[]GPUSample{reading(12*second, "a", 0.5, 100, 7), reading(12*second, "b", -1, -1, -1)}, Telemetry{GPUsSeen: figure(int64(2))}},
		"the reading began late":   {[]GPUSample{reading(13*second, "a", -1, 100, -1), reading(14*second, "a", -1, 100, -1)}, Telemetry{GPUsSeen: figure(int64(1))}},
		"the reading ended early":  {[]GPUSample{reading(10*second, "a", -1, 100, -1), reading(11*second, "a", -1, 100, -1)}, Telemetry{GPUsSeen: figure(int64(1))}},
		"the reading has a hole":   {[]GPUSample{reading(8*second, "a", -1, 100, -1), reading(14*second, "a", -1, 100, -1)}, Telemetry{GPUsSeen: figure(int64(1))}},
		"only before the measured": {[]GPUSample{reading(1*second, "a", 0.5, 100, 7)}, Telemetry{GPUsSeen: figure(int64(1))}},
	} {
		if diff := cmp.Diff(test.want, telemetryOf(test.samples, 10*second, 14*second, nil)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestTelemetryOfOtherGPUsIsNotTheServices(t *testing.T) {
	seen := Telemetry{GPUsSeen: figure(int64(8)), GPUEnergy: figure(1.)}
	if got := seen.Over(&schema.GPUs{Count: 2}); got.GPUEnergy != nil || *got.GPUsSeen != 8 {
		t.Errorf("figures of 8 GPUs are given for 2: %+v", got)
	}
	if seen.Over(nil).GPUEnergy == nil || seen.Over(&schema.GPUs{Count: 8}).GPUEnergy == nil {
		t.Error("figures are gone though nothing contradicts them")
	}
}
