package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sweetspot/schema"
)

// Profile is a built-in configuration: what a kind of machine could do with a kind of model. It is a model of one, not a measurement.
type Profile struct {
	Name string
	Doc  string // what it stands for
	Config
}

// Config is a simulated service, all of it: a [schema.Simulator] with what it leaves open taken from its profile. Fields are named as vLLM
// names them.
type Config struct {
	Seed                 int64
	MaxNumSeqs           int // requests that run at once
	MaxNumBatchedTokens  int // of one step: decoded and prefilled together
	MaxModelLen          int // tokens of a request, prompt and answer
	BlockSize            int // tokens of a KV block
	NumGPUBlocks         int // KV blocks
	EnablePrefixCaching  bool
	EnableChunkedPrefill bool
	StreamInterval       int // tokens in one event, after the first
	ReasoningTokens      int
	ToolCallTokens       int
	Faults               []schema.Fault
	Cost                 Cost
}

// Cost says how long a step takes: Step, and so much for each token prefilled, each sequence decoded, and each token of context that a decoded
// sequence looks back on; all of it times a factor drawn from 1 ± Jitter for each step.
type Cost struct {
	Step, PrefillToken, DecodeSeq, ContextToken time.Duration
	Jitter                                      float64
}

// of is how long the step takes that is the n-th of all.
func (c Cost) of(seed int64, n int64, b batch) time.Duration {
	d := c.Step + time.Duration(b.prefillTokens)*c.PrefillToken + time.Duration(b.decodeSeqs)*c.DecodeSeq + time.Duration(b.contextTokens)*c.ContextToken
	return time.Duration(float64(d) * (1 + c.Jitter*(2*unit(seed, uint64(n))-1)))
}

// Profiles are the built-in profiles.
//
// The two GPUs are reckoned from data sheets, for a dense model of 8 billion parameters in 16 bits with grouped-query attention (128 KiB of KV
// cache a token): a step reads 16 GB of weights, a token costs 16 GFLOP, a decoded sequence reads its KV cache. The CPU is fitted to the
// throughput of vLLM on two cores with a model of two layers.
func Profiles() []Profile {
	return []Profile{
		{
			Name: "large-gpu",
			Doc: "an 8-billion-parameter model on one GPU of the H100 kind: with 256 tokens in and 128 out about 150 tokens/s for one request " +
				"and a plateau near 6,200, and at most 256 requests at once",
			Config: Config{MaxNumSeqs: 256, MaxNumBatchedTokens: 8192, MaxModelLen: 131072, BlockSize: 16, NumGPUBlocks: 25600,
				EnablePrefixCaching: true, EnableChunkedPrefill: true, StreamInterval: 1,
				Cost: Cost{Step: 6400 * time.Microsecond, PrefillToken: 40 * time.Microsecond, DecodeSeq: 40 * time.Microsecond,
					ContextToken: 49 * time.Nanosecond, Jitter: 0.02}},
		},
		{
			Name: "small-gpu",
			Doc: "an 8-billion-parameter model on one GPU of the A10 kind, with little memory left for its KV cache: with 256 tokens in and " +
				"128 out about 31 tokens/s for one request and a plateau near 550, and at most 32 requests at once, so the cliff comes early",
			Config: Config{MaxNumSeqs: 32, MaxNumBatchedTokens: 2048, MaxModelLen: 8192, BlockSize: 16, NumGPUBlocks: 2048,
				EnablePrefixCaching: true, EnableChunkedPrefill: true, StreamInterval: 1,
				Cost: Cost{Step: 31 * time.Millisecond, PrefillToken: 256 * time.Microsecond, DecodeSeq: 256 * time.Microsecond,
					ContextToken: 270 * time.Nanosecond, Jitter: 0.02}},
		},
		{
			Name: "cpu",
			Doc: "a model of two layers on two CPU cores, as the real vLLM was seen to serve it: with 200 tokens in and " +
				"100 out about 135 tokens/s for one request and 1,300 at 16, and no more than 16 requests at once",
			Config: Config{MaxNumSeqs: 16, MaxNumBatchedTokens: 2048, MaxModelLen: 4096, BlockSize: 128, NumGPUBlocks: 8192,
				EnablePrefixCaching: true, EnableChunkedPrefill: true, StreamInterval: 1,
				Cost: Cost{Step: 7 * time.Millisecond, PrefillToken: 40 * time.Microsecond, DecodeSeq: 240 * time.Microsecond,
					ContextToken: 100 * time.Nanosecond, Jitter: 0.05}},
		},
	}
}

// Resolve fills what spec leaves open from its profile and checks the whole, as vLLM checks its own options when it starts.
func Resolve(spec schema.Simulator) (Config, error) {
	profiles := Profiles()
	at := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == spec.Profile })
	if at < 0 {
		names := make([]string, len(profiles))
		for i, p := range profiles {
			names[i] = p.Name
		}
		return Config{}, fmt.Errorf("profile must be one of %s, not %q", strings.Join(names, ", "), spec.Profile)
	}
	c := profiles[at].Config
	c.Seed, c.Faults = spec.Seed, spec.Faults
	for _, f := range []struct {
		name  string
		to    *int
		from  *int64
		least int64
	}{
		{"max_num_seqs", &c.MaxNumSeqs, spec.MaxNumSeqs, 1},
		{"max_num_batched_tokens", &c.MaxNumBatchedTokens, spec.MaxNumBatchedTokens, 1},
		{"max_model_len", &c.MaxModelLen, spec.MaxModelLen, 2},
		{"block_size", &c.BlockSize, spec.BlockSize, 1},
		{"num_gpu_blocks", &c.NumGPUBlocks, spec.NumGPUBlocks, 1},
		{"stream_interval", &c.StreamInterval, spec.StreamInterval, 1},
		{"reasoning_tokens", &c.ReasoningTokens, spec.ReasoningTokens, 0},
		{"tool_call_tokens", &c.ToolCallTokens, spec.ToolCallTokens, 0},
	} {
		if f.from == nil {
			continue
		}
		if *f.from < f.least || *f.from > largest {
			return Config{}, fmt.Errorf("%s must be %d to %d, not %d", f.name, f.least, int64(largest), *f.from)
		}
		*f.to = int(*f.from)
	}
	if spec.EnablePrefixCaching != nil {
		c.EnablePrefixCaching = *spec.EnablePrefixCaching
	}
	if spec.EnableChunkedPrefill != nil {
		c.EnableChunkedPrefill = *spec.EnableChunkedPrefill
	}
	return c, c.check()
}

// largest is the most that any count of a configuration may be: enough for any machine, and little enough that its tables fit in memory.
const largest = 1 << 24

func (c Config) check() error {
	if need := (c.MaxModelLen + c.BlockSize - 1) / c.BlockSize; need > c.NumGPUBlocks {
		return fmt.Errorf("max_model_len %d needs %d blocks of %d tokens, and num_gpu_blocks is %d: lower one or raise the other",
			c.MaxModelLen, need, c.BlockSize, c.NumGPUBlocks)
	}
	if !c.EnableChunkedPrefill && c.MaxNumBatchedTokens < c.MaxModelLen {
		return fmt.Errorf("without enable_chunked_prefill max_num_batched_tokens (%d) must be at least max_model_len (%d)",
			c.MaxNumBatchedTokens, c.MaxModelLen)
	}
	for i, f := range c.Faults {
		if err := checkFault(f); err != nil {
			return fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	return nil
}
