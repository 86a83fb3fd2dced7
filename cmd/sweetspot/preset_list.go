package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"sweetspot/presets"
)

// presetListCmd lists runs.
type presetListCmd struct {
	storeFlag
	All     bool `short:"a" xor:"which" help:"Every run, newest first."`
	Last    int  `short:"n" xor:"which" placeholder:"N" help:"The last N runs."`
	Watch   bool `short:"w" xor:"form" help:"Draw the list again every second until interrupted."`
	JSON    bool `xor:"form" help:"Print the list as JSON."`
	Verbose bool `short:"v" help:"The trials under each run."`
}

// Help is the command's manual.
func (presetListCmd) Help() string {
	return `Without -a or -n: the runs that are running or, where there is none, the newest.

    CONSTRAINTS  what was asked: data= the workload, c= the least and the most
                 concurrency (or req=, prefill=, rate=)
    BENCHMARK    of the winning trial: tps/user= (1 over the mean time per output
                 token) and ttft= (the statistic that is limited, the median unless
                 its name says otherwise), least to most over its points; c= the
                 selected point; ctx= its context length
    TRIALS       a bar per trial, its selected point's throughput; · for a trial
                 without one
    STATUS       trials done of trials planned; verified: the winner was measured
                 again and reproduced

(previous) stands behind figures of a trial that an earlier run measured (the preset's previous), (interim) behind those of what was not measured to its end: they may change.

* stands behind a figure that does not meet its limit, and behind the selected point where no point meets the limits.

Runs that can't be read are named on standard error; the others are listed.`
}

// Validate refuses what kong's types let through.
func (c *presetListCmd) Validate() error {
	if c.Last < 0 {
		return errors.New("-n must not be below 0")
	}
	return nil
}

// Run is the command.
func (c *presetListCmd) Run(ctx context.Context, p *process) error {
	if !c.Watch {
		return c.print(p, p.stdout, p.warn)
	}
	told := make(chan os.Signal, 2)
	p.notify(told)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	warn := p.warnOnce()
	return watch(told, ticker.C, p.redraw(), func(out io.Writer) error { return c.print(p, out, warn) })
}

// warnOnce is [process.warn] without what it has said before.
func (p *process) warnOnce() func(broken []error) {
	said := map[string]bool{}
	return func(broken []error) {
		p.warn(slices.DeleteFunc(slices.Clone(broken), func(err error) bool { return said[err.Error()] }))
		for _, err := range broken {
			said[err.Error()] = true
		}
	}
}

func (c *presetListCmd) print(p *process, out io.Writer, warn func(broken []error)) error {
	listing, err := presets.Runs(c.Store, presets.Which{All: c.All, Last: c.Last})
	if err != nil {
		return err
	}
	warn(listing.Broken)
	if c.JSON {
		return printJSON(out, listing)
	}
	return printRuns(out, p.width(), listing, c.Verbose)
}

// watch draws now and at each tick, until it is told to end.
func watch(told <-chan os.Signal, tick <-chan time.Time, show func(drawn []byte) error, draw func(io.Writer) error) error {
	for {
		var drawn bytes.Buffer
		if err := draw(&drawn); err != nil {
			return err
		}
		if err := show(drawn.Bytes()); err != nil {
			return err
		}
		select {
		case <-told:
			return nil
		case <-tick:
		}
	}
}

// redraw puts what is drawn in the place of what was drawn before. Where that can't be, in a file or a pipe, it is written when it has changed.
func (p *process) redraw() func(drawn []byte) error {
	const home, cleared, below = "\x1b[H", "\x1b[K\n", "\x1b[J"
	if p.terminalWidth() > 0 {
		return func(drawn []byte) error {
			_, height := p.terminalSize()
			drawn = atMost(drawn, height-1) // the end of one more line would move all up
			lines := bytes.ReplaceAll(drawn, []byte("\n"), []byte(cleared))
			_, err := io.WriteString(p.stdout, home+string(lines)+below)
			return err
		}
	}
	var last []byte
	return func(drawn []byte) error {
		if bytes.Equal(drawn, last) {
			return nil
		}
		text := append([]byte{}, drawn...)
		if last != nil {
			text = append([]byte("\n"), text...)
		}
		last = bytes.Clone(drawn)
		_, err := p.stdout.Write(text)
		return err
	}
}

// atMost cuts a text to so many lines, of which the last then says how many there are more.
func atMost(text []byte, lines int) []byte {
	all := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if lines < 1 || len(all) <= lines {
		return text
	}
	return fmt.Appendf(bytes.Join(all[:lines-1], nil), "… %s more\n", plural(len(all)-lines+1, "line"))
}
