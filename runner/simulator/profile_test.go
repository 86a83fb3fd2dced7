package simulator

import (
	"io"
	"strings"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/schema"
)

func ref[T any](v T) *T { return &v }

func TestWhatIsLeftOpenIsTheProfiles(t *testing.T) {
	got, err := Resolve(schema.Simulator{Profile: "small-gpu", Seed: 7, MaxNumSeqs: ref[int64](5), EnablePrefixCaching: ref(false),
		ToolCallTokens: ref[int64](3)})
	if err != nil {
		t.Fatal(err)
	}
	want := profile(t, "small-gpu")
	if got.MaxNumSeqs != 5 || got.Seed != 7 || got.EnablePrefixCaching || got.ToolCallTokens != 3 || got.NumGPUBlocks != want.NumGPUBlocks ||
		got.Cost != want.Cost || !got.EnableChunkedPrefill {
		t.Errorf("resolved %+v", got)
	}
}

func TestEveryProfileIsValidAndSaysWhatItStandsFor(t *testing.T) {
	for _, p := range Profiles() {
		if _, err := Resolve(schema.Simulator{Profile: p.Name}); err != nil || p.Doc == "" {
			t.Errorf("%s: %v, %q", p.Name, err, p.Doc)
		}
	}
}

func TestConfigurationsThatCantWorkAreRefused(t *testing.T) {
	base := func(change func(*schema.Simulator)) schema.Simulator {
		s := schema.Simulator{Profile: "small-gpu"}
		change(&s)
		return s
	}
	fault := func(f schema.Fault) schema.Simulator {
		return base(func(s *schema.Simulator) { s.Faults = []schema.Fault{{Kind: "cut"}, f} })
	}
	for want, spec := range map[string]schema.Simulator{
		`profile must be one of large-gpu, small-gpu, cpu, not "big"`: {Profile: "big"},
		"max_num_seqs must be 1 to 16777216, not 0":                   base(func(s *schema.Simulator) { s.MaxNumSeqs = ref[int64](0) }),
		"num_gpu_blocks must be 1 to 16777216, not 100000000":         base(func(s *schema.Simulator) { s.NumGPUBlocks = ref[int64](100000000) }),
		"max_model_len 8192 needs 512 blocks of 16 tokens, and num_gpu_blocks is 100": base(func(s *schema.Simulator) {
			s.NumGPUBlocks = ref[int64](100)
		}),
		"max_num_batched_tokens (2048) must be at least max_model_len (8192)": base(func(s *schema.Simulator) { s.EnableChunkedPrefill = ref(false) }),
		`faults[1]: kind must be one of`:                                      fault(schema.Fault{Kind: "fire"}),
		"status must be 400 to 599, not 200":                                  fault(schema.Fault{Kind: "http_error", Status: 200}),
		"probability must be 0 to 1, not 2":                                   fault(schema.Fault{Kind: "cut", Probability: 2}),
		"must not be negative":                                                fault(schema.Fault{Kind: "stall", Delay: -1}),
	} {
		if _, err := New(spec, Options{Model: "m", Clock: clock.New(), Log: io.Discard}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(schema.Simulator{Profile: "cpu"}, Options{}); err == nil || !strings.Contains(err.Error(), "must have a name") {
		t.Errorf("no model: %v", err)
	}
	if _, err := New(schema.Simulator{Profile: "cpu"}, Options{Model: "m", Paced: &Paced{Interval: -1}}); err == nil {
		t.Error("a negative interval was taken")
	}
}

func TestADelayLeftOutIsLong(t *testing.T) {
	got := troubleFor([]schema.Fault{{Kind: "stall", Probability: 1}, {Kind: "slow_headers", Probability: 1, Delay: 5}}, 1, 1, 1)
	if got.stallFor != 30*time.Second || got.slowHeaders != 5 {
		t.Errorf("stalls for %v, headers after %v", got.stallFor, got.slowHeaders)
	}
}
