package presets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/schema"
)

func TestShippedPresetsAreValid(t *testing.T) {
	shipped, err := List()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range shipped {
		all = append(all, p.Name)
		preset, err := schema.Read(p.Name+".cue", p.Text, schema.Options{})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if preset.Name != p.Name {
			t.Errorf("%s.cue is named %s", p.Name, preset.Name)
		}
		if !strings.HasPrefix(p.Use, "Use it ") || !strings.HasSuffix(p.Use, ".") {
			t.Errorf("%s does not say in one line when to use it: %q", p.Name, p.Use)
		}
		stored := schema.Redact(p.Name+".cue", p.Text)
		if diff := cmp.Diff(string(p.Text), string(stored)); diff != "" {
			t.Errorf("%s has nothing to hide (-text +stored):\n%s", p.Name, diff)
		}
	}
	if diff := cmp.Diff([]string{"agents", "assistant", "chat", "levels", "llamacpp", "long-context", "quickstart", "sglang", "tgi", "trtllm", "vllm"}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLevels holds that levels.cue is the concurrency benchmark that it says it is.
func TestLevels(t *testing.T) {
	shipped, err := Read("levels")
	if err != nil {
		t.Fatal(err)
	}
	preset, err := schema.Read("levels.cue", shipped.Text, schema.Options{Set: []string{"model=tiny", "service.endpoint.url=http://h/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := preset.Trials[0].Spec
	if diff := cmp.Diff([]int64{1, 2, 4, 8, 16}, preset.Load.Concurrency); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&schema.Fixed{PromptTokens: 256, OutputTokens: 256}, spec.Workload.Fixed); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	if spec.Request.Cache != "shared" || spec.Request.Temperature != 0 || spec.Model != "tiny" || spec.Service.Endpoint.URL != "http://h/v1" {
		t.Errorf("spec: %+v", spec)
	}
	if preset.Load.MinRequests < 16 {
		t.Errorf("at least %d requests a level, want 16", preset.Load.MinRequests)
	}
}

func TestReadNamesWhatThereIs(t *testing.T) {
	_, err := Read("nosuch")
	want := `no preset named "nosuch" ships with sweetspot: there are agents, assistant, chat, levels, llamacpp, long-context, quickstart, sglang, tgi, trtllm, vllm`
	if err == nil || err.Error() != want {
		t.Errorf("Read gives %v, want %s", err, want)
	}
}

// TestServersAreStartedAsTheirManualsSay holds the command lines of the recipes for servers, first and last trial.
func TestServersAreStartedAsTheirManualsSay(t *testing.T) {
	for name, want := range map[string][2]string{
		"vllm": {"vllm serve MODEL --enable-prompt-tokens-details --gpu-memory-utilization 0.9 --host 127.0.0.1 --max-num-batched-tokens 2048 --max-num-seqs 64 --port ${PORT}",
			"vllm serve MODEL --enable-prompt-tokens-details --gpu-memory-utilization 0.9 --host 127.0.0.1 --max-num-batched-tokens 8192 --max-num-seqs 256 --port ${PORT}"},
		"sglang": {"python3 -m sglang.launch_server --chunked-prefill-size 2048 --enable-metrics --host 127.0.0.1 --max-running-requests 64 --model-path MODEL --port ${PORT}",
			"python3 -m sglang.launch_server --chunked-prefill-size 8192 --enable-metrics --host 127.0.0.1 --max-running-requests 128 --model-path MODEL --port ${PORT}"},
		"llamacpp": {"llama-server --alias MODEL --ctx-size 4096 --host 127.0.0.1 --metrics --model MODEL.gguf --n-gpu-layers 999 --parallel 4 --port ${PORT}",
			"llama-server --alias MODEL --ctx-size 16384 --host 127.0.0.1 --metrics --model MODEL.gguf --n-gpu-layers 999 --parallel 16 --port ${PORT}"},
		"trtllm": {"trtllm-serve MODEL --host 127.0.0.1 --kv_cache_free_gpu_memory_fraction 0.9 --max_batch_size 64 --max_num_tokens 2048 --port ${PORT}",
			"trtllm-serve MODEL --host 127.0.0.1 --kv_cache_free_gpu_memory_fraction 0.9 --max_batch_size 256 --max_num_tokens 8192 --port ${PORT}"},
		"tgi": {"text-generation-launcher --hostname 127.0.0.1 --max-batch-prefill-tokens 2048 --max-concurrent-requests 512 --max-input-tokens 2047 --max-total-tokens 4096 --model-id MODEL --port ${PORT}",
			"text-generation-launcher --hostname 127.0.0.1 --max-batch-prefill-tokens 8192 --max-concurrent-requests 512 --max-input-tokens 2047 --max-total-tokens 4096 --model-id MODEL --port ${PORT}"},
	} {
		shipped, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		preset, err := schema.Read(name+".cue", shipped.Text, schema.Options{})
		if err != nil {
			t.Fatal(err)
		}
		first, last := preset.Trials[0].Spec.Service.Process, preset.Trials[len(preset.Trials)-1].Spec.Service.Process
		if diff := cmp.Diff(want, [2]string{first.Commands()[0], last.Commands()[0]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
