// Package metrics reads what a service shows of itself at /metrics, in the text format of Prometheus, while a point is measured.
//
// It asks once a second, beside the load and with a connection of its own, and keeps each value as a [measure.Sample]; what follows from them is
// package measure's to say. A service that shows nothing is no fault.
package metrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// mostValues bounds what is kept of one measurement: what comes behind them is not.
const mostValues = 1 << 20

// Source is where services show their metrics. It is safe for several goroutines.
type Source struct {
	Client *http.Client
	Header http.Header // sent along, as with the service's other requests
	URLs   []string    // see [Address]
	Clock  clock.Clock
}

// NewClient gives a client of its own for metrics, so that no request of the load waits for one of them.
func NewClient(skipVerifyTLS bool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: skipVerifyTLS}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the header is for no other service
}

// Address is where a service whose API has the given base shows its metrics: beside the version, as http://127.0.0.1:8000/metrics for
// http://127.0.0.1:8000/v1.
func Address(base string) (string, error) {
	address, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	address.Path = strings.TrimSuffix(strings.TrimSuffix(address.Path, "/"), "/v1")
	return address.JoinPath("metrics").String(), nil
}

// Look asks each URL once, and gives those that show metrics and a line for each that does not.
func (s Source) Look(ctx context.Context) (shown Source, notes []string) {
	shown = s
	shown.URLs = nil
	for _, address := range s.URLs {
		if _, err := s.scrape(ctx, address); err != nil {
			notes = append(notes, fmt.Sprintf("the service shows no metrics at %s (%v): server_ columns are null", address, err))
			continue
		}
		shown.URLs = append(shown.URLs, address)
	}
	return shown, notes
}

// Watch asks all URLs at once, again each second, and a last time when the function that it returns is called. That function gives what there was,
// in order of time; it waits for the last answers.
func (s Source) Watch(ctx context.Context) (finish func() []measure.Sample) {
	if len(s.URLs) == 0 {
		return func() []measure.Sample { return nil }
	}
	w := &watch{source: s}
	w.ask(ctx)
	asking, stop := context.WithCancel(ctx)
	over := EachSecond(asking, func() { w.ask(ctx) })
	return func() []measure.Sample {
		stop()
		<-over
		w.ask(ctx)
		return w.samples
	}
}

// EachSecond calls do each second, first after one, until ctx is done. The channel that it returns is closed once do is not called again.
func EachSecond(ctx context.Context, do func()) (over <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-ctx.Done():
				return
			}
		}
	}()
	return ended
}

// watch gathers what scrapes give.
type watch struct {
	source  Source
	samples []measure.Sample
}

// ask makes a scrape. All of its samples have one instant, so that those of several URLs can be added up. An answer that does not come is a gap in the
// samples: the next one follows.
func (w *watch) ask(ctx context.Context) {
	scraped := make([][]measure.Sample, len(w.source.URLs))
	var waits sync.WaitGroup
	for i, address := range w.source.URLs {
		waits.Go(func() { scraped[i], _ = w.source.scrape(ctx, address) })
	}
	waits.Wait()
	now := w.source.Clock.Now()
	for _, samples := range scraped {
		if len(w.samples)+len(samples) > mostValues {
			return
		}
		for _, sample := range samples {
			sample.At = now
			w.samples = append(w.samples, sample)
		}
	}
}

func (s Source) scrape(ctx context.Context, address string) ([]measure.Sample, error) {
	families, err := Families(ctx, s.Client, address, s.Header)
	if err != nil {
		return nil, err
	}
	if len(families) == 0 {
		return nil, errors.New("it is empty")
	}
	return samplesOf(address, families), nil
}

// samplesOf gives the values of all families in order of their names. Of histograms and summaries, sum and count are kept.
func samplesOf(address string, families map[string]*dto.MetricFamily) []measure.Sample {
	var samples []measure.Sample
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		if strings.HasSuffix(name, "_created") {
			continue
		}
		for _, m := range family.GetMetric() {
			add := func(name, kind string, value float64) {
				samples = append(samples, labelled(measure.Sample{URL: address, Metric: name, Kind: kind, Value: finite(value)}, m.GetLabel()))
			}
			switch {
			case m.Counter != nil:
				add(name, "counter", m.Counter.GetValue())
			case m.Gauge != nil:
				add(name, "gauge", m.Gauge.GetValue())
			case m.Untyped != nil:
				add(name, "untyped", m.Untyped.GetValue())
			case m.Histogram != nil:
				add(name+"_sum", "sum", m.Histogram.GetSampleSum())
				add(name+"_count", "count", float64(m.Histogram.GetSampleCount()))
			case m.Summary != nil:
				add(name+"_sum", "sum", m.Summary.GetSampleSum())
				add(name+"_count", "count", float64(m.Summary.GetSampleCount()))
			}
		}
	}
	return samples
}

func finite(value float64) *float64 {
	if math.IsNaN(value) {
		return nil
	}
	return &value
}

// labelled gives the sample its labels.
func labelled(s measure.Sample, labels []*dto.LabelPair) measure.Sample {
	var others []string
	for _, label := range labels {
		value := label.GetValue()
		switch label.GetName() {
		case "engine":
			s.Engine = &value
		case "model_name":
			s.ModelName = &value
		case "finished_reason":
			s.FinishedReason = &value
		default:
			others = append(others, label.GetName()+"="+value)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		text := strings.Join(others, ",")
		s.Labels = &text
	}
	return s
}
