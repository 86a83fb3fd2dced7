package gpu

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/service/metrics"
)

// Remote watches GPUs through the metrics of a DCGM exporter, once a second. devices are their numbers, nil for all. It returns when the exporter has answered
// once with a GPU; an error says why it did not.
func Remote(ctx context.Context, at string, devices []int64, client *http.Client, c clock.Clock) (*Watcher, error) {
	w := &Watcher{clock: c, devices: devices}
	samples, err := scrape(ctx, client, at)
	if err != nil {
		return nil, fmt.Errorf("watching the GPUs with the DCGM exporter: %w", err)
	}
	w.take(samples)
	if len(w.GPUs()) == 0 {
		return nil, fmt.Errorf("watching the GPUs with the DCGM exporter: it shows none of those that are to be watched (DCGM_FI_DEV_ series with a label gpu)")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := metrics.EachSecond(ctx, func() {
		if samples, err := scrape(ctx, client, at); err == nil { // an answer that does not come is a gap
			w.take(samples)
		}
	})
	w.stop = func() {
		cancel()
		<-over
	}
	return w, nil
}

func (w *Watcher) take(samples []measure.GPUSample) {
	now := w.clock.Now()
	for _, s := range samples {
		s.At = now
		w.add(s)
	}
}

func scrape(ctx context.Context, client *http.Client, at string) ([]measure.GPUSample, error) {
	families, err := metrics.Families(ctx, client, at, nil)
	if err != nil {
		return nil, err
	}
	return samplesOf(families), nil
}

// samplesOf gives a sample per GPU, in order of their ids. Series of the parts that a GPU may be divided into are left out: its power is that of the whole.
func samplesOf(families map[string]*dto.MetricFamily) []measure.GPUSample {
	found := map[string]*measure.GPUSample{}
	free, reserved := map[string]*int64{}, map[string]*int64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			id := labels["Hostname"] + "/" + labels["UUID"] + "/" + labels["gpu"]
			index, err := strconv.ParseInt(labels["gpu"], 10, 64)
			if err != nil || labels["GPU_I_ID"] != "" {
				continue
			}
			s := found[id]
			if s == nil {
				s = &measure.GPUSample{Index: &index, UUID: given(labels["UUID"]), Name: given(labels["modelName"])}
				found[id] = s
			}
			text := strconv.FormatFloat(valueOf(m), 'g', -1, 64)
			switch name {
			case "DCGM_FI_DEV_GPU_UTIL":
				s.Utilization = share(text)
			case "DCGM_FI_DEV_FB_USED":
				s.MemoryUsed = whole(text, mebibyte)
			case "DCGM_FI_DEV_FB_TOTAL":
				s.MemoryTotal = whole(text, mebibyte)
			case "DCGM_FI_DEV_FB_FREE":
				free[id] = whole(text, mebibyte)
			case "DCGM_FI_DEV_FB_RESERVED":
				reserved[id] = whole(text, mebibyte)
			case "DCGM_FI_DEV_POWER_USAGE":
				s.Power = number(text, 1)
			case "DCGM_FI_DEV_SM_CLOCK":
				s.SMClock = number(text, megahertz)
			case "DCGM_FI_DEV_GPU_TEMP":
				s.Temperature = number(text, 1)
			}
		}
	}
	var samples []measure.GPUSample
	for _, id := range slices.Sorted(maps.Keys(found)) {
		s := found[id]
		if s.MemoryTotal == nil && s.MemoryUsed != nil && free[id] != nil && reserved[id] != nil {
			total := *s.MemoryUsed + *free[id] + *reserved[id]
			s.MemoryTotal = &total
		}
		samples = append(samples, *s)
	}
	return samples
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.GetUntyped().GetValue()
}
