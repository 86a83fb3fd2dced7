//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sweetspot/runner/bench"
	"sweetspot/runner/measure"
)

// job is one load that a tool is asked for.
type job struct {
	url  string // base of the service's API, without /v1
	dir  string // for what the tool writes
	load bench.Load
}

func (j job) requests() int64 { return j.load.Streams * j.load.Requests }

// said is what a tool says of a load, in seconds. A figure that it does not give is nil.
type said struct {
	ttftP50         *float64
	tokensPerSecond *float64
}

// tool is a load generator that runs as a command.
type tool struct {
	name    string
	command func(job) (argv, env []string, err error)
	read    func(dir string) (said, error)
	judges  bool // it ends with 1 where it judges that no figure can be trusted
}

// places are where the tools are installed.
type places struct {
	sweetspot string // the command
	vllm      string // virtual environments, and the folder model in that of vllm
	aiperf    string
	guidellm  string
}

const (
	promptTokens = 32
	modelName    = "bench"
	tokenizer    = "bench/tiny" // as AIPerf wants it: it takes no folder
)

// tools are all tools. Each is asked for plain completions, so that no event comes before the first token: vLLM's bench takes one with a role
// alone for it.
func (p places) tools() []tool {
	return []tool{
		{"sweetspot", p.runSweetspot, readSweetspot, true},
		{"vllm", p.runVLLM, readVLLM, false},
		{"aiperf", p.runAIPerf, readAIPerf, false},
		{"guidellm", p.runGuideLLM, readGuideLLM, false},
	}
}

func (p places) runSweetspot(j job) (argv, env []string, err error) {
	preset := fmt.Sprintf(`model: %q
service: endpoint: url: "%s/v1"
workload: random: {prompt_tokens: %d, output_tokens: %d}
request: {api: "completions", ignore_eos: true}
load: {concurrency: %d, requests: %d, warmup_requests: 0}
`, modelName, j.url, promptTokens, j.load.Tokens, j.load.Streams, j.requests())
	path := filepath.Join(j.dir, "preset.cue")
	if err := os.WriteFile(path, []byte(preset), 0o600); err != nil {
		return nil, nil, err
	}
	return []string{p.sweetspot, "run", path, "--json", "--store", filepath.Join(j.dir, "store")}, nil, nil
}

func readSweetspot(dir string) (said, error) {
	var document struct {
		Trials []struct {
			Points []struct {
				TTFTP50         *float64 `json:"ttft_p50_s"`
				TokensPerSecond *float64 `json:"output_tok_per_s"`
			} `json:"points"`
		} `json:"trials"`
	}
	if err := readJSON(filepath.Join(dir, stdoutFile), &document); err != nil {
		return said{}, err
	}
	if len(document.Trials) != 1 || len(document.Trials[0].Points) != 1 {
		return said{}, errors.New("reading what sweetspot says: it has not one trial of one point")
	}
	point := document.Trials[0].Points[0]
	return said{point.TTFTP50, point.TokensPerSecond}, nil
}

// vllmBench is the command `vllm bench serve`: the command itself wants a package that is named vllm.
const vllmBench = `import argparse
from vllm.benchmarks.serve import add_cli_args, main
parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())`

func (p places) runVLLM(j job) (argv, env []string, err error) {
	return []string{
		python(p.vllm), "-c", vllmBench, "--backend", "openai", "--base-url", j.url, "--endpoint", "/v1/completions", "--model", modelName,
		"--tokenizer", filepath.Join(p.vllm, "model"), "--dataset-name", "random", "--random-input-len", strconv.Itoa(promptTokens),
		"--random-output-len", number(j.load.Tokens), "--num-prompts", number(j.requests()), "--max-concurrency", number(j.load.Streams), "--ignore-eos",
		"--disable-tqdm", "--save-result", "--save-detailed", "--result-dir", j.dir, "--result-filename", "vllm.json",
	}, nil, nil
}

func readVLLM(dir string) (said, error) {
	var result struct {
		TTFTs            []float64 `json:"ttfts"`
		OutputThroughput *float64  `json:"output_throughput"`
	}
	if err := readJSON(filepath.Join(dir, "vllm.json"), &result); err != nil {
		return said{}, err
	}
	slices.Sort(result.TTFTs)
	return said{measure.Quantile(result.TTFTs, 50), result.OutputThroughput}, nil
}

