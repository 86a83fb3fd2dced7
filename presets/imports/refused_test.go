package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit gives a file of testdata with one text replaced, in a folder of its own.
func edit(t *testing.T, file, old, now string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if old != "" && !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, now, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// besideAIPerf is a file of AIPerf's requests with a summary beside it.
func besideAIPerf(t *testing.T, summary string) string {
	t.Helper()
	path := edit(t, "aiperf/c1/profile_export.jsonl", "", "")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), aiperfSummary), []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reportWith is a final_report.json with the given results.
func reportWith(t *testing.T, change func(entries []map[string]any) []map[string]any) string {
	t.Helper()
	text, err := os.ReadFile("testdata/dstack/report-results.json")
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	var entries []map[string]any
	for _, entry := range whole["results"].([]any) {
		entries = append(entries, entry.(map[string]any))
	}
	whole["results"] = change(entries)
	text, err = json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "final_report.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRefused(t *testing.T) {
	written := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set := func(name string, value any) func([]map[string]any) []map[string]any {
		return func(entries []map[string]any) []map[string]any {
			entries[1][name] = value
			return entries
		}
	}
	for _, test := range []struct {
		name    string
		path    string
		options Options
		want    string
	}{
		{"nothing there", filepath.Join(t.TempDir(), "none.json"), Options{}, "no such file"},
		{"empty", written("a.json", ""), Options{}, "no format fits: it is empty"},
		{"another JSON", written("a.json", `{"b": 1, "a": 2}`), Options{}, "it is JSON with the fields a, b; what can be imported is\n  aiperf: AIPerf's profile_export.jsonl"},
		{"no JSON", written("a.csv", "time,tokens\n"), Options{}, `it is no JSON, it begins "time,tokens"`},
		{"a secret at its beginning", written("a.txt", "key sk-abcdefghijklmnopqrst"), Options{}, `it begins "key REDACTED"`},
		{"an empty folder", t.TempDir(), Options{}, "it is a folder without a result file that is known"},
		{"no such format", edit(t, "vllm-bench/openai-c1.json", "", ""), Options{Format: "vllm"}, `there is no format "vllm": there are aiperf, guidellm, inference-perf, vllm-bench, dstack-preset`},
		{"another format", edit(t, "vllm-bench/openai-c1.json", "", ""), Options{Format: "guidellm"}, "openai-c1.json: benchmarks: it is empty"},
		{"bad name", edit(t, "vllm-bench/openai-c1.json", "", ""), Options{Name: "a b"}, "name"},

		{"unknown field of an entry", reportWith(t, set("learned", "x")), Options{}, "final_report.json: results[1].learned: there is no such field: an entry has concurrency, context_length, benchmark"},
		{"unknown field below", reportWith(t, func(e []map[string]any) []map[string]any {
			e[0]["benchmark"].(map[string]any)["gpu"] = 1
			return e
		}), Options{}, `unknown field "gpu" (in results[0])`},
		{"missing field", reportWith(t, func(e []map[string]any) []map[string]any { delete(e[0], "context_length"); return e }), Options{}, "results[0].context_length: it is missing"},
		{"no benchmark", reportWith(t, set("benchmark", nil)), Options{}, "results[1].benchmark: it is missing"},
		{"twice", reportWith(t, func(e []map[string]any) []map[string]any { return append(e, e[0]) }), Options{},
			"results[2].concurrency: there is a second entry for 2: there must be exactly one for each concurrency"},
		{"none", reportWith(t, func([]map[string]any) []map[string]any { return nil }), Options{}, "results: it has no entry"},
		{"one is missing", edit(t, "dstack/report-results.json", "", ""), Options{Concurrency: []int64{2, 4, 8}}, "results: there is no entry for concurrency 4: there must be exactly one"},
		{"one too many", edit(t, "dstack/report-results.json", "", ""), Options{Concurrency: []int64{2}}, "results[1].concurrency: 8 was not declared"},
		{"apart", reportWith(t, set("concurrency", 16)), Options{}, "results[1].benchmark.workload.concurrency: it is 8, and the entry's is 16"},
		{"a text", reportWith(t, set("concurrency", "8")), Options{}, "concurrency: it is a string, and int64 is needed"},
		{"other work", edit(t, "dstack/preset-several.json", `"input_tokens": 1024`, `"input_tokens": 2048`), Options{}, "benchmarks[1].benchmark.workload: it asks for other work than the first"},
		{"limit", edit(t, "dstack/preset-one.json", `"max_ttft": 500`, `"max_ttft": -1`), Options{}, "configuration.max_ttft: it must be a time in milliseconds above 0"},

		{"bad line", edit(t, "aiperf/c1/profile_export.jsonl", "\n{", "\n["), Options{Concurrency: []int64{1}}, "profile_export.jsonl: line 2: it is no record of a request"},
		{"no instants", edit(t, "aiperf/c1/profile_export.jsonl", `"request_start_ns":17`, `"request_start_ns":-17`), Options{Concurrency: []int64{1}}, "line 1: request_start_ns and request_end_ns must be instants"},
		{"no load", edit(t, "aiperf/c1/profile_export.jsonl", "", ""), Options{}, "nothing beside it says under which load it was measured: say it with --concurrency N"},
		{"lists apart", edit(t, "vllm-bench/openai-c1.json", `"errors": ["", `, `"errors": [`), Options{}, "openai-c1.json: errors: it has 4 values, and ttfts has 5"},
		{"cut", edit(t, "vllm-bench/openai-c1.json", `"std_ttft_ms"`, "]"), Options{Format: "vllm-bench"}, "line 1 or after it: it is no JSON"},
		{"no cap", edit(t, "vllm-bench/openai-c1.json", `"max_concurrency": 1`, `"max_concurrency": null`), Options{}, "all requests were sent at once and no load was kept up: say it with --concurrency N"},
		{"before it was sent", edit(t, "inference-perf/per_request_lifecycle_metrics.json", "[1431.696941297, ", "[1.5, "), Options{Concurrency: []int64{1}},
			"concurrency 1: request 1 of those in order of their start can't be: its first token came -23m50"},
		{"beyond all time", edit(t, "aiperf/c1/profile_export.jsonl", `"time_to_first_token":{"value":26.229982`, `"time_to_first_token":{"value":1e300`), Options{Concurrency: []int64{1}},
			"request 1 of those in order of their start can't be: its first token came"},
		{"events out of order", edit(t, "aiperf/c1/profile_export.jsonl", "9.577665", "-9.577665"), Options{Concurrency: []int64{1}}, "its events are not in the order of their times"},
		{"ends in another century", edit(t, "aiperf/c1/profile_export.jsonl", `"request_end_ns":1796029452287935836`, `"request_end_ns":9223372036854775807`), Options{Concurrency: []int64{1}}, "can't be: it took 2063"},
		{"tokens beyond count", edit(t, "vllm-bench/openai-c1.json", `"output_lens": [16`, `"output_lens": [9223372036854775807`), Options{}, "its output tokens are 9223372036854775807: not from 0 to 10000000"},
		{"tokens below 0", edit(t, "vllm-bench/openai-c1.json", `"output_lens": [16`, `"output_lens": [-16`), Options{}, "its output tokens are -16: not from 0 to 10000000"},
		{"total below 0", edit(t, "dstack/preset-one.json", `"total_input_tokens": 81920`, `"total_input_tokens": -81920`), Options{}, "concurrency 8: it can't be: it has -81920 prompt tokens: not from 0 to 1125899906842624"},
		{"total beyond count", edit(t, "dstack/preset-one.json", `"failed_requests": 0`, `"failed_requests": 9223372036854775807`), Options{}, "it can't be: it has -9223372036854775729 requests"},
		{"context below 0", edit(t, "dstack/preset-one.json", `"context_length": 131072`, `"context_length": -1`), Options{}, "it can't be: a context length of -1 is not from 1 to 10000000"},
		{"load beyond count", edit(t, "vllm-bench/openai-c4-totals.json", `"max_concurrency": 4`, `"max_concurrency": 9223372036854775807`), Options{}, "its load can't be: 9223372036854775807 in flight is not from 1 to 1000000"},
		{"rate beyond all", edit(t, "vllm-bench/openai-c4-totals.json", `"request_rate": "inf"`, `"request_rate": 1e308`), Options{}, "its load can't be: 1e+308 requests per second"},
		{"a second report", edit(t, "dstack/preset-one.json", "\n}", "\n}\n{}"), Options{}, "preset-one.json: line 67: something stands behind its end: it must be one JSON value"},
		{"NaN", edit(t, "dstack/preset-one.json", "65.958", "NaN"), Options{}, "it is JSON that can't be read to its end (line 49: invalid character 'N' looking for beginning of value)"},
		{"a key twice", edit(t, "vllm-bench/openai-c1.json", `"completed": 5`, `"completed": 5, "duration": 0.01`), Options{},
			`openai-c1.json: line 1: the key "duration" stands twice: one of both would go unsaid: import the file as the tool wrote it`},
		{"a key twice below", edit(t, "dstack/preset-several.json", `"input_tokens": 1024`, `"input_tokens": 1, "input_tokens": 1024`), Options{},
			`preset-several.json: line 43: the key "input_tokens" stands twice in benchmarks[0].workload: one`},
		{"a key twice in a list", edit(t, "inference-perf/per_request_lifecycle_metrics.json", `"start_time": `, `"start_time": 1.5, "start_time": `), Options{Concurrency: []int64{1}},
			`per_request_lifecycle_metrics.json: line 1: the key "start_time" stands twice in [0]: one`},
		{"a key twice in a line", edit(t, "aiperf/c1/profile_export.jsonl", "\n{", "\n"+`{"metrics":{},`), Options{Concurrency: []int64{1}}, `profile_export.jsonl: line 2: the key "metrics" stands twice: one`},
		{"a key twice in the file beside it", besideAIPerf(t, `{"aiperf_version":"1","aiperf_version":"2"}`), Options{Concurrency: []int64{1}},
			`profile_export_aiperf.json: line 1: the key "aiperf_version" stands twice`},
		{"bad rate", edit(t, "vllm-bench/openai-c1.json", `"request_rate": "inf"`, `"request_rate": "fast"`), Options{}, "request_rate: fast is no rate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "store")
			_, err := Import(store, []string{test.path}, test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			if _, err := os.Stat(store); err == nil {
				t.Error("a refused file left a store")
			}
		})
	}
}

