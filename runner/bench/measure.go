package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"sweetspot/runner/measure"
	"sweetspot/runner/service"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// Config says what [Measure] runs.
type Config struct {
	Tool    string   // [Engine], [Reader] or [Epoll]
	Load    Load     // bounded by Requests
	Self    []string // command line that runs [Child], the kind left out
	Profile string   // file for the tool's CPU profile; empty: none
}

// Result is what a tool took and what it saw. Times are in seconds, memory in bytes. A figure that is not known is nil.
type Result struct {
	CPUPerEvent     float64  // CPU time of the load over the events with a token
	StartCPU        float64  // CPU time before the load
	BytesPerStream  *float64 // peak of resident memory, above what was resident before the load
	PeakInFlight    int64
	TokensPerSecond float64
	TTFTP50         *float64 // as the tool stamped it
	TTFTP99         *float64
	ReadP99         *float64 // the service had read the request, after its dispatch
	FirstP50        *float64 // stamp of the first token, after the service's write of it
	FirstP99        *float64
	ChunkP50        *float64 // the same of all events with a token; nil: the tool stamps none
	ChunkP99        *float64
	FreeP99         *float64 // from a response's [DONE] to the lane's being free; 0 for the floor, which calls the end of the body the end
	RefillP99       *float64 // from a lane's being free to the dispatch of its next request
}

// Measure runs a tool once, as a process of its own, against a service of its own, and holds what it saw against the service's log.
func Measure(ctx context.Context, c Config) (r Result, err error) {
	dir, err := os.MkdirTemp("", "sweetspot-bench-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	truth, exchanges := filepath.Join(dir, "truth.jsonl"), filepath.Join(dir, "exchanges")
	s, err := startService(ctx, append(slices.Clone(c.Self), childService), c.Load, truth)
	if err != nil {
		return Result{}, err
	}
	used, err := runTool(ctx, append(slices.Clone(c.Self), childTool), task{c.Tool, s.URLs[0], c.Load, exchanges, c.Profile})
	if err := errors.Join(err, s.Stop(ctx)); err != nil {
		return Result{}, err
	}
	seen, err := readExchanges(exchanges)
	if err != nil {
		return Result{}, err
	}
	fidelity, err := matchFile(seen, truth)
	if err != nil {
		return Result{}, fmt.Errorf("holding %s against the service's log: %w", c.Tool, err)
	}
	return resultOf(c.Load, used, seen, fidelity), nil
}

// startService starts the simulated service at the load's rate, with its log.
func startService(ctx context.Context, self []string, l Load, truth string) (*service.Service, error) {
	return service.Start(ctx, schema.Service{Simulator: &schema.Simulator{Profile: "large-gpu"}}, service.Options{
		Model: model, Self: self, Paced: l.paced(), Truth: truth,
	})
}

func runTool(ctx context.Context, self []string, t task) (usage, error) {
	told, err := json.Marshal(t)
	if err != nil {
		return usage{}, err
	}
	var answer, complaint bytes.Buffer
	tool := exec.CommandContext(ctx, self[0], self[1:]...)
	tool.Stdin, tool.Stdout, tool.Stderr = bytes.NewReader(told), &answer, &complaint
	if err := tool.Run(); err != nil {
		return usage{}, fmt.Errorf("running %s: %w: %s", t.Tool, err, bytes.TrimSpace(complaint.Bytes()))
	}
	var used usage
	if err := json.Unmarshal(answer.Bytes(), &used); err != nil {
		return usage{}, fmt.Errorf("reading what %s used: %w", t.Tool, err)
	}
	return used, nil
}

func matchFile(seen []Exchange, truth string) (Fidelity, error) {
	file, err := os.Open(truth)
	if err != nil {
		return Fidelity{}, err
	}
	defer file.Close()
	log, err := simulator.ReadLog(file)
	if err != nil {
		return Fidelity{}, err
	}
	return Match(seen, log)
}

func resultOf(l Load, used usage, seen []Exchange, f Fidelity) Result {
	var events int64
	for _, e := range seen {
		events += e.Tokens
	}
	turn := turnaroundOf(seen)
	r := Result{
		CPUPerEvent: used.CPU.Seconds() / float64(events), StartCPU: used.StartCPU.Seconds(), PeakInFlight: peakInFlight(seen),
		ReadP99: measure.Quantile(f.Read, 99), FirstP50: measure.Quantile(f.First, 50), FirstP99: measure.Quantile(f.First, 99),
		ChunkP50: measure.Quantile(f.Chunk, 50), ChunkP99: measure.Quantile(f.Chunk, 99),
		FreeP99: measure.Quantile(turn.free, 99), RefillP99: measure.Quantile(turn.refill, 99),
	}
	if used.IdleBytes != nil && used.PeakBytes != nil {
		each := float64(*used.PeakBytes-*used.IdleBytes) / float64(l.Streams)
		r.BytesPerStream = &each
	}
	var ttft []float64
	r.TokensPerSecond, ttft = output(seen)
	r.TTFTP50, r.TTFTP99 = measure.Quantile(ttft, 50), measure.Quantile(ttft, 99)
	return r
}

// Median is the median of each figure over results; nil where a figure is not known in all of them. It needs one result at least.
func Median(results []Result) Result {
	float := func(of func(*Result) *float64) *float64 {
		var values []float64
		for i := range results {
			if value := of(&results[i]); value != nil {
				values = append(values, *value)
			}
		}
		if len(values) < len(results) {
			return nil
		}
		slices.Sort(values)
		middle := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
		return &middle
	}
	inFlight := *float(func(r *Result) *float64 { value := float64(r.PeakInFlight); return &value })
	return Result{
		CPUPerEvent:     *float(func(r *Result) *float64 { return &r.CPUPerEvent }),
		StartCPU:        *float(func(r *Result) *float64 { return &r.StartCPU }),
		BytesPerStream:  float(func(r *Result) *float64 { return r.BytesPerStream }),
		PeakInFlight:    int64(inFlight),
		TokensPerSecond: *float(func(r *Result) *float64 { return &r.TokensPerSecond }),
		TTFTP50:         float(func(r *Result) *float64 { return r.TTFTP50 }),
		TTFTP99:         float(func(r *Result) *float64 { return r.TTFTP99 }),
		ReadP99:         float(func(r *Result) *float64 { return r.ReadP99 }),
		FirstP50:        float(func(r *Result) *float64 { return r.FirstP50 }),
		FirstP99:        float(func(r *Result) *float64 { return r.FirstP99 }),
		ChunkP50:        float(func(r *Result) *float64 { return r.ChunkP50 }),
		ChunkP99:        float(func(r *Result) *float64 { return r.ChunkP99 }),
		FreeP99:         float(func(r *Result) *float64 { return r.FreeP99 }),
		RefillP99:       float(func(r *Result) *float64 { return r.RefillP99 }),
	}
}
