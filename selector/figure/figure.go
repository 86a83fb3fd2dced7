// Package figure names the figures of a point, as comparisons and conditions ask for them: the numeric columns of the points table.
//
// A figure has the name, unit and meaning of its column, and says whether more of it is better. The package computes nothing: what a figure is
// stands in package measure, and what follows from it is its users' to say.
package figure

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Better says which way a figure should go.
type Better string

// The ways. A figure that is good or bad by itself neither way, such as a count of requests, has none.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
	None   Better = ""
)

// Figure is a numeric column of the points table.
type Figure struct {
	Name   string // as in Parquet, JSON and CSV
	Unit   string // "s", "tok/s", "1/s"; empty for counts and ratios
	Doc    string
	Better Better

	index []int
	count bool
}

var all = sync.OnceValue(list)

// All are the figures in the order of the table.
func All() []Figure { return slices.Clone(all()) }

func list() []Figure {
	var figures []Figure
	for _, c := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		count := c.Type == reflect.TypeFor[int64]()
		switch {
		case c.Name == "repeat" || c.Name == "attempt":
			continue // they say which row it is
		case !count && c.Type != reflect.TypeFor[*int64]() && c.Type != reflect.TypeFor[*float64]():
			continue
		}
		figures = append(figures, Figure{c.Name, c.Unit, c.Doc, better(c), c.Index, count})
	}
	return figures
}

// latencies are the prefixes of times that a user waits.
var latencies = []string{"ttft_", "ttfot_", "total_time_", "tpot_", "icl_", "queue_delay_"}

func better(c measure.Column) Better {
	switch c.Name {
	case "requests_per_s", "goodput_per_s", "success_rate":
		return Higher
	case "error_rate", "cost_per_million_output_tokens", "gpu_energy_per_output_token_j":
		return Lower
	}
	isLatency := func(prefix string) bool { return strings.HasPrefix(c.Name, prefix) }
	switch {
	case c.Unit == "tok/s":
		return Higher
	case c.Unit == "s" && slices.ContainsFunc(latencies, isLatency) && !strings.HasSuffix(c.Name, "_std_s"):
		return Lower
	}
	return None
}

// Of is the figure of a row, nil where it is not known.
func (f Figure) Of(p *measure.Point) *float64 {
	switch v := reflect.ValueOf(p).Elem().FieldByIndex(f.index).Interface().(type) {
	case *float64:
		return v
	case *int64:
		if v != nil {
			n := float64(*v)
			return &n
		}
	case int64:
		n := float64(v)
		return &n
	}
	return nil
}

// Count reports whether the figure counts things, which repeats have more of.
func (f Figure) Count() bool { return f.count }

// usual are the figures that are shown where nobody asks for others, and named to whoever asks for one that there is not.
var usual = []string{
	"output_tok_per_s", "output_tok_per_s_gpu", "cost_per_million_output_tokens", "output_tok_per_s_user", "goodput_per_s",
	"ttft_p50_s", "ttft_p95_s", "ttft_p99_s", "tpot_p50_s", "total_time_p50_s", "error_rate",
}

// Usual are the figures that most comparisons are about.
func Usual() []Figure {
	var figures []Figure
	for _, name := range usual {
		i := slices.IndexFunc(all(), func(f Figure) bool { return f.Name == name })
		figures = append(figures, all()[i])
	}
	return figures
}

// Find is the figure of that name. An error names the nearest one, and the usual ones.
func Find(name string) (Figure, error) {
	names := make([]string, len(all()))
	for i, f := range all() {
		if f.Name == name {
			return f, nil
		}
		names[i] = f.Name
	}
	return Figure{}, fmt.Errorf("%q is no figure%s The usual ones are %s; the numeric columns of the points table are all (docs/reference/results.md)",
		name, didYouMean(name, names), strings.Join(usual, ", "))
}

// didYouMean asks for the figure that name is short for, or else a slip of.
func didYouMean(name string, names []string) string {
	for _, meant := range []string{name + "_s", name + "_p50_s", schema.Nearest(name, names)} {
		if slices.Contains(names, meant) {
			return fmt.Sprintf(": did you mean %s?", meant)
		}
	}
	return "."
}
