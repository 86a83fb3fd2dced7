package main

import (
	"fmt"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/selector"
	"sweetspot/selector/format"
)

// printFronts draws Pareto fronts and lists the points that take part, with a mark those that are on them. name is what stands for a side.
func printFronts(page page, fronts []selector.Front, name func(side int) string) {
	for i := range fronts {
		f := &fronts[i]
		what := "tok/s per GPU"
		if !f.PerGPU() {
			what = "tok/s"
		}
		page.heading(fmt.Sprintf("Pareto front: %s against tok/s per user", what))
		if len(f.Points) > 1 {
			page.drawing(plotFront(f))
		}
		var rows [][]string
		on := 0
		for _, p := range f.Points {
			mark := ""
			if p.OnFront {
				mark = markFront
				on++
			}
			rows = append(rows, []string{mark, name(p.Side), selector.LoadText(p.Point.Load), format.Number(p.Throughput), format.Number(p.User)})
		}
		page.table([]string{"", "", "load", f.Throughput, f.User}, []align{left, left, left, right, right}, rows)
		text := fmt.Sprintf("%d of %s on the front (%s, in the plot capitals): no other has at least as much of both and more of one.", on, plural(len(f.Points), "eligible point"), markFront)
		if !f.PerGPU() {
			text += " No gpus are declared on the services, so this is throughput as a whole: what is better can't be told from what has more GPUs."
		}
		page.paragraph(text)
	}
}

// markFront marks a point on a Pareto front.
const markFront = "+"

// The size of a plot's field, in characters.
const (
	plotWidth  = 60
	plotHeight = 12
)

// plotFront draws points by throughput, upwards, and pace for one user, to the right. A side's points are its letter: a capital on the front, a small
// one behind it; where several fall upon one place, one on the front is drawn. Both axes begin at 0.
func plotFront(f *selector.Front) []string {
	var most selector.Tradeoff
	for _, p := range f.Points {
		most.Throughput, most.User = max(most.Throughput, p.Throughput), max(most.User, p.User)
	}
	field := make([][]byte, plotHeight)
	for i := range field {
		field[i] = []byte(strings.Repeat(" ", plotWidth))
	}
	for _, onFront := range []bool{false, true} { // the front last, over the others
		for _, p := range f.Points {
			if p.OnFront != onFront {
				continue
			}
			x, y := int(p.User/most.User*(plotWidth-1)), int(p.Throughput/most.Throughput*(plotHeight-1))
			field[plotHeight-1-y][x] = letter(p)
		}
	}
	top := format.Number(most.Throughput)
	lines := make([]string, 0, plotHeight+2)
	for i, row := range field {
		label := ""
		switch i {
		case 0:
			label = top
		case plotHeight - 1:
			label = "0"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%*s |%s", len(top), label, row), " "))
	}
	end := format.Number(most.User)
	lines = append(lines, fmt.Sprintf("%*s +%s", len(top), "", strings.Repeat("-", plotWidth)))
	return append(lines, fmt.Sprintf("%*s  0%*s  tok/s per user", len(top), "", plotWidth-1, end))
}

// paretoFlag asks for the front of a run's points.
type paretoFlag struct {
	Pareto bool `xor:"form" help:"Draw the Pareto front of throughput per GPU against pace for one user as well."`
}

// print draws the fronts of a run's trials, with a letter for each.
func (f *paretoFlag) print(p *process, d *pipeline.Document) error {
	if !f.Pareto {
		return nil
	}
	page := &textPage{out: p.stdout, width: p.width(), begun: true}
	if len(d.Fronts) == 0 {
		page.paragraph("No point has a place in a Pareto front: none is eligible with a known throughput and pace for one user.")
	}
	printFronts(page, d.Fronts, func(side int) string {
		return fmt.Sprintf("%c %s", letter(selector.FrontPoint{Side: side, OnFront: true}), d.Trials[side].TrialName)
	})
	return page.err()
}

// letter is that of the point's side; beyond Z it is o.
func letter(p selector.FrontPoint) byte {
	const letters = 26
	switch {
	case p.Side >= letters && p.OnFront:
		return 'O'
	case p.Side >= letters:
		return 'o'
	case p.OnFront:
		return byte('A' + p.Side)
	}
	return byte('a' + p.Side)
}
