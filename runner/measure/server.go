package measure

import (
	"math"
	"slices"

	"sweetspot/runner/clock"
)

// Sample is one value of one series that a service shows of itself.
type Sample struct {
	At             clock.Instant `json:"at_ns" unit:"ns" doc:"the service's answer had been read"`
	URL            string        `json:"url" doc:"where it was asked"`
	Metric         string        `json:"metric" doc:"name of the series as the service shows it, such as vllm:num_requests_running; a histogram or summary has a series _sum and one _count"`
	Kind           string        `json:"kind" doc:"counter, gauge, untyped, sum or count"`
	Value          *float64      `json:"value" doc:"the value; null where it is not a number"`
	Engine         *string       `json:"engine" doc:"label engine"`
	ModelName      *string       `json:"model_name" doc:"label model_name"`
	FinishedReason *string       `json:"finished_reason" doc:"label finished_reason"`
	Labels         *string       `json:"labels" doc:"all other labels in order of their names, as name=value with commas between"`
}

// MetricRow is a row of the server_metrics table.
type MetricRow struct {
	Keys
	Sample
}

// Server is what the service's own metrics say of the measured phase. A figure is null where the service does not show what it is made of. Means and
// the greatest are over the scrapes in the measured phase; counts are from the last scrape before it to the first behind it, so that up to a second
// of warmup and drain is in them.
type Server struct {
	ServerEngine      *string  `json:"server_engine" doc:"engine that the service's metrics are named by: vllm, sglang, tgi or llamacpp; null where it shows none that is known"`
	ServerRunning     *float64 `json:"server_requests_running_mean" doc:"requests that the service worked on, mean over the scrapes"`
	ServerWaiting     *float64 `json:"server_requests_waiting_mean" doc:"requests that waited in the service, mean over the scrapes"`
	ServerWaitingMax  *float64 `json:"server_requests_waiting_max" doc:"most requests that waited in the service"`
	ServerKVCacheMax  *float64 `json:"server_kv_cache_usage_max" doc:"greatest share of a KV cache in use, 0 to 1; of several engines or replicas that of the fullest"`
	ServerPreemptions *float64 `json:"server_preemptions" doc:"requests that the service put back for lack of KV cache"`
	ServerCacheHits   *float64 `json:"server_prefix_cache_hit_ratio" doc:"tokens found in the service's prefix cache over tokens looked up; null of several engines or replicas that show the share alone"`
	ServerTTFTMean    *float64 `json:"server_ttft_mean_s" unit:"s" doc:"mean time to first token by the service's own count; what ttft_mean_s has above it is network and client"`
}

// engineMetrics names the series that the figures of [Server] are made of: the first of the names that the service shows, since versions differ.
// Without a name, the engine does not show the figure.
type engineMetrics struct {
	engine                            string
	running, waiting, kvCache         []string // gauges
	preemptions, queries, hits        []string // counters
	misses                            []string // counters, for engines that count what was not found in the place of queries
	ttftSum, ttftCount, cacheHitRatio []string // the last one is a gauge, for engines that count neither queries nor hits
}

var engines = []engineMetrics{
	{
		engine: "vllm", running: []string{"vllm:num_requests_running"}, waiting: []string{"vllm:num_requests_waiting"},
		kvCache:     []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
		preemptions: []string{"vllm:num_preemptions_total"},
		queries:     []string{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
		hits:        []string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
		ttftSum:     []string{"vllm:time_to_first_token_seconds_sum"}, ttftCount: []string{"vllm:time_to_first_token_seconds_count"},
	},
	{
		engine: "sglang", running: []string{"sglang:num_running_reqs"}, waiting: []string{"sglang:num_queue_reqs"}, kvCache: []string{"sglang:token_usage"},
		cacheHitRatio: []string{"sglang:cache_hit_rate"},
		ttftSum:       []string{"sglang:time_to_first_token_seconds_sum"}, ttftCount: []string{"sglang:time_to_first_token_seconds_count"},
	},
	{engine: "tgi", running: []string{"tgi_batch_current_size"}, waiting: []string{"tgi_queue_size"}},
	{
		engine: "llamacpp", running: []string{"llamacpp:requests_processing"}, waiting: []string{"llamacpp:requests_deferred"},
		kvCache: []string{"llamacpp:kv_cache_usage_ratio"},
		hits:    []string{"llamacpp:prompt_tokens_cached_total"}, misses: []string{"llamacpp:prompt_tokens_total"},
	},
}

// serverOf derives the figures from samples in order of time, for a measured phase from one instant to another. A figure is of the whole service, that is of
// so many URLs (0 is taken for 1): it is null where one of them does not show it.
func serverOf(samples []Sample, urls int, from, to clock.Instant) Server {
	if len(samples) == 0 || !from.Happened() || !to.Happened() {
		return Server{}
	}
	s := scrapesOf(samples, urls)
	names := s.engine()
	if names == nil {
		return Server{}
	}
	figures := Server{ServerEngine: &names.engine}
	figures.ServerRunning, _ = s.gauge(names.running, seen.total, from, to)
	figures.ServerWaiting, figures.ServerWaitingMax = s.gauge(names.waiting, seen.total, from, to)
	_, figures.ServerKVCacheMax = s.gauge(names.kvCache, seen.most, from, to)
	figures.ServerPreemptions = s.grown(names.preemptions, from, to)
	hits, queries := s.grown(names.hits, from, to), s.grown(names.queries, from, to)
	if len(names.misses) > 0 {
		both := sum{}
		both.add(hits)
		both.add(s.grown(names.misses, from, to))
		queries = both.known()
	}
	figures.ServerCacheHits = over(hits, queries)
	if len(names.cacheHitRatio) > 0 {
		figures.ServerCacheHits, _ = s.gauge(names.cacheHitRatio, seen.only, from, to)
	}
	figures.ServerTTFTMean = over(s.grown(names.ttftSum, from, to), s.grown(names.ttftCount, from, to))
	return figures
}

// seen is what there is of a series at one instant, over the labels and the URLs that have it.
type seen struct {
	sum      sum
	greatest float64
	series   int
}

func (r seen) with(other seen) seen {
	r.sum.add(other.sum.known())
	if r.series == 0 || other.greatest > r.greatest {
		r.greatest = other.greatest
	}
	r.series += other.series
	return r
}

// finite is nil for what counts nothing: a service may show anything.
func finite(value *float64) *float64 {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return nil
	}
	return value
}

