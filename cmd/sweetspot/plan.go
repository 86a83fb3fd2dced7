package main

import (
	"encoding/json"
	"fmt"
	"io"
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
	return printPlan(p.stdout, p.width(), plan, earlier)
}

func printPlan(out io.Writer, width int, plan *pipeline.Plan, earlier []measure.Point) error {
	fmt.Fprintf(out, "%s: %s\n%s\n", plan.Name, summary(plan), wrap("rule: "+selector.Rule(plan.Rule).Text(), width))
	for i := range plan.Trials {
		trial := &plan.Trials[i]
		fmt.Fprintf(out, "\ntrial %s (%s)\n", trial.Name, trial.ID)
		var rows [][]string
		for j := range trial.Points {
			point := &trial.Points[j]
			rows = append(rows, []string{"", selector.LoadText(point.PointLoad), point.ID, extent(point), fmt.Sprint(point.WarmupRequests), duration(point.Estimate(earlier))})
		}
		header := []string{"", "load", "point", "measured", "warmup", "time"}
		if err := printTable(out, 2, header, []align{left, left, left, right, right, right}, rows); err != nil {
			return err
		}
	}
	if whole := plan.Estimate(earlier); whole != nil {
		fmt.Fprintf(out, "\nabout %s in all\n", duration(whole))
	}
	return nil
}

// extent is how much of a point is measured.
func extent(point *pipeline.Point) string {
	if point.Requests != nil {
		return fmt.Sprintf("%d requests", *point.Requests)
	}
	return point.Duration.String()
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
