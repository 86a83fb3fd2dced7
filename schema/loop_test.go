package schema

import (
	"fmt"
	"strings"
	"testing"
)

// A rate or a speed from outside replaces how the preset's load is driven, and nothing else of it.
func TestARateFromOutsideReplacesTheClosedLoop(t *testing.T) {
	const head = "model: m\nservice: {endpoint: {url: \"http://127.0.0.1:8000/v1\"}}\nworkload: {trace: {format: mooncake, file: t.jsonl}}\nload: "
	rate, speed := Options{Flags: map[string]string{"request_rate": "4"}}, Options{Flags: map[string]string{"replay_speed": "2"}}
	for _, c := range []struct {
		load string
		opts Options
		want string // concurrency, request_concurrency, request_rate, replay_speed, requests_per_slot, min_requests
	}{
		{"{concurrency: 1..4, requests_per_slot: 5, request_concurrency: 64, oversubscribe: false}", rate, "[] [64] [4] [] 10 20"},
		{"{concurrency: 1..4, requests_per_slot: 5}", Options{Set: []string{"load.request_rate=4"}}, "[] [] [4] [] 10 20"},
		{"{search: {to: 64}, requests_per_slot: 5}", rate, "[] [] [4] [] 10 20"},
		{"{search: {to: 64}, min_requests: 30, ramp_up: 1s}", speed, "[] [] [] [2] 10 20"},
		{"{concurrency: 1..4}", Options{Flags: map[string]string{"request_rate": "4", "concurrency": "64"}}, "[64] [] [4] [] 10 20"},
		{"{request_rate: 1, concurrency: 64}", rate, "[64] [] [4] [] 10 20"},
		{"{request_rate: 1, arrivals: gamma, burstiness: 2, concurrency: 64}", speed, "[64] [] [] [2] 10 20"},
		{"{replay_speed: 1, concurrency: 64}", rate, "[64] [] [4] [] 10 20"},
		{"{concurrency: 4, requests_per_slot: 5}", Options{Set: []string{"load.request_rate=null"}}, "[4] [] [] [] 5 20"},
		{"{concurrency: 4}", Options{Flags: map[string]string{"request_rate": "4"}, Set: []string{"load.requests_per_slot=5"}}, "load.requests_per_slot: has no effect beside request_rate"},
	} {
		preset, err := Read("a.yaml", []byte(head+c.load), c.opts)
		got := fmt.Sprint(err)
		if err == nil {
			l := preset.Load
			got = fmt.Sprint(l.Concurrency, l.RequestConcurrency, l.RequestRate, l.ReplaySpeed, l.RequestsPerSlot, l.MinRequests)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s with %v: %s, want %s", c.load, c.opts, got, c.want)
		}
	}
}