// The load that a file lacks can be said.
func TestTheLoadCanBeSaid(t *testing.T) {
	path := edit(t, "aiperf/c1/profile_export.jsonl", "", "")
	run, err := Import(t.TempDir(), []string{path}, Options{Concurrency: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	points, _ := run.Points()
	if len(points) != 1 || *points[0].Concurrency != 1 || points[0].OK != 5 {
		t.Errorf("%+v", points)
	}
}

// A byte order mark, as editors and shells of Windows put in front of a file, is none of its text; the run says digest and size of the file as it is.
func TestByteOrderMark(t *testing.T) {
	for _, name := range []string{"aiperf/c1/profile_export.jsonl", "guidellm/benchmarks.json", "inference-perf/per_request_lifecycle_metrics.json", "vllm-bench/openai-c1.json", "dstack/preset-one.json"} {
		plain, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		marked := "\ufeff" + string(plain)
		if err := os.WriteFile(path, []byte(marked), 0o600); err != nil {
			t.Fatal(err)
		}
		run, err := Import(t.TempDir(), []string{path}, Options{Concurrency: []int64{1}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kept := run.Manifest().Imported.Files[0]
		if sum := sha256.Sum256([]byte(marked)); kept.SHA256 != hex.EncodeToString(sum[:]) || kept.Size != int64(len(marked)) {
			t.Errorf("%s: kept as %+v", name, kept)
		}
	}
}

// A file that is cut anywhere is refused or read, and nothing panics.
func TestCutFiles(t *testing.T) {
	cuts := 12
	if testing.Short() {
		cuts = 3
	}
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata", path))
		if err != nil {
			return err
		}
		for i := range cuts {
			cut := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(cut, text[:len(text)*i/cuts], 0o600); err != nil {
				return err
			}
			for _, format := range append(Names(), "") {
				s, err := Open(cut)
				if err != nil {
					return err
				}
				picked, err := pick(s, format)
				if err == nil {
					found, err := picked.Read(s, Options{Concurrency: []int64{1}})
					if err == nil && len(found.Trials) == 0 {
						t.Errorf("%s cut at %d as %s: neither a fault nor a trial", path, i, format)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		`{"command": "serve --api-key s3cret --max-tokens 16"}`:       `{"command": "serve --api-key REDACTED --max-tokens 16"}`,
		`{"command": ["serve", "--api-key", "s3cret"]}`:               `{"command": ["serve", "--api-key", "REDACTED"]}`,
		`{"command": "serve --api-key=$KEY --api-key-env KEY"}`:       `{"command": "serve --api-key=$KEY --api-key-env KEY"}`,
		`{"env": ["HF_TOKEN=s3cret"]}`:                                `{"env": ["HF_TOKEN=REDACTED"]}`,
		`{"url": "http://u:s3cret@h/v1"}`:                             `{"url": "http://REDACTED@h/v1"}`,
		`{"api_key": "s3"}`:                                           "{\"api_key\":\"REDACTED\"}\n",
		`{"a": "B\u0065arer abcdefghijklmnopqrst", "n": 1.50}`:        "{\"a\":\"Bearer REDACTED\",\"n\":1.50}\n",
		`{"token": "s3", "x": "<>"}` + "\n" + `{"tokens": 12}`:        "{\"token\":\"REDACTED\",\"x\":\"<>\"}\n{\"tokens\":12}\n",
		`{"text": "a non-token word and --use-server-token-count 1"}`: `{"text": "a non-token word and --use-server-token-count 1"}`,
		`{"tokenizer_id": "local/tiny", "total_output_tokens": 320}`:  `{"tokenizer_id": "local/tiny", "total_output_tokens": 320}`,
		"no JSON --password s3cret":                                   "no JSON --password REDACTED",
	} {
		if got := string(redacted([]byte(text))); got != want {
			t.Errorf("%s\n gives %s\n want  %s", text, got, want)
		}
	}
}

// TestAIPerfsCancellations: what was in flight when the benchmark ended is a failure and counts as infinite; what the configuration cancels is neither. An
// error of the service's own is one, whether the request was given up or not.
func TestAIPerfsCancellations(t *testing.T) {
	const signal, after = "Request cancelled by external signal", "Request cancelled 0.500s after being sent"
	for name, test := range map[string]struct {
		config, message string
		want            string // cancelled, truncated, http_error
	}{
		"ended":                              {`"phases":[{"kind":"profiling","concurrency":2}]`, signal, "0 2 0"},
		"declared":                           {`"phases":[{"kind":"profiling","concurrency":2,"cancellation":{"rate":50,"delay":0.5}}]`, after, "2 0 0"},
		"declared, and ended":                {`"phases":[{"kind":"profiling","concurrency":2,"cancellation":{"rate":50}}]`, signal, "0 2 0"},
		"declared at a rate of none":         {`"phases":[{"kind":"profiling","concurrency":2,"cancellation":{"rate":0}}]`, after, "0 2 0"},
		"declared of the warmup":             {`"phases":[{"kind":"warmup","cancellation":{"rate":50}},{"kind":"profiling","concurrency":2}]`, after, "0 2 0"},
		"declared in an older configuration": {`"loadgen":{"request_cancellation_rate":50},"phases":[{"kind":"profiling","concurrency":2}]`, after, "2 0 0"},
		"an error of the service's":          {`"phases":[{"kind":"profiling","concurrency":2,"cancellation":{"rate":50}}]`, "", "0 0 2"},
	} {
		dir := t.TempDir()
		var lines strings.Builder
		for i := range 4 {
			fmt.Fprintf(&lines, `{"metadata":{"session_num":%d,"request_start_ns":%d,"request_end_ns":%d,"benchmark_phase":"profiling","was_cancelled":%t},"metrics":{`, i, 1_000+i, 2_000_000_000+i, i > 1)
			switch {
			case i < 2:
				lines.WriteString(`"time_to_first_token":{"value":10,"unit":"ms"},"usage_completion_tokens":{"value":4,"unit":"tokens"}}}` + "\n")
			case test.message == "":
				lines.WriteString(`},"error":{"code":503,"type":"Service Unavailable","message":"overloaded"}}` + "\n")
			default:
				fmt.Fprintf(&lines, `},"error":{"code":499,"type":"RequestCancellationError","message":%q}}`+"\n", test.message)
			}
		}
		write := func(file, text string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("profile_export.jsonl", lines.String())
		write("profile_export_aiperf.json", `{"aiperf_version":"0.13.0","input_config":{`+test.config+`}}`)
		run, err := Import(t.TempDir(), []string{dir}, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		points, broken := run.Points()
		if len(points) != 1 || len(broken) > 0 {
			t.Fatalf("%s: %d points, %v", name, len(points), broken)
		}
		p := points[0]
		if got := fmt.Sprint(p.Cancelled, p.Truncated, p.HTTPError); got != test.want {
			t.Errorf("%s: cancelled, truncated, http errors %s, want %s", name, got, test.want)
		}
		failures := p.Truncated + p.HTTPError
		if p.ErrorRate == nil || *p.ErrorRate != float64(failures)/float64(p.Issued-p.Cancelled) || p.TTFTAll.Max == nil || math.IsInf(*p.TTFTAll.Max, 1) != (failures > 0) {
			t.Errorf("%s: error rate %v, ttft max of all %v", name, text(p.ErrorRate, 1), text(p.TTFTAll.Max, 1))
		}
		told := slices.ContainsFunc(run.Manifest().Imported.Notes, func(note string) bool { return strings.HasPrefix(note, "2 requests that AIPerf gave up unasked") })
		if told != (p.Truncated > 0) {
			t.Errorf("%s: notes %q", name, run.Manifest().Imported.Notes)
		}
	}
}

// A request that a tool calls a success and counts no output of is none.
func TestSuccessWithoutOutput(t *testing.T) {
	run, err := Import(t.TempDir(), []string{edit(t, "guidellm/benchmarks.json", `"output_tokens":16,"total_tokens"`, `"output_tokens":0,"total_tokens"`)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	points, _ := run.Points()
	var failed int64
	for _, p := range points {
		failed += p.StreamError
	}
	if failed != 1 {
		t.Errorf("%d requests failed, want 1", failed)
	}
}

// A schedule that another clock kept, so that a request was sent before it was due, says nothing of how long it waited.
func TestScheduleOfAnotherClock(t *testing.T) {
	path := edit(t, "aiperf/c1/profile_export.jsonl", `"credit_issued_ns":1796029452160736022`, `"credit_issued_ns":1796029452260736022`)
	run, err := Import(t.TempDir(), []string{path}, Options{Concurrency: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	points, _ := run.Points()
	if delay := points[0].QueueDelay; delay.N != 4 || *delay.Min < 0 {
		t.Errorf("%d waited, the least %v s; want 4", delay.N, *delay.Min)
	}
}