// total is for what adds up.
func (r seen) total() *float64 { return finite(r.sum.known()) }

// most is for shares, which don't.
func (r seen) most() *float64 {
	if r.sum.unknown {
		return nil
	}
	return &r.greatest
}

// only is for shares that several can't be made one of.
func (r seen) only() *float64 {
	if r.series > 1 {
		return nil
	}
	return r.total()
}

// scrapes are what was seen of each series by the URL and the time of the scrape.
type scrapes struct {
	urls   int // of the service, whether they show anything or not
	times  []clock.Instant
	values map[string]map[string]map[clock.Instant]seen
}

func scrapesOf(samples []Sample, urls int) scrapes {
	s := scrapes{urls: max(1, urls), values: map[string]map[string]map[clock.Instant]seen{}}
	for i := range samples {
		sample := &samples[i]
		if len(s.times) == 0 || s.times[len(s.times)-1] != sample.At {
			s.times = append(s.times, sample.At)
		}
		byURL := s.values[sample.Metric]
		if byURL == nil {
			byURL = map[string]map[clock.Instant]seen{}
			s.values[sample.Metric] = byURL
		}
		if byURL[sample.URL] == nil {
			byURL[sample.URL] = map[clock.Instant]seen{}
		}
		one := seen{series: 1}
		value := finite(sample.Value)
		if one.sum.add(value); value != nil {
			one.greatest = *value
		}
		byURL[sample.URL][sample.At] = byURL[sample.URL][sample.At].with(one)
	}
	return s
}

// engine is the engine that the series are named by; nil where it is none that is known.
func (s *scrapes) engine() *engineMetrics {
	i := slices.IndexFunc(engines, func(e engineMetrics) bool { return s.named(e.running) != "" })
	if i < 0 {
		return nil
	}
	return &engines[i]
}

// named is the first of the names that there is a series of.
func (s *scrapes) named(names []string) string {
	for _, name := range names {
		if s.values[name] != nil {
			return name
		}
	}
	return ""
}

// gauge is the mean and the greatest of a series in the measured phase, of which of takes a value from each scrape.
func (s *scrapes) gauge(names []string, of func(seen) *float64, from, to clock.Instant) (mean, greatest *float64) {
	var values []float64
	for _, at := range s.times {
		if value := of(s.at(names, at)); value != nil && at >= from && at <= to {
			values = append(values, *value)
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	average, most := sum/float64(len(values)), slices.Max(values)
	return &average, &most
}

// grown is by how much a counter grew at all URLs from the last scrape before the measured phase to the first behind it; nil where one of the two is
// missing, or where it fell between them: the service was started anew.
func (s *scrapes) grown(names []string, from, to clock.Instant) *float64 {
	byURL := s.values[s.named(names)]
	growth := sum{unknown: len(byURL) < s.urls}
	for _, values := range byURL {
		growth.add(s.grownAt(values, from, to))
	}
	return growth.known()
}

// grownAt is the same of one URL, whose scrapes may have gaps where another's have none.
func (s *scrapes) grownAt(values map[clock.Instant]seen, from, to clock.Instant) *float64 {
	var before, last *float64
	for _, at := range s.times {
		value := values[at].total()
		if values[at].series == 0 || value == nil {
			continue
		}
		if at <= from {
			before, last = value, value
			continue
		}
		if before == nil || *value < *last {
			return nil
		}
		if last = value; at >= to {
			growth := *last - *before
			return finite(&growth)
		}
	}
	return nil
}

// Queue is how many requests a service ran and how many waited in it at one instant; nil where it does not show it.
type Queue struct {
	At               clock.Instant
	Running, Waiting *float64
}

// Queues are the queues of a service of so many URLs (0 is taken for 1) over samples in order of time; none where its engine is not known.
func Queues(samples []Sample, urls int) []Queue {
	s := scrapesOf(samples, urls)
	names := s.engine()
	if names == nil {
		return nil
	}
	queues := make([]Queue, len(s.times))
	for i, at := range s.times {
		queues[i] = Queue{at, s.at(names.running, at).total(), s.at(names.waiting, at).total()}
	}
	return queues
}

// at is a series at an instant over all URLs; not known where one of them did not answer then, or shows none.
func (s *scrapes) at(names []string, at clock.Instant) seen {
	byURL := s.values[s.named(names)]
	all := seen{sum: sum{unknown: len(byURL) < s.urls}}
	for _, values := range byURL {
		value, ok := values[at]
		value.sum.unknown = value.sum.unknown || !ok
		all = all.with(value)
	}
	return all
}
