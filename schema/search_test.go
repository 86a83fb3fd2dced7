package schema

import (
	"slices"
	"strings"
	"testing"
)

const searching = `
model: m
service: {endpoint: {url: "http://127.0.0.1:8000/v1"}}
workload: {random: {prompt_tokens: 8, output_tokens: 8}}
load: {search: {to: 64}}
`

// What a search looks for can be given on the command line in its place.
func TestACapFromOutsideReplacesTheSearch(t *testing.T) {
	over := strings.Replace(searching, "to: 64", "to: 64, over: request_concurrency", 1)
	for _, c := range []struct {
		name, preset string
		opts         Options
		concurrency  []int64
		requests     []int64
		search       bool
		wrong        string
	}{
		{"nothing", searching, Options{}, nil, nil, true, ""},
		{"flag", searching, Options{Flags: map[string]string{"concurrency": "1..4"}}, []int64{1, 2, 4}, nil, false, ""},
		{"set", searching, Options{Set: []string{"load.concurrency=8"}}, []int64{8}, nil, false, ""},
		{"another cap", searching, Options{Flags: map[string]string{"request_concurrency": "8"}, Set: []string{"load.clip=true"}}, nil, []int64{8}, true, ""},
		{"the other cap", over, Options{Flags: map[string]string{"request_concurrency": "8"}}, nil, []int64{8}, false, ""},
		{"beside the other", over, Options{Flags: map[string]string{"concurrency": "64"}}, []int64{64}, nil, true, ""},
		{"both", searching, Options{Set: []string{"load.search.to=8", "load.concurrency=8"}}, nil, nil, false, "load.search: has no effect beside concurrency"},
		{"taken out", searching, Options{Set: []string{"load.search=null"}}, []int64{1, 2, 4, 8, 16}, nil, false, ""},
	} {
		preset, err := Read("a.yaml", []byte(c.preset), c.opts)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		l := preset.Load
		if !slices.Equal(l.Concurrency, c.concurrency) || !slices.Equal(l.RequestConcurrency, c.requests) || (l.Search != nil) != c.search {
			t.Errorf("%s: concurrency %v, request_concurrency %v, search %v", c.name, l.Concurrency, l.RequestConcurrency, l.Search)
		}
	}
}

// A load of a search is the point that a list of it has.
func TestALoadOfASearchIsAnOrdinaryPoint(t *testing.T) {
	listed := Load{Concurrency: []int64{24}, PrefillConcurrency: []int64{32}, Clip: true, RequestsPerSlot: 10}
	searched := listed
	searched.Concurrency, searched.Search = nil, &Search{Over: "concurrency", From: 1, To: 64}
	want, err := listed.Points()
	if err != nil {
		t.Fatal(err)
	}
	got, err := searched.At(24).Points()
	if err != nil || len(got) != 1 || *got[0].Concurrency != 24 || *got[0].PrefillConcurrency != 24 || *got[0].AskedPrefillConcurrency != *want[0].AskedPrefillConcurrency {
		t.Errorf("%+v, %v", got, err)
	}
	if bounds, err := searched.Points(); err != nil || len(bounds) != 2 || *bounds[0].Concurrency != 1 || *bounds[1].Concurrency != 64 {
		t.Errorf("the bounds are %+v, %v", bounds, err)
	}
}
