package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const replaying = `
model: m
service: {simulator: {}}
workload: {dag: {file: agents.jsonl}}
trials: {a: {}, b: {request: {temperature: 1}}, c: {workload: {dag: {file: other.jsonl}}}}
`

// What a file holds is known by its digest: each file is looked at once, however many trials name it.
func TestFilesAreDigested(t *testing.T) {
	var asked []string
	digest := func(w Workload) (string, error) {
		file, _ := w.File()
		asked = append(asked, file)
		return strings.Repeat("0", 63) + string(file[0]), nil
	}
	preset, err := Read("p.yaml", []byte(replaying), Options{Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agents.jsonl", "other.jsonl"}, asked); diff != "" {
		t.Errorf("files looked at (-want +got):\n%s", diff)
	}
	for i, last := range []string{"a", "a", "o"} {
		if got := preset.Trials[i].Spec.Workload.DAG.SHA256; got != strings.Repeat("0", 63)+last {
			t.Errorf("trial %s has the digest %s", preset.Trials[i].Name, got)
		}
	}
}

func TestFilesThatCanNotBeUsed(t *testing.T) {
	_, err := Read("p.yaml", []byte(replaying), Options{Digest: func(w Workload) (string, error) { return "", errors.New("no " + w.DAG.File) }})
	want := "p.yaml:4:24: workload.dag.file: can't be used: no agents.jsonl (in trial a and b)\n" +
		"p.yaml:5:76: trials.c.workload.dag.file: can't be used: no other.jsonl"
	if err == nil || err.Error() != want {
		t.Errorf("Read gives\n%v, want\n%s", err, want)
	}
	pinned := strings.Replace(replaying, "agents.jsonl", "agents.jsonl, sha256: "+strings.Repeat("a", 64), 1)
	_, err = Read("p.yaml", []byte(pinned), Options{Digest: func(Workload) (string, error) { return strings.Repeat("b", 64), nil }})
	if err == nil || !strings.Contains(err.Error(), "workload.dag.sha256: is not that of the file, which has bbbb") {
		t.Errorf("a file with another content gives %v", err)
	}
}

func TestDistributionsReadBack(t *testing.T) {
	for text, mean := range map[string]float64{
		`7`:                                     7,
		`{"uniform":{"min":1,"max":4}}`:         2.5,
		`{"normal":{"mean":8,"std":2,"max":9}}`: 8,
		`{"lognormal":{"mean":8,"std":2,"min":3}}`:                     8,
		`{"weighted":[{"value":1,"weight":3},{"value":9,"weight":1}]}`: 3,
		`{"weighted":[{"value":10000000,"weight":1000000}]}`:           10000000,
	} {
		var d Distribution
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(d)
		if err != nil || string(written) != text {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
		if d.Mean() != mean {
			t.Errorf("%s has the mean %v, want %v", text, d.Mean(), mean)
		}
	}
}

const replayed = `
model: m
service: {simulator: {}}
workload: {trace: {file: trace.jsonl, format: mooncake}}
load: {replay_speed: 1..4}
`

// reading gives options by which a trace has an extent.
func reading(extent Extent) Options {
	digest := func(Workload) (string, error) { return strings.Repeat("a", 64), nil }
	return Options{Digest: digest, Extent: func(Workload) Extent { return extent }}
}

// Only what says when each of its requests began can be replayed at a speed.
func TestATraceWithoutTimesIsNotReplayed(t *testing.T) {
	timed := Extent{Requests: 7, Timed: true}
	preset, err := Read("p.yaml", []byte(replayed), reading(timed))
	if err != nil {
		t.Fatal(err)
	}
	if points, err := preset.Load.Points(); err != nil || len(points) != 3 || *points[2].ReplaySpeed != 4 || points[0].Concurrency != nil {
		t.Errorf("the points are %+v, %v", points, err)
	}
	if got := preset.Trials[0].Extent; got != timed {
		t.Errorf("the extent is %+v", got)
	}
	_, err = Read("p.yaml", []byte(replayed), reading(Extent{}))
	want := "p.yaml:5:8: load.replay_speed: is for a trace that says when each of its requests began; the workload trace (mooncake) does not: leave it out"
	if err == nil || err.Error() != want {
		t.Errorf("a trace without times gives\n%v, want\n%s", err, want)
	}
}

// Messages can't be sent to the API of plain prompts.
func TestAFileIsForOneAPI(t *testing.T) {
	for request, want := range map[string]string{
		"request: {api: completions}": `p.yaml:4:26: workload.trace.file: holds requests for another API: request.api must be "chat", not "completions"`,
		"":                            "",
	} {
		_, err := Read("p.yaml", []byte(replayed+request), reading(Extent{Timed: true, API: "chat"}))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q gives %v, want %q", request, err, want)
		}
	}
}

// A tokenizer's file is known by its digest, and where it lies is no part of the work.
func TestATokenizersFileIsDigested(t *testing.T) {
	const counting = "{model: m, service: {simulator: {}}, workload: {fixed: {}}, request: {tokenizer: a/tokenizer.json%s}}"
	sum := strings.Repeat("a", 64)
	opts := Options{Tokenizer: func(string) (string, error) { return sum, nil }}
	preset, err := Read("p.yaml", fmt.Appendf(nil, counting, ""), opts)
	if err != nil {
		t.Fatal(err)
	}
	spec := preset.Trials[0].Spec
	if got := spec.Content().Request; got.TokenizerSHA256 != sum || got.Tokenizer != "" || spec.Request.Tokenizer == "" {
		t.Errorf("the content of %+v is %+v", spec.Request, got)
	}
	for more, want := range map[string]string{
		", tokenizer_sha256: " + strings.Repeat("b", 64): "request.tokenizer_sha256: is not that of the file, which has aaaa",
		"": "p.yaml:1:82: request.tokenizer: can't be used: no file",
	} {
		if more == "" {
			opts.Tokenizer = func(string) (string, error) { return "", errors.New("no file") }
		} else {
			opts.Tokenizer = func(string) (string, error) { return sum, nil }
		}
		if _, err := Read("p.yaml", fmt.Appendf(nil, counting, more), opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", more, err, want)
		}
	}
}
