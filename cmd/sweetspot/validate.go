package main

import (
	"fmt"

	"sweetspot/pipeline"
)

// validateCmd checks a preset.
type validateCmd struct{ presetArgs }

// Help is the command's manual.
func (validateCmd) Help() string {
	return "Checks the file, every trial and every point. Faults are printed as file:line:column: field: message, all of them at once; the exit code is then 2."
}

// Run is the command.
func (c *validateCmd) Run(p *process) error {
	plan, err := c.plan(p)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s is valid: %s\n", c.File, summary(plan))
	return nil
}

// summary counts what a plan has.
func summary(plan *pipeline.Plan) string {
	text := fmt.Sprintf("%s, %s each", plural(len(plan.Trials), "trial"), extentOf(&plan.Trials[0]))
	if repeats := plan.Trials[0].Repeats; repeats > 1 {
		text += fmt.Sprintf(", %d repeats", repeats)
	}
	return text
}
