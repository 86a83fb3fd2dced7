// Command table prints how the load engine compares with the floor: each tool of each case as a process of its own, in turn, so many rounds,
// and the medians. It is for docs/performance.md; the same measurements are benchmarks of package bench.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"sweetspot/runner/bench"
)

func main() { os.Exit(bench.Main("table", os.Args[1:], os.Stdin, os.Stdout, os.Stderr, compare)) }

func compare(ctx context.Context, self, args []string) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often each tool runs")
	cases := flags.String("cases", "", "cases to run, such as 64x20,500x20; empty: all")
	tools := flags.String("tools", strings.Join([]string{bench.Epoll, bench.Reader, bench.Engine}, ","), "tools to run")
	profile := flags.String("profile", "", "write a CPU profile of the last tool's last run to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := comparison{self: self, rounds: *rounds, tools: strings.Split(*tools, ","), profile: *profile, out: os.Stdout}
	fmt.Fprintln(c.out, header)
	for _, load := range bench.Cases() {
		if *cases != "" && !slices.Contains(strings.Split(*cases, ","), load.Name()) {
			continue
		}
		if err := c.load(ctx, load); err != nil {
			return fmt.Errorf("%s: %w", load.Name(), err)
		}
	}
	return nil
}

type comparison struct {
	self    []string
	rounds  int
	tools   []string
	profile string
	out     io.Writer
}

func (c comparison) load(ctx context.Context, load bench.Load) error {
	results := map[string][]bench.Result{}
	for range c.rounds {
		for _, tool := range c.tools {
			r, err := bench.Measure(ctx, bench.Config{Tool: tool, Load: load, Self: c.self, Profile: c.profile})
			if err != nil {
				return err
			}
			results[tool] = append(results[tool], r)
		}
	}
	for _, tool := range c.tools {
		c.row(load, tool, bench.Median(results[tool]))
	}
	return nil
}

const header = "| case | tool | CPU µs/event | KiB/stream | in flight | tok/s (of what is possible) | TTFT p50, p99 ms | first token's stamp lag p50, p99 ms | chunks' p50, p99 ms | read behind dispatch p99 ms | [DONE] to free p99 ms | free to dispatch p99 µs | start CPU ms |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|"

func (c comparison) row(load bench.Load, tool string, r bench.Result) {
	share := ""
	if load.Spread == 0 { // else the last streams end alone
		share = fmt.Sprintf(" (%.1f %%)", 100*r.TokensPerSecond/load.Possible())
	}
	fmt.Fprintf(c.out, "| %s | %s | %.1f | %s | %d | %.0f%s | %s, %s | %s, %s | %s, %s | %s | %s | %s | %.0f |\n", load.Name(), tool,
		1e6*r.CPUPerEvent, figure(r.BytesPerStream, 1./1024, 1), r.PeakInFlight, r.TokensPerSecond, share,
		figure(r.TTFTP50, 1e3, 1), figure(r.TTFTP99, 1e3, 1), figure(r.FirstP50, 1e3, 2), figure(r.FirstP99, 1e3, 2),
		figure(r.ChunkP50, 1e3, 2), figure(r.ChunkP99, 1e3, 2), figure(r.ReadP99, 1e3, 2), figure(r.FreeP99, 1e3, 2), figure(r.RefillP99, 1e6, 0), 1e3*r.StartCPU)
}

func figure(value *float64, scale float64, digits int) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *value*scale)
}
