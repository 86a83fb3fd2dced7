package main

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// printedColumns says what of the document the columns of the printed curve are.
var printedColumns = map[string]func(point) string{
	"c":         column("concurrency"),
	"sessions":  column("steady_mean_sessions_in_flight", "mean_sessions_in_flight"), // where a client that was kept from running let them come apart
	"in flight": column("steady_mean_requests_in_flight", "mean_requests_in_flight"),
	"ok/fail":   outcome,
	"cached":    column("cache_hit_ratio"),
	"tok/s":     column("output_tok_per_s"),
	"steady":    column("steady_output_tok_per_s"),
	"×":         column("throughput_scaling"),
	"tok/s/gpu": column("output_tok_per_s_gpu"),
	"cost/Mtok": column("cost_per_million_output_tokens"),
	"tps/user":  column("output_tok_per_s_user"),
	"TTFT p50":  column("ttft_all_p50_s"), // which the preset has a limit for
	"p95":       column("ttft_p95_s"),
	"p99":       column("ttft_p99_s"),
	"TPOT":      column("tpot_p50_s"),
}

// column is the first of some columns that the point has something in.
func column(names ...string) func(point) string {
	return func(p point) string {
		for _, name := range names {
			if p.row[name] != "" {
				return p.row[name]
			}
		}
		return ""
	}
}

// outcome counts ok and failed requests over the repeats.
func outcome(p point) string {
	var ok, failed int
	for _, r := range p.Repeats {
		issued, _ := strconv.Atoi(r["requests_issued"])
		good, _ := strconv.Atoi(r["requests_ok"])
		ok, failed = ok+good, failed+issued-good
	}
	return strconv.Itoa(ok) + "/" + strconv.Itoa(failed)
}

var (
	gaps  = regexp.MustCompile(`\s{2,}`)
	timed = regexp.MustCompile(`^([0-9.]+)(ms|s|%)?$`)
)

// The table that run and show print.
func (s *sources) checkPrinted(t *testing.T) {
	if shown := sweetspotIn(t, s.dir, "show", s.id); shown != s.printed {
		t.Errorf("run printed %s\nshow prints %s", s.printed, shown)
	}
	for _, trial := range s.document {
		_, rest, found := strings.Cut(s.printed, "trial "+trial.Name+"\n")
		lines := strings.Split(rest, "\n")
		if !found || len(lines) < 1+len(trial.Points) {
			t.Fatalf("trial %s is not printed: %s", trial.Name, s.printed)
		}
		header := gaps.Split(strings.TrimSpace(lines[0]), -1)
		for i, p := range trial.Points {
			cells := strings.Fields(strings.ReplaceAll(lines[1+i], " %", "%"))
			if len(cells) > 0 && strings.Contains(">x?", cells[0][:1]) {
				cells = cells[1:]
			}
			if len(cells) != len(header) {
				t.Fatalf("%d cells under %d titles: %q", len(cells), len(header), lines[1+i])
			}
			for j, title := range header {
				of, known := printedColumns[title]
				if !known {
					t.Errorf("this test does not know the column %q", title)
				} else if want := of(p); !reads(t, strings.TrimRight(cells[j], "*~"), want) {
					t.Errorf("%s of point %s reads %s, and is %s", title, p.row["point_id"], cells[j], want)
				}
			}
		}
	}
}

// reads reports whether a printed cell is what stands for the figure: with as many digits as docs/reference/measurement.md says.
func reads(t *testing.T, cell, figure string) bool {
	t.Helper()
	switch {
	case cell == "-":
		return figure == "" || figure == "0" // of what nothing came from the cache
	case cell == "infinite":
		return figure == "Infinity"
	case figure == "" || strings.Contains(figure, "/"):
		return cell == figure
	}
	parts := timed.FindStringSubmatch(cell)
	if parts == nil {
		return false
	}
	shown, exact, digits := number(t, parts[1]), number(t, figure), 3
	switch parts[2] {
	case "ms":
		exact *= 1000
	case "%":
		exact, digits = exact*100, 2
	case "s":
		return math.Abs(shown-exact) <= 0.005+1e-9
	}
	half := 0.5
	if exact < 999.5 {
		half = 0.5 * math.Pow10(int(math.Floor(math.Log10(exact)))-digits+1)
	}
	return math.Abs(shown-exact) <= half*(1+1e-9)
}
