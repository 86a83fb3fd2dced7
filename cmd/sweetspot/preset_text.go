package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"sweetspot/presets"
	"sweetspot/selector/format"
)

// runColumns are the columns of a list of runs.
var runColumns = []string{"NAME", "ID", "CONSTRAINTS", "BENCHMARK", "TRIALS", "STATUS"}

// printRuns writes a row for each run, with each of its trials below it where verbose, and what the marks mean.
func printRuns(out io.Writer, width int, listing *presets.Listing, verbose bool) error {
	if len(listing.Runs) == 0 {
		_, err := fmt.Fprintln(out, "no runs")
		return err
	}
	var rows [][]string
	for i := range listing.Runs {
		run := &listing.Runs[i]
		rows = append(rows, []string{run.Name, run.ID, constraintsText(run.Constraints), benchmarkText(run.Benchmark) + earlierMark(run) + interimMark(run), barsText(run.Trials), statusText(run)})
		if verbose {
			rows = append(rows, trialRows(run)...)
		}
	}
	if err := printFitted(out, width, runColumns, rows); err != nil {
		return err
	}
	return printMarks(out, width, rows)
}

// markEarlier stands behind figures of a trial that an earlier run measured: what was asked there is not what the row says.
const markEarlier = " (previous)"

// earlierMark is [markEarlier] where the run's winner is a trial of an earlier run: those come after its own.
func earlierMark(run *presets.Listed) string {
	won := func(t presets.TrialBrief) bool { return run.Winner != nil && t.TrialID == *run.Winner }
	own := min(run.TrialsPlanned, len(run.Trials))
	if slices.ContainsFunc(run.Trials[own:], won) && !slices.ContainsFunc(run.Trials[:own], won) {
		return markEarlier
	}
	return ""
}

// markInterim stands behind figures of what was not measured to its end.
const markInterim = " (interim)"

func interimMark(run *presets.Listed) string {
	if run.Benchmark != nil && run.Interim() {
		return markInterim
	}
	return ""
}

func trialRows(run *presets.Listed) [][]string {
	var rows [][]string
	bars := []rune(barsText(run.Trials))
	for i := range run.Trials {
		trial := &run.Trials[i]
		name := "  " + trial.TrialName
		if run.Winner != nil && *run.Winner == trial.TrialID {
			name = markSelected + " " + trial.TrialName
		}
		benchmark := benchmarkText(trial.Benchmark)
		if i >= run.TrialsPlanned {
			benchmark += markEarlier
		}
		if trial.Benchmark != nil && trial.Status == "incomplete" {
			benchmark += markInterim
		}
		rows = append(rows, []string{name, "", "", benchmark, string(bars[i]), trial.Status})
	}
	return rows
}

// rejected is a load that is marked so.
var rejected = regexp.MustCompile(`=[0-9.]+` + markRejected + `( |$)`)

// printMarks explains the marks that rows have.
func printMarks(out io.Writer, width int, rows [][]string) error {
	has := func(column int, sign string) bool {
		return slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(row[column], sign) })
	}
	var lines []string
	if has(3, "*") {
		lines = append(lines, "* does not meet its limit; behind c= no point of the trial meets the limits")
	}
	if slices.ContainsFunc(rows, func(row []string) bool { return rejected.MatchString(row[3]) }) {
		lines = append(lines, "x behind c= the selected point could not be trusted when it was measured again")
	}
	if has(3, "?") {
		lines = append(lines, "? context length as it was reported; no request of the run has filled it")
	}
	if has(3, markEarlier) {
		lines = append(lines, "(previous) of a trial that an earlier run measured: CONSTRAINTS and STATUS are this run's own")
	}
	if has(3, markInterim) {
		lines = append(lines, "(interim) of what was not measured to its end: the figures and the winner may change")
	}
	if slices.ContainsFunc(rows, func(row []string) bool { return strings.HasPrefix(row[0], markSelected+" ") }) {
		lines = append(lines, "> the winning trial")
	}
	if len(lines) == 0 {
		return nil
	}
	for i := range lines {
		lines[i] = wrap(lines[i], width)
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// shortNames are the names of caps, rates and speeds where there is little room.
var shortNames = map[string]string{"concurrency": "c", "request_concurrency": "req", "prefill_concurrency": "prefill", "request_rate": "rate", "replay_speed": "speed"}

func constraintsText(c presets.Constraints) string {
	words := []string{"data=" + strings.Join(c.Data, ",")}
	for _, r := range c.Load {
		words = append(words, shortNames[r.Name]+"="+format.Range(whole(r.Min), whole(r.Max)))
	}
	return strings.Join(words, " ")
}

// whole writes a cap with all its digits, and a rate with three.
func whole(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return format.Number(v)
}

func benchmarkText(b *presets.Benchmark) string {
	if b == nil {
		return format.None
	}
	var words []string
	if b.UserTokPerS.Min != nil {
		words = append(words, "tps/user="+spanText(b.UserTokPerS, format.Number))
	}
	words = append(words, loadWords(b)...)
	if b.TTFT.Min != nil {
		name := "ttft"
		if b.TTFTStat != "p50" {
			name += "_" + b.TTFTStat
		}
		words = append(words, name+"="+spanText(b.TTFT, format.Seconds))
	}
	if text := contextText(b.Context); text != "" {
		words = append(words, "ctx="+text)
	}
	return strings.Join(words, " ")
}

// loadWords name the selected point.
func loadWords(b *presets.Benchmark) []string {
	breached := ""
	if !b.Eligible {
		breached = markRejected
	} else if !b.Feasible {
		breached = markBreached
	}
	var words []string
	limit := func(name string, most *int64) {
		if most != nil {
			words = append(words, fmt.Sprintf("%s=%d%s", shortNames[name], *most, breached))
		}
	}
	pace := func(name string, value *float64) {
		if value != nil {
			words = append(words, shortNames[name]+"="+whole(*value)+breached)
		}
	}
	limit("concurrency", b.Load.Concurrency)
	limit("request_concurrency", b.Load.RequestConcurrency)
	limit("prefill_concurrency", b.Load.PrefillConcurrency)
	pace("request_rate", b.Load.RequestRate)
	pace("replay_speed", b.Load.ReplaySpeed)
	return words
}

func spanText(s presets.Span, write func(float64) string) string {
	mark := func(v float64, breached bool) string {
		if breached {
			return write(v) + markBreached
		}
		return write(v)
	}
	return format.Range(mark(*s.Min, s.MinBreached), mark(*s.Max, s.MaxBreached))
}

func contextText(c presets.Context) string {
	var text string
	switch {
	case c.Tokens != nil:
		text = format.Tokens(*c.Tokens)
		if c.Reported {
			text += "?"
		}
	case c.Breached:
		text = format.None
	}
	if c.Breached {
		text += markBreached
	}
	return text
}

func barsText(trials []presets.TrialBrief) string {
	values := make([]*float64, len(trials))
	for i := range trials {
		if trials[i].Benchmark != nil {
			values[i] = trials[i].Benchmark.OutputTokPerS
		}
	}
	return format.Bars(values)
}

// statusText says how far a run is. A run of which a point failed is failed, whatever else was measured.
func statusText(run *presets.Listed) string {
	text := run.Status
	if run.Status != "failed" {
		text += fmt.Sprintf(" (%d/%d)", run.TrialsDone, run.TrialsPlanned)
	}
	if run.Reproduced != nil && !*run.Reproduced {
		text += " not reproduced"
	}
	return text
}