func (p places) runAIPerf(j job) (argv, env []string, err error) {
	home := filepath.Join(j.dir, "hf")
	if err := cacheTokenizer(home, filepath.Join(p.vllm, "model")); err != nil {
		return nil, nil, err
	}
	return []string{
		filepath.Join(p.aiperf, "bin", "aiperf"), "profile", "-m", modelName, "--url", j.url, "--endpoint-type", "completions", "--streaming",
		"--concurrency", number(j.load.Streams), "--request-count", number(j.requests()), "--synthetic-input-tokens-mean", strconv.Itoa(promptTokens),
		"--output-tokens-mean", number(j.load.Tokens), "--extra-inputs", "max_tokens:" + number(j.load.Tokens), "--extra-inputs", "ignore_eos:true",
		"--tokenizer", tokenizer, "--use-server-token-count", "--no-server-metrics", "--no-gpu-telemetry", "--ui", "none", "--output-artifact-dir", filepath.Join(j.dir, "aiperf"),
	}, []string{"HF_HOME=" + home}, nil
}

// cacheTokenizer makes a cache folder of Hugging Face's hub under home that has the tokenizer of a folder as a model.
func cacheTokenizer(home, folder string) error {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	model := filepath.Join(home, "hub", "models--bench--tiny")
	for _, dir := range []string{"refs", "snapshots"} {
		if err := os.MkdirAll(filepath.Join(model, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink(folder, filepath.Join(model, "snapshots", revision)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(model, "refs", "main"), []byte(revision), 0o600)
}

func readAIPerf(dir string) (said, error) {
	var result struct {
		TTFT struct {
			P50 *float64 `json:"p50"` // in milliseconds
		} `json:"time_to_first_token"`
		OutputThroughput struct {
			Average *float64 `json:"avg"`
		} `json:"output_token_throughput"`
	}
	if err := readJSON(filepath.Join(dir, "aiperf", "profile_export_aiperf.json"), &result); err != nil {
		return said{}, err
	}
	return said{scaled(result.TTFT.P50, 1e-3), result.OutputThroughput.Average}, nil
}

func (p places) runGuideLLM(j job) (argv, env []string, err error) {
	return []string{
		filepath.Join(p.guidellm, "bin", "guidellm"), "run", "--backend", fmt.Sprintf("kind=openai_http,target=%s,model=%s,request_format=/v1/completions", j.url, modelName),
		"--profile", "kind=concurrent,streams=" + number(j.load.Streams), "--constraint", "kind=max_requests,count=" + number(j.requests()),
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", promptTokens, j.load.Tokens),
		"--tokenizer", "kind=hf_auto,model=" + filepath.Join(p.vllm, "model"),
		"--output", "kind=json,path=" + filepath.Join(j.dir, "guidellm.json"), "--disable-console",
	}, nil, nil
}

func readGuideLLM(dir string) (said, error) {
	type distribution struct {
		Successful struct {
			Mean   *float64 `json:"mean"`
			Median *float64 `json:"median"`
		} `json:"successful"`
	}
	var result struct {
		Benchmarks []struct {
			Metrics struct {
				TTFT             distribution `json:"time_to_first_token_ms"`
				OutputThroughput distribution `json:"output_tokens_per_second"`
			} `json:"metrics"`
		} `json:"benchmarks"`
	}
	if err := readJSON(filepath.Join(dir, "guidellm.json"), &result); err != nil {
		return said{}, err
	}
	if len(result.Benchmarks) != 1 {
		return said{}, fmt.Errorf("reading what GuideLLM says: it has %d benchmarks and not one", len(result.Benchmarks))
	}
	metrics := result.Benchmarks[0].Metrics
	return said{scaled(metrics.TTFT.Successful.Median, 1e-3), metrics.OutputThroughput.Successful.Mean}, nil
}

func python(environment string) string { return filepath.Join(environment, "bin", "python") }

func number(n int64) string { return strconv.FormatInt(n, 10) }

func scaled(value *float64, by float64) *float64 {
	if value == nil {
		return nil
	}
	product := *value * by
	return &product
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
