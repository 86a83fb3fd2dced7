package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"sweetspot/runner/measure"
	"sweetspot/runner/service/gpu"
	"sweetspot/runner/service/metrics"
	"sweetspot/schema"
)

// watchGPUs begins to watch the GPUs below the service where they can be reached. That they can't is said only where the preset asks for them, or declares
// GPUs below a service that was started here: elsewhere nobody expects them.
func (t *Target) watchGPUs(ctx context.Context) (notes []string) {
	service := t.config.Spec.Service
	asked := service.GPUMetrics()
	if asked == nil {
		asked = &schema.GPUMetrics{}
	}
	var err error
	switch {
	case asked.URL != "":
		t.gpus, err = gpu.Remote(ctx, asked.URL, asked.Devices, metrics.NewClient(false), t.config.Clock)
	case asked.NvidiaSMI != nil && *asked.NvidiaSMI || asked.NvidiaSMI == nil && isHere(service, t.config.URLs):
		devices, note, visible := t.devices(ctx, *asked)
		if note != "" || !visible {
			return said(note)
		}
		t.gpus, err = gpu.Local(ctx, devices, t.config.Clock)
	default:
		return nil
	}
	switch {
	case err == nil:
		return t.aboutGPUs(service)
	case service.GPUMetrics() != nil, startedHere(service) && (service.GPUs() != nil || !errors.Is(err, gpu.ErrNone)):
		return []string{t.config.Redact(fmt.Sprintf("%v: gpu_ columns are null", err))}
	}
	return nil
}

func said(note string) []string {
	if note == "" {
		return nil
	}
	return []string{note}
}

func startedHere(service schema.Service) bool {
	return service.Process != nil && service.Process.Command != nil
}

// devices are the numbers of the GPUs to watch, nil for all: those that the preset names, or that the environment of a service that was started here leaves it.
// Where these are certain, the service's GPUs are taken to be them. note says why none are watched; visible is false where there are none.
func (t *Target) devices(ctx context.Context, asked schema.GPUMetrics) (devices []int64, note string, visible bool) {
	if asked.Devices != nil || !startedHere(t.config.Spec.Service) {
		return asked.Devices, "", true
	}
	seen, err := gpu.See(ctx, t.config.ServiceEnv)
	switch {
	case errors.Is(err, gpu.ErrNone):
		return nil, "", true // which watching says as well
	case errors.Is(err, gpu.ErrUnseen):
		return nil, "", false
	case err != nil:
		return nil, fmt.Sprintf("which GPUs of this machine the service runs on is not known: %v: gpu_ columns are null until gpu_metrics.devices names them", err), false
	case seen.Certain && t.config.Spec.Service.GPUs() == nil:
		t.asked = &schema.GPUs{Name: seen.Name, Count: seen.Count}
	}
	switch {
	case seen.Devices == nil && seen.Certain:
		return nil, fmt.Sprintf("the service has %d × %s: nvidia-smi shows what whole GPUs do, so gpu_ columns are null", seen.Count, seen.Name), false
	case seen.Devices == nil:
		return nil, fmt.Sprintf("this machine has %d × %s: gpu_ columns are null, and those of the service are known where CUDA_VISIBLE_DEVICES names them", seen.Count, seen.Name), false
	case !seen.Certain:
		return nil, "", true
	}
	return seen.Devices, "", true
}

// isHere reports whether a service is known to run on this machine. What start begins may be anywhere.
func isHere(service schema.Service, urls []string) bool {
	if service.Endpoint == nil {
		return startedHere(service)
	}
	for _, base := range urls {
		at, err := url.Parse(base)
		if err != nil {
			return false
		}
		if ip := net.ParseIP(at.Hostname()); at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// aboutGPUs says where the GPUs that are watched are not those that the preset declares.
func (t *Target) aboutGPUs(service schema.Service) []string {
	seen := t.gpus.GPUs()
	declared := service.GPUs()
	switch {
	case t.asked != nil:
		return []string{fmt.Sprintf("gpus: %d × %s, asked of this machine, since the preset declares none", t.asked.Count, t.asked.Name)}
	case declared == nil && service.Process != nil:
		name := "NAME"
		if seen[0].Name != nil {
			name = *seen[0].Name
		}
		return []string{fmt.Sprintf("this machine shows %s: where the service runs on them, service.process.gpus: {name: %s, count: %d} gives throughput per GPU",
			counted(seen), strconv.Quote(name), len(seen))}
	case declared != nil && declared.Count != int64(len(seen)):
		return []string{fmt.Sprintf("%s watched and gpus declares %d: gpu_ columns are null until gpu_metrics.devices names those of the service",
			counted(seen), declared.Count)}
	}
	return nil
}

// counted is such as "2 GPUs (NVIDIA H200)".
func counted(seen []measure.GPUSample) string {
	text := fmt.Sprintf("%d GPUs", len(seen))
	if len(seen) == 1 {
		text = "1 GPU"
	}
	if seen[0].Name != nil {
		text += " (" + *seen[0].Name + ")"
	}
	return text
}

// measureGPUs begins a measurement of what the GPUs do; nothing where none is watched.
func (t *Target) measureGPUs() (finish func() []measure.GPUSample) {
	if t.gpus == nil {
		return func() []measure.GPUSample { return nil }
	}
	return t.gpus.Measure()
}
