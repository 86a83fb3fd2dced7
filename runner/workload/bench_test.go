package workload

import (
	"testing"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// BenchmarkThousandRequests makes 1,000 requests of 32,000 tokens, at one token a word for the worst case.
func BenchmarkThousandRequests(b *testing.B) {
	onePerWord := Calibration{Story: Scale{Overhead: 40, Rate: 1000}, Words: Scale{Overhead: 40, Rate: 1000}}
	for name, spec := range map[string]schema.Spec{"fixed": fixedSpec(32_000, "isolated"), "random": randomSpec(32_000, "isolated")} {
		source, err := New(spec, Seed{Run: "3f9a1c02"}, onePerWord)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range int64(1000) {
					requestAt(b, source, measure.Measured, i)
				}
			}
		})
	}
}

func BenchmarkNewFixedMillion(b *testing.B) {
	for b.Loop() {
		if _, err := New(fixedSpec(1_000_000, "shared"), Seed{}, Calibration{}); err != nil {
			b.Fatal(err)
		}
	}
}
