package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// yesFlag answers what would be asked.
type yesFlag struct {
	Yes bool `short:"y" help:"Do not ask."`
}

// presetRenameCmd gives a run a name.
type presetRenameCmd struct {
	Run_ string `arg:"" name:"run" help:"A run's id, the start of it, its name, its directory, or latest."`
	Name string `arg:"" help:"The name: up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit, that do not read as an id."`
	storeFlag
	yesFlag
}

// Help is the command's manual.
func (presetRenameCmd) Help() string {
	return `The id stays, and so does the preset as it was given. Where another run has the name, it is asked whether the name shall mean this run from now on; the other
keeps its id and its results. A later "sweetspot run" of a preset of that name asks before it takes the name back.`
}

// Run is the command.
func (c *presetRenameCmd) Run(p *process) error {
	if err := schema.CheckName(c.Name); err != nil {
		return exit{exitUsage, err}
	}
	if results.LooksLikeID(c.Name) {
		return exit{exitUsage, fmt.Errorf("renaming run %s: the name %s reads as a run's id or the start of one (up to 8 of the digits 0 to 9 and a to f): choose another, such as run-%s", schema.Printable(c.Run_), c.Name, c.Name)}
	}
	run, err := c.find(p, c.Run_)
	if err != nil {
		return err
	}
	entries, _, err := results.Entries(c.Store) // find has told of those that can't be read
	if err != nil {
		return err
	}
	if bearer := results.Bearer(entries, c.Name); bearer != nil && bearer.RunID != run.ID() {
		if err := c.ask(p, fmt.Sprintf("the name %s means run %s; shall it mean %s", c.Name, bearer.RunID, run.ID())); err != nil {
			return err
		}
	}
	return results.Rename(run.Dir(), c.Name, time.Now().UTC())
}

// presetDeleteCmd deletes runs.
type presetDeleteCmd struct {
	Runs []string `arg:"" name:"run" help:"A run's id, the start of it, its name, its directory, or latest. May be given again."`
	storeFlag
	yesFlag
}

// Help is the command's manual.
func (presetDeleteCmd) Help() string {
	return `Requests, points, verdicts and logs of the runs are gone for good. A run that can't be read is deleted by its id too; one that is running is not.`
}

// Run is the command.
func (c *presetDeleteCmd) Run(p *process) error {
	dirs := make([]string, len(c.Runs))
	for i, run := range c.Runs {
		var err error
		if dirs[i], err = results.Locate(c.Store, run); err != nil {
			return exit{exitUsage, err}
		}
	}
	if err := c.ask(p, fmt.Sprintf("delete %s for good", strings.Join(dirs, ", "))); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := results.Delete(dir); err != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "deleted %s\n", dir)
	}
	return nil
}

// ask gives an error unless the person says yes: with --yes, or asked at a terminal. Where nobody can be asked it is a fault of the usage.
func (y yesFlag) ask(p *process, question string) error {
	if y.Yes {
		return nil
	}
	if in, ok := p.stdin.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
		return exit{exitUsage, fmt.Errorf("%s? There is no terminal to ask at: give --yes if so", question)}
	}
	fmt.Fprintf(p.stderr, "%s? [y/N] ", question)
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
