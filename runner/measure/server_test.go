package measure

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
)

// scraped are the samples of scrapes one second apart, from second 1 on: of each series one value a scrape, null where it is below 0.
func scraped(series map[string][]float64) []Sample {
	var samples []Sample
	for i := range 6 {
		for name, values := range series {
			s := Sample{At: clock.Instant(i+1) * 1e9, Metric: name}
			if values[i] >= 0 {
				s.Value = &values[i]
			}
			samples = append(samples, s)
		}
	}
	return samples
}

func vllmSeries() map[string][]float64 {
	return map[string][]float64{
		"vllm:num_requests_running":            {0, 4, 8, 6, 2, 0},
		"vllm:num_requests_waiting":            {9, 0, 2, 4, 9, 9},
		"vllm:gpu_cache_usage_perc":            {0.9, 0.1, 0.5, 0.25, 0.9, 0.9},
		"vllm:num_preemptions_total":           {5, 5, 6, 7, 9, 20},
		"vllm:prefix_cache_queries_total":      {0, 100, 200, 300, 500, 900},
		"vllm:prefix_cache_hits_total":         {0, 0, 10, 60, 100, 900},
		"vllm:time_to_first_token_seconds_sum": {0, 1, 2, 3, 4, 90}, "vllm:time_to_first_token_seconds_count": {0, 10, 20, 24, 25, 90},
	}
}

