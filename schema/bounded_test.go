package schema

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestBounded(t *testing.T) {
	for _, test := range []struct {
		name string
		run  time.Duration // of the computation
		hold int           // bytes that it holds
		want string
	}{
		{"within the bounds", 9 * time.Second, 1 << 20, ""},
		{"endless", time.Hour, 1 << 20, "takes longer than 10s to evaluate"},
		{"large", time.Hour, 128 << 20, "needs more than 64 MiB of memory to evaluate"},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := bounded(10*time.Second, 64<<20, func() {
				held := make([]byte, test.hold)
				time.Sleep(test.run)
				runtime.KeepAlive(held)
			})
			if got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
			time.Sleep(2 * time.Hour) // until the computation that was given up has ended
		})
	}
}

// TestCUEPanics holds that a computation which no memory could hold is a problem of the file.
func TestCUEPanics(t *testing.T) {
	if got := bounded(time.Second, 1<<30, func() { panic("makeslice: len out of range") }); got != "can't be evaluated: makeslice: len out of range" {
		t.Errorf("a panic gives %q", got)
	}
}

// GivenUp speaks of bounds alone: other faults are for [Read] to tell, at their places.
func TestGivenUpTellsNoOtherFaults(t *testing.T) {
	for _, text := range []string{`model: "m"`, `model: 1 & 2`, `model: "m`, `import "example.com/x"`, ""} {
		if got := GivenUp([]byte(text)); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestFilesThatMayLeap(t *testing.T) {
	for text, want := range map[string]bool{
		"import \"math/bits\"\nn: bits.Lsh(1, 100000000000)": true, `s: "x" * 100000000000`: true, `model: "m", service: simulator: {}`: false,
	} {
		if got := MayLeap([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
