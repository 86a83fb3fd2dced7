package imports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRedacted is the CPU time of the copy of a file of 10 MB that an import keeps.
func BenchmarkRedacted(b *testing.B) {
	for _, name := range []string{"aiperf/c4/profile_export.jsonl", "guidellm/benchmarks.json", "vllm-bench/openai-c4.json"} {
		b.Run(filepath.Dir(name), func(b *testing.B) {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				b.Fatal(err)
			}
			text = bytes.Repeat(append(text, '\n'), 10_000_000/len(text))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redacted(text)
			}
		})
	}
}