// The measured phase is from 1.5 s to 4.5 s: scrapes at 2, 3 and 4 s lie in it, those at 1 and 5 s enclose it.
func TestServerFiguresAreOfTheMeasuredPhase(t *testing.T) {
	got := serverOf(scraped(vllmSeries()), 1, 15e8, 45e8)
	engine, running, waiting, most, cache, preempted, hits, ttft := "vllm", 6., 2., 4., 0.5, 4., 0.2, 0.16
	want := Server{&engine, &running, &waiting, &most, &cache, &preempted, &hits, &ttft}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAServiceDoesNotShowIsNull(t *testing.T) {
	series := vllmSeries()
	delete(series, "vllm:prefix_cache_hits_total")
	series["vllm:num_preemptions_total"] = []float64{5, 5, 5, 5, 0, 0} // started anew
	series["vllm:num_requests_waiting"] = []float64{1, -1, -1, -1, 1, 1}
	got := serverOf(scraped(series), 1, 15e8, 45e8)
	if got.ServerCacheHits != nil || got.ServerPreemptions != nil || got.ServerWaiting != nil || got.ServerWaitingMax != nil || got.ServerRunning == nil {
		t.Errorf("figures %+v", got)
	}
	if got := serverOf(scraped(vllmSeries()), 1, 15e8, 65e8); got.ServerPreemptions != nil || got.ServerRunning == nil {
		t.Errorf("a count without a scrape behind the phase: %+v", got)
	}
	for name, got := range map[string]Server{
		"no samples":       serverOf(nil, 1, 15e8, 45e8),
		"nothing measured": serverOf(scraped(vllmSeries()), 1, 0, 0),
		"another engine":   serverOf(scraped(map[string][]float64{"http_requests": {1, 2, 3, 4, 5, 6}}), 1, 15e8, 45e8),
	} {
		if got != (Server{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Data-parallel engines and several URLs are one service: their values at an instant are added up.
func TestSeriesOfOneNameAreAddedUp(t *testing.T) {
	one, two := scraped(vllmSeries()), scraped(vllmSeries())
	var both []Sample
	for i := range one {
		both = append(both, one[i], two[i])
	}
	got := serverOf(both, 1, 15e8, 45e8)
	if got.ServerRunning == nil || *got.ServerRunning != 12 {
		t.Errorf("running %v, want 12", got.ServerRunning)
	}
}

// Figures are of the whole service: what two of three replicas show is none.
func TestAURLThatShowsNothingLeavesNoFigure(t *testing.T) {
	shown := scraped(vllmSeries())
	for _, others := range [][]Sample{nil, scraped(map[string][]float64{"sglang:num_running_reqs": {1, 1, 1, 1, 1, 1}})} {
		both := slices.Clone(shown)
		for _, s := range others {
			s.URL = "http://b/metrics"
			both = append(both, s)
		}
		slices.SortStableFunc(both, func(a, b Sample) int { return int(a.At - b.At) })
		got := serverOf(both, 2, 15e8, 45e8)
		if got.ServerRunning != nil || got.ServerKVCacheMax != nil || got.ServerPreemptions != nil || got.ServerCacheHits != nil || Queues(both, 2)[3].Running != nil {
			t.Errorf("with %d samples of the other URL: %+v", len(others), got)
		}
	}
}

// Of shares there is no sum: two caches that are half full are not one that is full, and what share of all prompts was in a cache hangs on how many each had.
func TestSharesAreNotAddedUp(t *testing.T) {
	for _, urls := range [][]string{{"http://a/metrics", "http://a/metrics"}, {"http://a/metrics", "http://b/metrics"}} {
		var both []Sample
		for i, url := range urls {
			of := map[string][]float64{"sglang:num_running_reqs": {0, 4, 8, 6, 2, 0}, "sglang:token_usage": {0.9, 0.1, 0.5, 0.25, 0.9, 0.9}, "sglang:cache_hit_rate": {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}
			if i == 1 {
				of["sglang:token_usage"] = []float64{0.9, 0.2, 0.3, 0.7, 0.9, 0.9}
			}
			for _, s := range scraped(of) {
				s.URL = url
				both = append(both, s)
			}
		}
		slices.SortStableFunc(both, func(a, b Sample) int { return int(a.At - b.At) })
		got := serverOf(both, 1, 15e8, 45e8)
		if got.ServerRunning == nil || *got.ServerRunning != 12 || got.ServerKVCacheMax == nil || *got.ServerKVCacheMax != 0.7 || got.ServerCacheHits != nil {
			t.Errorf("%v: figures %+v, want 12 running, at most 0.7 of a cache in use, and no share of hits", urls, got)
		}
	}
}

// A sum of which one part is not a number is not known.
func TestAPartThatIsNoNumberIsNotLeftOutOfASum(t *testing.T) {
	two := append(scraped(map[string][]float64{"vllm:num_requests_running": {1, 1, 1, 1, 1, 1}, "vllm:num_preemptions_total": {0, 1, 2, 3, 4, 5}}),
		scraped(map[string][]float64{"vllm:num_requests_running": {-1, -1, -1, 2, -1, -1}, "vllm:num_preemptions_total": {-1, -1, -1, -1, -1, -1}})...)
	slices.SortStableFunc(two, func(a, b Sample) int { return int(a.At - b.At) })
	got := serverOf(two, 1, 15e8, 45e8)
	if got.ServerRunning == nil || *got.ServerRunning != 3 || got.ServerPreemptions != nil { // at 4 s alone
		t.Errorf("figures %+v", got)
	}
}

// Infinite values, and finite ones whose sum or difference is not, are no figures: none would stand in JSON.
func TestWhatIsNotFiniteIsNull(t *testing.T) {
	infinite, huge := math.Inf(1), math.MaxFloat64
	for name, values := range map[string][]float64{
		"infinite": {infinite, infinite, infinite, infinite, infinite, infinite},
		"huge":     {huge, huge, huge, huge, huge, huge},
	} {
		one := scraped(map[string][]float64{"vllm:num_requests_running": values, "vllm:num_preemptions_total": values})
		both := append(slices.Clone(one), one...)
		slices.SortStableFunc(both, func(a, b Sample) int { return int(a.At - b.At) })
		got := serverOf(both, 1, 15e8, 45e8)
		if got.ServerRunning != nil || got.ServerPreemptions != nil || Queues(both, 1)[3].Running != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A service that was started anew in the middle has lost what it had counted, however high it counts again.
func TestACounterThatFellInTheMiddleIsNoGrowth(t *testing.T) {
	series := vllmSeries()
	series["vllm:num_preemptions_total"] = []float64{5, 5, 0, 7, 9, 20}
	if got := serverOf(scraped(series), 1, 15e8, 45e8); got.ServerPreemptions != nil {
		t.Errorf("%v preemptions", *got.ServerPreemptions)
	}
}

// The service behind one URL did not answer once, just before the measured phase: what it had counted by then is no growth, and it did not stand still.
func TestAURLThatDoesNotAnswerIsNoChange(t *testing.T) {
	var both []Sample
	for _, url := range []string{"http://a/metrics", "http://b/metrics"} {
		for _, s := range scraped(vllmSeries()) {
			s.URL = url
			if url == "http://a/metrics" || s.At != 4e9 && s.At != 2e9 {
				both = append(both, s)
			}
		}
	}
	slices.SortStableFunc(both, func(a, b Sample) int { return int(a.At - b.At) })
	got := serverOf(both, 1, 25e8, 45e8)
	if got.ServerRunning == nil || *got.ServerRunning != 16 { // at 3 s alone
		t.Errorf("running %v, want 16", got.ServerRunning)
	}
	if got.ServerPreemptions == nil || *got.ServerPreemptions != 4+4 { // of one from 2 to 5 s, of the other from 1 to 5 s
		t.Errorf("preemptions %v, want 8", got.ServerPreemptions)
	}
	if hits := got.ServerCacheHits; hits == nil || *hits != (100.+100)/(400+500) {
		t.Errorf("hits %v", hits)
	}
}

// llama.cpp counts the tokens of prompts that were not in its cache, and those that were.
func TestLlamaCppCountsWhatItsCacheHadNot(t *testing.T) {
	got := serverOf(scraped(map[string][]float64{
		"llamacpp:requests_processing":        {0, 4, 8, 6, 2, 0},
		"llamacpp:prompt_tokens_total":        {100, 100, 200, 300, 400, 900},
		"llamacpp:prompt_tokens_cached_total": {50, 50, 60, 90, 150, 150},
	}), 1, 15e8, 45e8)
	if got.ServerEngine == nil || *got.ServerEngine != "llamacpp" || got.ServerCacheHits == nil || *got.ServerCacheHits != 0.25 {
		t.Errorf("figures %+v", got)
	}
	older := serverOf(scraped(map[string][]float64{"llamacpp:requests_processing": {0, 4, 8, 6, 2, 0}, "llamacpp:prompt_tokens_total": {0, 1, 2, 3, 4, 5}}), 1, 15e8, 45e8)
	if older.ServerCacheHits != nil {
		t.Errorf("without a count of what was found: %v", *older.ServerCacheHits)
	}
}
