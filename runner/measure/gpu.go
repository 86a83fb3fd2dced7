package measure

import (
	"slices"
	"strconv"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// GPUSample is what one GPU was seen to do at one instant. What its source does not say is nil.
type GPUSample struct {
	At          clock.Instant `json:"at_ns" unit:"ns" doc:"the figures had been read"`
	Index       *int64        `json:"gpu_index" doc:"number of the GPU on its machine"`
	UUID        *string       `json:"gpu_uuid" doc:"id of the GPU"`
	Name        *string       `json:"gpu_name" doc:"kind of GPU, as its driver names it"`
	Utilization *float64      `json:"utilization" doc:"share of the last moments in which the GPU computed at all, 0 to 1: it does not say how much of it did"`
	MemoryUsed  *int64        `json:"memory_used_bytes" unit:"B" doc:"memory in use"`
	MemoryTotal *int64        `json:"memory_total_bytes" unit:"B" doc:"memory that it has"`
	Power       *float64      `json:"power_w" unit:"W" doc:"power drawn"`
	SMClock     *float64      `json:"sm_clock_hz" unit:"Hz" doc:"clock of its multiprocessors"`
	Temperature *float64      `json:"temperature_c" unit:"°C" doc:"temperature"`
}

// Device names the GPU that a sample is of: its id, or else its number.
func (s *GPUSample) Device() string {
	switch {
	case s.UUID != nil:
		return *s.UUID
	case s.Index != nil:
		return strconv.FormatInt(*s.Index, 10)
	}
	return ""
}

// GPURow is a row of the gpu table.
type GPURow struct {
	Keys
	GPUSample
}

// Telemetry is what the GPUs were seen to do in the measured phase. A figure is null where there was nothing to see, and where one of the GPUs does not
// say it.
type Telemetry struct {
	GPUsSeen          *int64   `json:"gpus_seen" doc:"GPUs that were watched; where the preset declares another number below the service, the figures of the GPUs are null"`
	GPUUtilization    *float64 `json:"gpu_utilization_mean" doc:"share of the time in which a GPU computed at all, mean over the GPUs, 0 to 1"`
	GPUMemoryMax      *int64   `json:"gpu_memory_used_max_bytes" unit:"B" doc:"most memory in use on any one GPU"`
	GPUPower          *float64 `json:"gpu_power_mean_w" unit:"W" doc:"power that the GPUs drew together, mean over the time"`
	GPUEnergy         *float64 `json:"gpu_energy_j" unit:"J" doc:"energy that the GPUs drew together over wall_s, by the trapezoidal rule"`
	GPUEnergyPerToken *float64 `json:"gpu_energy_per_output_token_j" unit:"J" doc:"gpu_energy_j over output_tokens"`
}

// Over gives the figures where they are those of the GPUs that the preset declares: where it declares another number than was seen, others on the
// machine were seen too, or not all, and only the number is left. gpus is nil where none are declared.
func (t Telemetry) Over(gpus *schema.GPUs) Telemetry {
	if gpus != nil && t.GPUsSeen != nil && *t.GPUsSeen != gpus.Count {
		return Telemetry{GPUsSeen: t.GPUsSeen}
	}
	return t
}

const (
	mostHeld = 2 * time.Second // for which the power at the first or last reading is taken for that before or behind it
	mostGap  = 5 * time.Second // between two readings that power is taken to go straight between
)

// telemetryOf derives the figures from samples in order of time, for a measured phase from one instant to another.
func telemetryOf(samples []GPUSample, from, to clock.Instant, outputTokens *int64) Telemetry {
	if !from.Happened() || !to.Happened() || to <= from {
		return Telemetry{}
	}
	devices := map[string][]GPUSample{}
	for _, s := range samples {
		devices[s.Device()] = append(devices[s.Device()], s)
	}
	if len(devices) == 0 {
		return Telemetry{}
	}
	t := Telemetry{GPUsSeen: asInt(len(devices))}
	var utilization, energy sum
	memory := most{}
	for _, of := range devices {
		energy.add(energyOf(of, from, to))
		within := slices.DeleteFunc(of, func(s GPUSample) bool { return s.At < from || s.At > to })
		utilization.add(utilizationOf(within))
		memory.add(within)
	}
	t.GPUUtilization = over(utilization.known(), asFloat(t.GPUsSeen))
	t.GPUMemoryMax = memory.known(len(devices))
	t.GPUEnergy = energy.known()
	t.GPUPower = over(t.GPUEnergy, to.SecondsSince(from))
	t.GPUEnergyPerToken = over(t.GPUEnergy, asFloat(outputTokens))
	return t
}

// sum adds figures up; it is not known where one of them is not.
type sum struct {
	value   float64
	unknown bool
}

func (s *sum) add(value *float64) {
	if value == nil {
		s.unknown = true
		return
	}
	s.value += *value
}

func (s *sum) known() *float64 {
	if s.unknown {
		return nil
	}
	return &s.value
}

// most is the greatest of the memory in use, and how many GPUs say theirs.
type most struct {
	bytes int64
	say   int
}

func (m *most) add(samples []GPUSample) {
	says := false
	for _, s := range samples {
		if s.MemoryUsed != nil {
			says, m.bytes = true, max(m.bytes, *s.MemoryUsed)
		}
	}
	if says {
		m.say++
	}
}

func (m *most) known(devices int) *int64 {
	if m.say < devices {
		return nil
	}
	return &m.bytes
}

func utilizationOf(samples []GPUSample) *float64 {
	total, n := 0.0, int64(0)
	for _, s := range samples {
		if s.Utilization != nil {
			total += *s.Utilization
			n++
		}
	}
	return over(&total, asFloat(&n))
}

// energyOf is the energy in joules that one GPU drew from one instant to another: the area below the straight lines between its readings. It is nil
// where they leave a part of the time open.
func energyOf(samples []GPUSample, from, to clock.Instant) *float64 {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s GPUSample) bool { return s.Power == nil })
	if len(samples) == 0 {
		return nil
	}
	first, last := samples[0], samples[len(samples)-1]
	if first.At > from {
		if first.At-from > clock.Instant(mostHeld) {
			return nil
		}
		first.At = from
		samples = append([]GPUSample{first}, samples...)
	}
	if last.At < to {
		if to-last.At > clock.Instant(mostHeld) {
			return nil
		}
		last.At = to
		samples = append(samples, last)
	}
	joules := 0.0
	for i := range samples[1:] {
		a, b := samples[i], samples[i+1]
		if b.At <= from || a.At >= to || b.At == a.At {
			continue
		}
		if b.At-a.At > clock.Instant(mostGap) {
			return nil
		}
		at := func(t clock.Instant) float64 {
			return *a.Power + (*b.Power-*a.Power)*float64(t-a.At)/float64(b.At-a.At)
		}
		start, end := max(a.At, from), min(b.At, to)
		joules += (at(start) + at(end)) / 2 * time.Duration(end-start).Seconds()
	}
	return &joules
}

func asInt(n int) *int64 {
	wide := int64(n)
	return &wide
}
