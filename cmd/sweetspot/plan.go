package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"sweetspot/pipeline"
	"sweetspot/runner/measure"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// planCmd shows what a preset would run.
type planCmd struct {
	presetArgs
	storeFlag
	JSON bool    `help:"Print the plan as JSON."`
	Like *string `placeholder:"RUN" help:"Estimate times from an earlier run of the same points."`
}

// Run is the command.
func (c *planCmd) Run(p *process) error {
	plan, err := c.plan(p)
	if err != nil {
		return err
	}
	var earlier []measure.Point
	if c.Like != nil {
		run, err := c.find(p, *c.Like)
		if err != nil {
			return err
		}
		earlier, _ = run.Points()
	}
	if c.JSON {
		return printJSON(p.stdout, plan.Document(earlier))
	}
	if err := c.print(p.stdout, p.width(), plan, earlier); err != nil {
		return err
	}
	for _, note := range c.notes(p, plan) {
		fmt.Fprintf(p.stdout, "\n%s\n", wrap(note, p.width()))
	}
	return nil
}

// notes are what to know of the files that the trials name, each once.
func (a *presetArgs) notes(p *process, plan *pipeline.Plan) []string {
	var all []string
	for i := range plan.Trials {
		var most int64
		for _, point := range plan.Trials[i].Points {
			if point.Requests != nil {
				most = max(most, *point.Requests+point.WarmupRequests)
			}
		}
		for _, note := range a.files(p).Notes(plan.Trials[i].Spec.Workload, most) {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

func (c *planCmd) print(out io.Writer, width int, plan *pipeline.Plan, earlier []measure.Point) error {
	fmt.Fprintf(out, "%s: %s\n%s\n", plan.Name, summary(plan), wrap("rule: "+selector.Rule(plan.Rule).Text(), width))
	printCommands(out, plan)
	searched := false
	for i := range plan.Trials {
		trial := &plan.Trials[i]
		fmt.Fprintf(out, "\ntrial %s (%s)\n", trial.Name, trial.ID)
		rows := planRows(trial, earlier)
		header := []string{"", "load", "point", "measured", "warmup", "time"}
		if err := printTable(out, 2, header, []align{left, left, left, right, right, right}, rows); err != nil {
			return err
		}
		if trial.Search != nil {
			fmt.Fprintf(out, "\n%s\n", wrap(searchText(trial), width))
		}
		searched = searched || trial.Search != nil
	}
	if whole := plan.Estimate(earlier); whole != nil && searched && len(earlier) == 0 {
		fmt.Fprintf(out, "\nat most about %s in all, and more where loads are too close to call\n", duration(whole))
	} else if whole != nil && searched {
		fmt.Fprintf(out, "\nabout %s in all, with every load that the earlier search tried\n", duration(whole))
	} else if whole != nil {
		fmt.Fprintf(out, "\nabout %s in all\n", duration(whole))
	} else {
		fmt.Fprintf(out, "\n%s\n", wrap(c.unknown(), width))
	}
	return nil
}

// unknown says why it is not known how long the plan takes.
func (c *planCmd) unknown() string {
	if c.Like == nil {
		return "How long it takes hangs on the service: --like RUN takes an earlier run for a measure, and load.max_duration bounds each point."
	}
	return fmt.Sprintf("How long it takes is not known: %s did not measure all of these points to their end, with the same model, service, workload, request and load. What bounds each point is load.max_duration.", *c.Like)
}

// planRows are those of a trial's points; of a search, those of its bounds.
func planRows(trial *pipeline.Trial, earlier []measure.Point) (rows [][]string) {
	points := trial.Points
	if trial.Search != nil {
		points = []pipeline.Point{trial.Search.First, trial.Search.Last}
	}
	for i := range points {
		point := &points[i]
		rows = append(rows, []string{"", selector.LoadText(point.PointLoad), point.ID, extent(point), fmt.Sprint(point.WarmupRequests), duration(point.Estimate(earlier))})
	}
	return rows
}

// searchText says what a search does.
func searchText(trial *pipeline.Trial) string {
	s := trial.Search
	text := fmt.Sprintf("A search between these bounds, of at most %d points: %s doubles from %d on until a limit is broken or throughput has fallen twice, and then closes in on the best "+
		"load to within %s.", s.MaxPoints, s.Over, s.From, format.Percent(s.Tolerance))
	if s.MaxRepeats > trial.Repeats {
		text += fmt.Sprintf(" A load that is too close to call is measured up to %d times.", s.MaxRepeats)
	}
	return text
}

// extent is how much of a point is measured.
func extent(point *pipeline.Point) string {
	switch {
	case point.Requests == nil:
		return point.Duration.String()
	case point.Duration != nil:
		return fmt.Sprintf("%d requests, at most %s", *point.Requests, *point.Duration)
	}
	return fmt.Sprintf("%d requests", *point.Requests)
}

func duration(d *time.Duration) string {
	if d == nil {
		return format.None
	}
	return d.Round(time.Second).String()
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
