package main

import (
	"fmt"
	"io"

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
	printCommands(p.stdout, plan)
	return nil
}

// printCommands shows what a run starts on this machine: whoever runs a preset from elsewhere should have seen it.
func printCommands(out io.Writer, plan *pipeline.Plan) {
	commands := commandsOf(plan)
	if len(commands) == 0 {
		return
	}
	fmt.Fprintln(out, "run starts these commands here, with your rights:")
	for _, command := range commands {
		fmt.Fprintln(out, "  "+command)
	}
}

// summary counts what a plan has.
func summary(plan *pipeline.Plan) string {
	text := plural(len(plan.Trials), "trial") + ", " + extentOf(&plan.Trials[0])
	if len(plan.Trials) > 1 {
		text += " each"
	}
	if repeats := plan.Trials[0].Repeats; repeats > 1 {
		text += fmt.Sprintf(", %d repeats", repeats)
	}
	return text
}
