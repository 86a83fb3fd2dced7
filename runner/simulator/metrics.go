package simulator

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows, named as vLLM names them.
type metrics struct {
	registry   *prometheus.Registry
	firstToken prometheus.Histogram
	ended      *prometheus.CounterVec
}

// The bounds of vLLM's histogram of times to first token, in seconds.
var firstTokenBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}

func newMetrics(model string, b backend) metrics {
	labels := prometheus.Labels{"engine": "0", "model_name": model}
	m := metrics{
		registry: prometheus.NewRegistry(),
		firstToken: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "vllm:time_to_first_token_seconds", ConstLabels: labels,
			Help: "Histogram of time to first token in seconds.", Buckets: firstTokenBounds}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:request_success_total", ConstLabels: labels,
			Help: "Count of requests by the reason for which they ended."}, []string{"finished_reason"}),
	}
	for _, reason := range []string{finishStop, finishLength, finishAbort} {
		m.ended.WithLabelValues(reason)
	}
	m.registry.MustRegister(m.firstToken, m.ended, newStatusCollector(labels, b))
	return m
}

func (m metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// statusCollector shows the backend's status, taken once for all of a scrape.
type statusCollector struct {
	backend backend
	shown   []shown
}

type shown struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(status) float64
}

func newStatusCollector(labels prometheus.Labels, b backend) *statusCollector {
	c := &statusCollector{backend: b}
	show := func(name, help string, kind prometheus.ValueType, value func(status) float64) {
		c.shown = append(c.shown, shown{prometheus.NewDesc(name, help, nil, labels), kind, value})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	show("vllm:num_requests_running", "Number of requests in the running batch.", gauge, func(s status) float64 { return float64(s.running) })
	show("vllm:num_requests_waiting", "Number of requests waiting to be admitted.", gauge, func(s status) float64 { return float64(s.waiting) })
	show("vllm:kv_cache_usage_perc", "Share of the KV cache blocks in use, 0 to 1.", gauge, func(s status) float64 { return s.cacheUsage })
	show("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.", counter, func(s status) float64 { return float64(s.queried) })
	show("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", counter, func(s status) float64 { return float64(s.hit) })
	show("vllm:num_preemptions_total", "Number of preemptions.", counter, func(s status) float64 { return float64(s.preempted) })
	show("vllm:prompt_tokens_total", "Prompt tokens prefilled.", counter, func(s status) float64 { return float64(s.prompted) })
	show("vllm:generation_tokens_total", "Tokens generated.", counter, func(s status) float64 { return float64(s.generated) })
	return c
}

// Describe implements [prometheus.Collector].
func (c *statusCollector) Describe(to chan<- *prometheus.Desc) {
	for _, s := range c.shown {
		to <- s.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *statusCollector) Collect(to chan<- prometheus.Metric) {
	now := c.backend.status()
	for _, s := range c.shown {
		to <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(now))
	}
}
