//go:build linux

package main

import (
	"fmt"
	"slices"

	"sweetspot/runner/bench"
)

// result is what a tool took, what it says, and what is true, by the service's log.
type result struct {
	cpu, events       float64 // seconds; events with a token
	cpuPerEvent       float64 // of the load alone, with the floor; the tools' is worked out against their idle cost
	peakMemory        float64 // bytes
	requests          float64
	peak, mean        float64  // in flight
	saidTTFT, ttft    *float64 // medians, in seconds
	saidTokens, token *float64 // per second
}

func resultOf(u used, s said, t truth) result {
	return result{
		cpu: u.cpu.Seconds(), events: float64(t.events), peakMemory: float64(u.peak), requests: float64(t.requests),
		peak: float64(t.peakInFlight), mean: t.meanInFlight, saidTTFT: s.ttftP50, ttft: t.ttftP50, saidTokens: s.tokensPerSecond, token: &t.tokensPerSecond,
	}
}

func floorResult(r bench.Result) result {
	return result{cpuPerEvent: r.CPUPerEvent, cpu: r.StartCPU, peak: float64(r.PeakInFlight), saidTTFT: r.TTFTP50, saidTokens: &r.TokensPerSecond}
}

// median is the median of each figure; nil where one of the results has none.
func median(results []result) result {
	of := func(figure func(result) *float64) *float64 {
		var values []float64
		for _, r := range results {
			if v := figure(r); v != nil {
				values = append(values, *v)
			}
		}
		if len(values) < len(results) {
			return nil
		}
		slices.Sort(values)
		middle := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
		return &middle
	}
	known := func(figure func(result) float64) float64 {
		return *of(func(r result) *float64 { v := figure(r); return &v })
	}
	return result{
		cpu:         known(func(r result) float64 { return r.cpu }),
		events:      known(func(r result) float64 { return r.events }),
		cpuPerEvent: known(func(r result) float64 { return r.cpuPerEvent }),
		peakMemory:  known(func(r result) float64 { return r.peakMemory }),
		requests:    known(func(r result) float64 { return r.requests }),
		peak:        known(func(r result) float64 { return r.peak }),
		mean:        known(func(r result) float64 { return r.mean }),
		saidTTFT:    of(func(r result) *float64 { return r.saidTTFT }),
		ttft:        of(func(r result) *float64 { return r.ttft }),
		saidTokens:  of(func(r result) *float64 { return r.saidTokens }),
		token:       of(func(r result) *float64 { return r.token }),
	}
}

// above is the CPU time of an event in seconds: what the load took more than two requests did, over the events that it had more.
func (r result) above(idle result) float64 {
	if r.events == 0 {
		return r.cpuPerEvent
	}
	return (r.cpu - idle.cpu) / (r.events - idle.events)
}

const header = "| case | tool | CPU µs/event over idle | × the floor's | idle CPU s | peak MiB | in flight: most, mean | output tok/s it says | tok/s it had (of what is possible) | median TTFT it says, ms | the service's, ms |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

func row(load bench.Load, name string, r, idle, floor result) string {
	start := idle.cpu
	if r.events == 0 {
		start = r.cpu
	}
	had := "-"
	if r.token != nil {
		had = fmt.Sprintf("%.0f (%.1f %%)", *r.token, 100**r.token/load.Possible())
	}
	return fmt.Sprintf("| %s | %s | %.1f | %.2f | %.2f | %.0f | %.0f, %.0f | %s | %s | %s | %s |\n", load.Name(), name,
		1e6*r.above(idle), r.above(idle)/floor.cpuPerEvent, start, r.peakMemory/(1<<20), r.peak, r.mean,
		figure(r.saidTokens, 1, 0), had, figure(r.saidTTFT, 1e3, 1), figure(r.ttft, 1e3, 1))
}

func figure(value *float64, scale float64, digits int) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *value*scale)
}
