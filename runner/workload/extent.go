package workload

import (
	"context"

	"sweetspot/schema"
)

// Extent is what a preset is held against; zero where c is nil.
func (c *Contents) Extent() schema.Extent {
	if c == nil || c.trace == nil {
		return schema.Extent{}
	}
	return c.trace.extent()
}

// Longest is the length of the longest request in tokens, prompt and output together; 0 where it is not known, or c is nil.
func (c *Contents) Longest() int64 {
	if c == nil || c.trace == nil {
		return 0
	}
	return c.trace.found.longest
}

// Notes are what a person should know of the file, a sentence each. Contents may be nil.
func (c *Contents) Notes() []string {
	if c == nil || c.trace == nil {
		return nil
	}
	return c.trace.notes()
}

// CalibrateFrom is [Calibrate] for a workload that may name a file; contents is what that holds.
func CalibrateFrom(ctx context.Context, contents *Contents, spec schema.Spec, seed Seed, contextTokens int64, count Count) (Calibration, error) {
	cal, err := Calibrate(ctx, spec, seed, contextTokens, count)
	if err != nil || contents == nil || contents.trace == nil {
		return cal, err
	}
	return calibrateReplay(ctx, contents.trace, spec, seed, cal, count)
}
