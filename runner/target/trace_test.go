package target

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sweetspot/runner"
	"sweetspot/runner/clock"
	"sweetspot/schema"
)

// replayedAt replays a file at a service and gives the requests that the service saw, those before the point left out.
func replayedAt(t *testing.T, service *witness, spec func(*schema.Spec), content string, point runner.Point) []seen {
	t.Helper()
	config := configOf(t, service.url)
	spec(&config.Spec)
	config.Files = holding(t, content, new(int))
	made, ready, err := Prepare(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	point.DrainTimeout = schema.Duration(time.Minute)
	outcome, err := made.Measure(t.Context(), Job{Point: point}, Watch{})
	if err != nil || outcome.Aborted != "" {
		t.Fatalf("measuring: %v, aborted %q", err, outcome.Aborted)
	}
	made.Close()
	return service.requests(t, ready.Spent.Requests)
}

// sharedBlocks are the blocks of a small trace: conversations that grow, a question that several ask, and one that stands alone.
var sharedBlocks = [][]int{{1, 2, 3}, {9, 2, 3}, {1, 2, 3, 4, 5}, {1, 2, 6}, {20, 21, 22, 23, 24, 25}, {20, 21, 22, 23, 24, 26}, {9, 2, 30, 31}, {40}}

// By the service's own account its prefix cache has, of each prompt, what the trace says that an earlier one had, whether prompts are isolated by nonces
// or by salts, and nothing else. When the file begins again it has nothing of the first time.
func TestSaltsAndNoncesLeaveTheSharingOfATraceAlone(t *testing.T) {
	const block, laps = 128, 2
	var file strings.Builder
	for i, ids := range sharedBlocks {
		fmt.Fprintf(&file, `{"timestamp": %d, "input_length": %d, "output_length": 2, "hash_ids": %s}`+"\n", i, block*len(ids), strings.ReplaceAll(fmt.Sprint(ids), " ", ","))
	}
	for _, salted := range []bool{false, true} {
		all := replayedAt(t, newWitness(t), func(spec *schema.Spec) {
			spec.Workload = schema.Workload{Trace: &schema.Trace{File: "t.jsonl", Format: "mooncake", BlockSize: new(int64(block)), OverMaxContext: "refuse"}}
			spec.Request.CacheSalt = salted
		}, file.String(), runner.Point{Load: schema.PointLoad{Concurrency: new(int64(1))}, Requests: laps * int64(len(sharedBlocks))})
		if len(all) != laps*len(sharedBlocks) {
			t.Fatalf("the service saw %d requests", len(all))
		}
		for i, r := range all {
			i %= len(sharedBlocks)
			want := block * sharedBefore(i)
			most := want + 16 // its last block in part
			if want > 0 && !salted {
				most += 64 // the nonce
			}
			if want == 0 {
				most = 0
			}
			if r.CachedTokens < want-16 || r.CachedTokens > most {
				t.Errorf("salted %v: request %d has %d of %d tokens cached, and shares %d", salted, i, r.CachedTokens, r.PromptTokens, want)
			}
		}
	}
}

// sharedBefore is how many blocks request i begins with that an earlier one begins with too.
func sharedBefore(i int) int {
	most := 0
	for _, earlier := range sharedBlocks[:i] {
		n := 0
		for n < min(len(earlier), len(sharedBlocks[i])) && earlier[n] == sharedBlocks[i][n] {
			n++
		}
		most = max(most, n)
	}
	return most
}

// growing is a file of recorded agents, whose prompts grow by two blocks of 64 tokens, each with a sub-agent.
func growing(agents, turns int) string {
	var file strings.Builder
	request := func(at float64, blocks int) string {
		ids := make([]string, blocks)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		return fmt.Sprintf(`{"t": %v, "type": "s", "model": "m", "in": %d, "out": 6, "hash_ids": [%s], "api_time": 0.5, "think_time": 0.001}`, at, 64*blocks, strings.Join(ids, ","))
	}
	for agent := range agents {
		var requests []string
		for n := range turns {
			requests = append(requests, request(float64(n), 4+2*n))
		}
		requests = append(requests, fmt.Sprintf(`{"t": %v, "type": "subagent", "agent_id": "a", "status": "completed", "models": ["m"], "requests": [%s]}`,
			float64(turns)-0.4, request(float64(turns)-0.4, 5)), request(float64(turns), 4+2*turns))
		fmt.Fprintf(&file, `{"id": "%d", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [%s]}`+"\n", agent, strings.Join(requests, ","))
	}
	return file.String()
}

// By the service's own account: lanes that start inside recorded agents send the prompt before that place ahead, for one token and under the cap of the
// burst, and then go on with a prompt that the cache has so far. No more requests are in flight than the cap, sub-agents' too.
func TestRecordedAgentsGoOnFromAWarmCache(t *testing.T) {
	const lanes, requestCap, burst = 4, 3, 2
	all := replayedAt(t, newWitness(t), func(spec *schema.Spec) {
		spec.Workload = schema.Workload{Weka: &schema.Weka{
			File: "a.jsonl", MaxThinkTime: schema.Duration(time.Second), OverMaxContext: "refuse",
			Agentic: schema.Agentic{Start: schema.Portion{From: 0.25, To: 0.75}, MaxIdleGap: schema.Duration(time.Second)},
		}}
		spec.Request.IgnoreEOS = true
	}, growing(6, 7), runner.Point{
		Load:     schema.PointLoad{Concurrency: new(int64(lanes)), RequestConcurrency: new(int64(requestCap)), AgenticWarmupRequestConcurrency: new(int64(burst))},
		Requests: 40,
	})
	if len(all) != lanes+40 {
		t.Fatalf("the service saw %d requests, want %d", len(all), lanes+40)
	}
	for i, r := range all {
		most := requestCap
		if i < lanes {
			most = burst
			warm := r
			if r.MaxTokens != 1 || r.OutputTokens != 1 || r.CachedTokens != 0 || r.PromptTokens < 5*64 {
				t.Errorf("the burst asked for %d tokens behind %d and got %d, with %d cached", r.MaxTokens, r.PromptTokens, r.OutputTokens, r.CachedTokens)
			}
			agent, _, _ := strings.Cut(warm.Messages[0].Content, "Words")
			at := slices.IndexFunc(all[lanes:], func(next seen) bool { return strings.HasPrefix(next.Messages[0].Content, agent) })
			if at < 0 {
				t.Errorf("nothing goes on from a prompt of %d tokens", warm.PromptTokens)
				continue
			}
			if next := all[lanes+at]; next.CachedTokens < warm.PromptTokens-32 || next.CachedTokens > warm.PromptTokens || next.PromptTokens < warm.PromptTokens+100 {
				t.Errorf("behind a prompt of %d tokens comes one of %d with %d cached", warm.PromptTokens, next.PromptTokens, next.CachedTokens)
			}
		} else if r.OutputTokens != 6 {
			t.Errorf("request %d was answered in %d tokens", i, r.OutputTokens)
		}
		if n := inFlight(all, r.Read); n > most {
			t.Errorf("%d requests were in flight, at a cap of %d", n, most)
		}
	}
}

// inFlight is how many requests the service was answering at an instant.
func inFlight(all []seen, at clock.Instant) int {
	n := 0
	for _, r := range all {
		if r.Read <= at && r.Ended > at {
			n++
		}
	}
	return n
}
